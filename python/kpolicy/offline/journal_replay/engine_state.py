"""Puts an engine into the state in which an epoch begins its decisions.

The first epoch of a process begins with an empty engine. A later one begins with all objects and a
mark of what the engine held besides them: how many decisions it had made, and which pods were
assumed. The next choice among equal nodes rests on that number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from kpolicy.engine import Engine, EngineFault
from kpolicy.journal.engine_calls import BrokenRecordError, Effect, Record
from kpolicy.quick_dataclass import dataclass

# What the engine raises for arguments that are not its own, and for a fault of its own.
ENGINE_ERRORS: Final = (EngineFault, ValueError, TypeError, OverflowError)
# Until the mark, calls about objects alone are made: the engine that decided had the objects
# already, and this one does not.
BEFORE_MARK: Final = frozenset({Effect.POLICY, Effect.OBJECTS})


@dataclass(frozen=True, slots=True)
class Mark:
    """`assumed`: pods and their nodes, whose binds had no result yet. `nominated`: how many pods
    had a node for which they waited."""

    decisions: int
    assumed: tuple[tuple[str, str], ...]
    nominated: int

    @property
    def is_exact(self) -> bool:
        """Whether objects and the number of decisions are everything. What a pod was promised
        besides its node (volumes, devices) and what nominations rest on is in no object yet."""
        return not self.assumed and not self.nominated


def mark_of(records: Iterable[Record]) -> Mark | None:
    """The first mark, or None where the epoch ended before."""
    for record in records:
        if record.effect is Effect.MARK:
            return _mark(record)
    return None


def _mark(record: Record) -> Mark:
    try:
        shown = json.loads(record.answer)
        assumed = tuple((str(uid), str(node)) for uid, node in shown["assumed"])
        return Mark(int(shown["decisions"]), assumed, int(shown["nominated"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BrokenRecordError("a mark is not one of this format") from error


def assume(engine: Engine, mark: Mark, record: Record) -> None:
    """The engine takes over the pods that were assumed at the mark."""
    if mark.assumed:
        engine.second_opinions(mark.assumed, record.at_ns)
