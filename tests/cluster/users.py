"""The users of the API server: static tokens, and a kubeconfig for each user."""

from __future__ import annotations

import base64
import csv
import io
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ADMIN = "admin"
NORMAL = "kpolicy"
KUBE_SCHEDULER = "system:kube-scheduler"
KUBE_CONTROLLER_MANAGER = "system:kube-controller-manager"


@dataclass(frozen=True)
class User:
    """A user name for RBAC, and its token."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)


def default_users() -> tuple[User, ...]:
    """An admin, a user without rights, and the two that Kubernetes has roles for."""
    return (
        User(ADMIN, ("system:masters",)),
        User(NORMAL),
        User(KUBE_SCHEDULER),
        User(
            KUBE_CONTROLLER_MANAGER, ("system:masters",)
        ),  # no service account for each controller
    )


def token_file(users: Sequence[User]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for user in users:
        groups = (",".join(user.groups),) if user.groups else ()
        writer.writerow((user.token, user.name, f"uid-{user.name}", *groups))
    return text.getvalue()


def kubeconfig(user: User, server: str, ca_file: Path) -> str:
    """A kubeconfig that needs no other file: the CA and the token are in it."""
    authority = base64.b64encode(ca_file.read_bytes()).decode()
    cluster = {"server": server, "certificate-authority-data": authority}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": user.name, "user": {"token": user.token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": user.name}}],
        "current-context": "test",
    }
    return json.dumps(document, indent=2) + "\n"  # JSON is YAML
