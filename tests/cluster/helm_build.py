"""Builds Helm, for the tests of the chart.

Owns where the binary is kept and what is said meanwhile. Assumes that `helm/` beside this file is
the Go module. Must not know the chart.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests.cluster.cached import cache_folder, locked, publishing
from tests.cluster.go_module import COMPILING, GoModule

MODULE: Final = GoModule(Path(__file__).parent / "helm")
LINKER_FLAGS: Final = "-s -w"
_NAME: Final = "helm"


def helm_binary() -> Path:
    """The cached binary; builds it first if need be. Raises `ControlPlaneError`."""
    home = cache_folder() / "helm" / MODULE.digest((*COMPILING, LINKER_FLAGS))
    binary = home / _NAME
    if not binary.exists():
        with locked(home.parent, say):
            if not binary.exists():  # or else whoever held the lock has built it
                say(f"building Helm {MODULE.required('helm.sh/helm/v4')}, once")
                with publishing(home) as partial:
                    MODULE.build(partial / _NAME, COMPILING, LINKER_FLAGS, say)
    return binary


def say(line: str) -> None:
    print(f"helm: {line}", file=sys.stderr, flush=True)
