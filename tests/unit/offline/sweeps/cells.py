"""Work for the tests of the runner, which other processes load."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path


def squared(cell: int) -> int:
    return cell * cell


def broken_at_3(cell: int) -> int:
    if cell == 3:
        raise ValueError("three")
    return cell


@dataclass(frozen=True)
class KilledOnce:
    """The process of cell 5 is killed, the first time."""

    folder: str

    def __call__(self, cell: int) -> int:
        mark = Path(self.folder) / "killed"
        if cell == 5 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return cell * cell


def always_killed(cell: int) -> int:
    if cell == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return cell
