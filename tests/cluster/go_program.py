"""A Go program of this repository, built once and kept in the cache. One process builds while
others wait.
"""

from __future__ import annotations

from pathlib import Path

from tests.cluster.cached import cache_folder, locked, publishing
from tests.cluster.go_module import COMPILING, GoModule
from tests.cluster.progress import Report


def built_once(
    module: GoModule, folder: str, name: str, linker_flags: str, *, shown: str, report: Report
) -> Path:
    """The binary `name`, in `folder` of the cache. Raises `ControlPlaneError`."""
    home = cache_folder() / folder / module.digest((*COMPILING, linker_flags))
    binary = home / name
    if not binary.exists():
        with locked(home.parent, report):
            if not binary.exists():  # otherwise the holder of the lock has built it
                report(f"building {shown}, once")
                with publishing(home) as partial:
                    module.build(partial / name, COMPILING, linker_flags, report)
    return binary
