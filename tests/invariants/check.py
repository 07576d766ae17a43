"""All invariants over one history.

Owns the list of them. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tests.invariants.allow_list import allow_list
from tests.invariants.bound_once import bound_once
from tests.invariants.history import History, Violation

Check = Callable[[History], Iterator[Violation]]

CHECKS: Final[dict[str, Check]] = {
    "I1": bound_once,
    "I12": allow_list,
}


def violations(history: History) -> list[Violation]:
    """In the order of time; empty is good."""
    found = [one for check in CHECKS.values() for one in check(history)]
    return sorted(found, key=lambda one: (one.at_ns, one.invariant, one.text))
