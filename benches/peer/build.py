"""Builds the Go program with kube-scheduler's cycle when its sources have changed. It uses the same
Go modules as the control plane of the tests, so that compiled packages are shared.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.go_module import GoModule
from tests.cluster.go_program import built_once

MODULE: Final = GoModule(Path(__file__).parent / "kubescheduler")
LINKER_FLAGS: Final = "-s -w"


@dataclass(frozen=True, slots=True)
class KubeScheduler:
    """The built program; `version` is that of Kubernetes."""

    path: Path
    version: str


def kube_scheduler() -> KubeScheduler:
    """The cached binary; builds it first if need be. Raises `ControlPlaneError`."""
    version = MODULE.required("k8s.io/kubernetes")
    shown = f"kube-scheduler {version}'s cycle"
    path = built_once(MODULE, "peer", "kubescheduler", LINKER_FLAGS, shown=shown, report=say)
    return KubeScheduler(path, version)


def say(line: str) -> None:
    print(f"peer: {line}", file=sys.stderr, flush=True)
