"""What became of a cell, as the process that worked on it sends it; and why a sweep ended early."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.version import VERSION

WORKER_GONE: Final = "WorkerGone"
CELL_FAILED: Final = "CellFailed"
NO_RAY: Final = "NoRay"
NO_CLUSTER: Final = "NoRayCluster"
OTHER_VERSION: Final = "OtherVersion"


class SweepError(Exception):
    """Why there is no result. No result of a part of the cells is given."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(code, message, hint)
        self.code, self.message, self.hint = code, message, hint

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f"; {self.hint}" if self.hint else "")


@dataclass(frozen=True, slots=True)
class Worked:
    result: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The function raised an error."""

    error: str
    where: str


@dataclass(frozen=True, slots=True)
class WrongVersion:
    """The worker has another kpolicy, which may give another result."""

    version: str


Outcome = Worked | Failed | WrongVersion


def worked(work: Callable[[Any], Any], cell: Any, version: str = VERSION) -> Outcome:
    """Calls the function for a cell, in whatever process this is."""
    if version != VERSION:
        return WrongVersion(VERSION)
    try:
        return Worked(work(cell))
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}", traceback.format_exc())


def result_of(outcome: Outcome, cell: Any) -> Any:
    """Raises `SweepError` if there is none."""
    if isinstance(outcome, Worked):
        return outcome.result
    if isinstance(outcome, WrongVersion):
        message = f"a worker has kpolicy {outcome.version}, and this is {VERSION}"
        raise SweepError(OTHER_VERSION, message, "install the same version on all nodes")
    raise SweepError(CELL_FAILED, f"{cell}: {outcome.error}")


def gone(cell: Any, tries: int) -> SweepError:
    message = f"the worker of {cell} was killed {tries} times"
    hint = "it may take more memory than there is: run fewer with --jobs"
    return SweepError(WORKER_GONE, message, hint)
