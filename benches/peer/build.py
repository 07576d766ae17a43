"""Builds the Go program that holds kube-scheduler's cycle, when its sources changed.

Owns where the binary is kept and the words printed meanwhile. Assumes that the modules are those of
the control plane of the tests, so that both share what is compiled. Must not run it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.cached import cache_folder, locked, publishing
from tests.cluster.go_module import COMPILING, GoModule

MODULE: Final = GoModule(Path(__file__).parent / "kubescheduler")
LINKER_FLAGS: Final = "-s -w"
_NAME: Final = "kubescheduler"


@dataclass(frozen=True, slots=True)
class KubeScheduler:
    """`version` is that of Kubernetes."""

    path: Path
    version: str


def kube_scheduler() -> KubeScheduler:
    """The cached binary; builds it first if need be. Raises `ControlPlaneError`."""
    home = cache_folder() / "peer" / MODULE.digest((*COMPILING, LINKER_FLAGS))
    found = KubeScheduler(home / _NAME, MODULE.required("k8s.io/kubernetes"))
    if not found.path.exists():
        with locked(home.parent, say):
            if not found.path.exists():  # or else whoever held the lock has built it
                say(f"building kube-scheduler {found.version}'s cycle, once")
                with publishing(home) as partial:
                    MODULE.build(partial / _NAME, COMPILING, LINKER_FLAGS, say)
    return found


def say(line: str) -> None:
    print(f"peer: {line}", file=sys.stderr, flush=True)
