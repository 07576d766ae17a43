"""Mistakes that a scheduler could make, planted into ours: the simulation must find each.

Owns the mistakes and the invariant that each breaks. Assumes that whoever plants one takes it out
again. Must not be used but by tests of the simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.cluster.binding import BindOutcome, Unknown
from kpolicy.cluster.lease import Elector
from kpolicy.engine import Outcome
from kpolicy.scheduler import binds
from kpolicy.scheduler.bind_end import BindEnd, bind_end
from kpolicy.scheduler.queue import Queue
from kpolicy.scheduler.sink import EngineSink


@dataclass(frozen=True, slots=True)
class Mistake:
    """`invariants`: any of them is a find, with that seed."""

    name: str
    seed: int
    invariants: frozenset[str]
    owner: Any
    attribute: str
    wrong: Callable[..., Any]


def _never_fenced(self: Elector) -> bool:
    return self._acquired.done()


def _unknown_is_failed(outcome: BindOutcome, node: str) -> BindEnd | None:
    if isinstance(outcome, Unknown):
        return BindEnd(Outcome.FAILED, retry=True, message="unknown")
    return bind_end(outcome, node)


def _deaf(self: Queue, uid: str, event: str, now_ns: int) -> None:
    """No event wakes a parked pod."""


async def _forgetful(self: EngineSink, resource: str, resource_version: str) -> None:
    """What a list no longer names is not taken away."""


MISTAKES: Final = (
    Mistake("fence ignored", frozenset({"I8"}), Elector, "fence", _never_fenced),
    Mistake(
        "unknown bind given up", frozenset({"I2", "I10"}), binds, "bind_end", _unknown_is_failed
    ),
    Mistake("wakes lost", frozenset({"I5", "I13"}), Queue, "wake", _deaf),
    Mistake(
        "lists end nothing", frozenset({"I4", "I6", "I10"}), EngineSink, "list_end", _forgetful
    ),
)


@contextmanager
def planted(mistake: Mistake) -> Iterator[None]:
    right = getattr(mistake.owner, mistake.attribute)
    setattr(mistake.owner, mistake.attribute, mistake.wrong)
    try:
        yield
    finally:
        setattr(mistake.owner, mistake.attribute, right)
