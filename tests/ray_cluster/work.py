"""Cells that say which process works on them, for workers to be killed by a test."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Slow:
    """Each cell takes a while, and leaves a file with the number of its process meanwhile."""

    folder: str
    seconds: float

    def __call__(self, cell: int) -> int:
        begun = Path(self.folder) / f"{cell}-{os.getpid()}"
        begun.touch()
        time.sleep(self.seconds)
        begun.unlink()
        return cell * cell
