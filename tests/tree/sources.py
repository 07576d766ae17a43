"""Lists the files that the checks of the source tree read: all that git tracks or would track."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def tracked() -> tuple[Path, ...]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    names = sorted(set(listed.decode().split("\0")) - {""})
    return tuple(path for name in names if (path := ROOT / name).is_file())


def with_suffix(*suffixes: str) -> tuple[Path, ...]:
    return tuple(path for path in tracked() if path.suffix in suffixes)
