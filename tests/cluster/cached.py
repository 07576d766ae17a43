"""The cache of built binaries: its folder, its locks, and atomic publishing. A folder in it is
complete or does not exist.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.progress import Report


def cache_folder() -> Path:
    chosen = os.environ.get("KPOLICY_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kpolicy"


@contextmanager
def publishing(home: Path) -> Iterator[Path]:
    """A folder to build in. It gets the name `home` only when it is whole."""
    partial = home.with_name(f"{home.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        partial.rename(home)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def locked(folder: Path, report: Report) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("another build is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
