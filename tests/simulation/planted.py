"""Mistakes that a scheduler could make, planted into ours: the simulation must find each.

Owns the mistakes and the invariants that each breaks. Assumes that whoever plants one takes it out
again. Must not be used but by tests of the simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final
from unittest.mock import patch

from kpolicy.cluster import binder
from kpolicy.cluster.binding import Binding, binding_body
from kpolicy.engine import Applied
from kpolicy.scheduler.leadership import Leadership
from kpolicy.scheduler.queue import Queue
from kpolicy.scheduler.sink import EngineSink
from tests.simulation.decision_log import LoggedEngine


@dataclass(frozen=True, slots=True)
class Mistake:
    """`invariants`: any of them is a find. `wrong`: what takes the place of the owner's names."""

    name: str
    invariants: frozenset[str]
    owner: Any
    wrong: dict[str, Callable[..., Any]]


async def _at_once(self: Leadership) -> None:
    self._started = True
    self._thread.start()


def _always(self: Leadership) -> bool:
    return True


_list_page, _watch = LoggedEngine.list_page, LoggedEngine.watch


def _large_page(self: LoggedEngine, resource: str, body: bytes, now_ns: int) -> Applied:
    return _list_page(self, resource, _doubled(resource, body), now_ns)


def _large_lines(self: LoggedEngine, resource: str, lines: bytes, now_ns: int) -> Applied:
    return _watch(self, resource, _doubled(resource, lines), now_ns)


def _doubled(resource: str, text: bytes) -> bytes:
    return text.replace(b'"cpu":"2"', b'"cpu":"4"') if resource == "nodes" else text


def _by_name(binding: Binding) -> bytes:
    return binding_body(binding).replace(b'"uid":"' + binding.uid.encode() + b'"', b'"uid":""')


def _deaf(self: Queue, uid: str, event: str, now_ns: int) -> None:
    """No event wakes a parked pod."""


async def _forgetful(self: EngineSink, resource: str, resource_version: str) -> None:
    """What a list no longer names is not taken away."""


MISTAKES: Final = (
    Mistake(
        "acts without leading",
        frozenset({"I8"}),
        Leadership,
        {"acquire": _at_once, "fence": _always},
    ),
    Mistake(
        "nodes read too large",
        frozenset({"I2"}),
        LoggedEngine,
        {"list_page": _large_page, "watch": _large_lines},
    ),
    Mistake("binds by name", frozenset({"I10"}), binder, {"binding_body": _by_name}),
    Mistake("wakes lost", frozenset({"I5", "I13"}), Queue, {"wake": _deaf}),
    Mistake(
        "lists end nothing", frozenset({"I4", "I6", "I10"}), EngineSink, {"list_end": _forgetful}
    ),
)


@contextmanager
def planted(mistake: Mistake) -> Iterator[None]:
    with ExitStack() as patches:
        for name, wrong in mistake.wrong.items():
            patches.enter_context(patch.object(mistake.owner, name, wrong))
        yield
