"""The folder of a control plane: its files, the room that it needs, and its end, also when the
process that owned it was killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from tests.cluster.errors import ControlPlaneError

PREFIX: Final = "kpolicy-control-plane-"
# etcd reserves 64 MB at once; logs and the audit log of the longest tests take a few hundred more.
ROOM_MIN: Final = 1 << 30
RESPONSES = {"level": "RequestResponse", "omitStages": ["RequestReceived"]}
METADATA = {"level": "Metadata", "omitStages": ["RequestReceived"]}
# Writes of schedulers are recorded with their bodies; everything else only with user, resource and
# time.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [
        {"level": "None", "nonResourceURLs": ["/readyz*", "/livez*", "/healthz*", "/openapi*"]},
        {"level": "None", "users": ["system:apiserver"], "verbs": ["get", "list", "watch"]},
        {
            **RESPONSES,
            "verbs": ["create", "update", "patch", "delete", "deletecollection"],
            "resources": [
                {
                    "group": "",
                    "resources": [
                        "pods",
                        "pods/binding",
                        "pods/status",
                        "pods/eviction",
                        "events",
                        "configmaps",
                        "persistentvolumes",
                        "persistentvolumeclaims",
                    ],
                },
                {"group": "events.k8s.io", "resources": ["events"]},
                {"group": "coordination.k8s.io", "resources": ["leases"]},
            ],
        },
        {**RESPONSES, "verbs": ["delete", "deletecollection"]},
        METADATA,
    ],
}


class Folder:
    """Where a control plane keeps its files.

    While its process lives, the process holds a lock on the file `owned`. A folder whose lock is
    free was left by a process that was killed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("pki", "logs", "etcd", "kubeconfig"):
            self.below(name).mkdir(mode=0o700)
        self.audit_policy.write_text(json.dumps(AUDIT_POLICY))
        self._owned = os.open(self.below("owned"), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._owned, fcntl.LOCK_EX)

    @classmethod
    def new(cls) -> Folder:
        parent = Path(tempfile.gettempdir())
        remove_left_behind(parent)
        check_room(parent, shutil.disk_usage(parent).free)
        return cls(Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)))

    def give_up(self, *, keep: bool) -> None:
        """Removes it, or keeps it for whoever wants to read its logs: then it is never removed."""
        if keep:
            self.below("owned").unlink(missing_ok=True)
        else:
            shutil.rmtree(self.root, ignore_errors=True)
        os.close(self._owned)

    def below(self, *parts: str) -> Path:
        return self.root.joinpath(*parts)

    @property
    def ca_file(self) -> Path:
        return self.below("pki", "ca.crt")

    @property
    def audit_log(self) -> Path:
        return self.below("audit.log")

    @property
    def audit_policy(self) -> Path:
        return self.below("audit-policy.json")

    @property
    def tokens(self) -> Path:
        return self.below("tokens.csv")

    def log(self, name: str) -> Path:
        return self.below("logs", f"{name}.log")


def remove_left_behind(parent: Path) -> None:
    """Removes the folders of control planes whose process was killed."""
    for owned in parent.glob(f"{PREFIX}*/owned"):
        try:
            lock = os.open(owned, os.O_RDWR)
        except OSError:  # gone meanwhile, or another user's
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(owned.parent, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)


def check_room(parent: Path, free: int) -> None:
    if free < ROOM_MIN:
        raise ControlPlaneError(
            f"{parent} has {free >> 20} MiB left, and a control plane needs {ROOM_MIN >> 20} MiB: "
            "make room there, or set TMPDIR to a folder on another disk"
        )
