"""Whether files have changed, by asking for their times.

Owns what counts as a change: another time, size or file behind a name, so that the links of a
mounted volume count as well; a new file in a folder. Must not know what is done about it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from kpolicy.offline.testing.limits import WATCH_SECONDS

_Seen = dict[str, tuple[int, int, int]]


def changes(files: Sequence[str]) -> Iterator[None]:
    """Once at first, then whenever something of `files`, which may grow, is another; never ends."""
    seen = _look(files)
    while True:
        yield
        # What changed meanwhile is a change; what is known only now is not.
        seen = {**(now := _look(files)), **{name: seen[name] for name in seen if name in now}}
        while (now := _look(files)) == seen:
            time.sleep(WATCH_SECONDS)
        seen = now


def _look(files: Sequence[str]) -> _Seen:
    seen: _Seen = {}
    for name in files:
        path = Path(name)
        for one in [path, *(path.rglob("*.yaml") if path.is_dir() else ())]:
            try:
                status = one.stat()
            except OSError:
                continue
            seen[str(one)] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return seen
