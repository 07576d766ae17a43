"""I7: at rest nothing is held on to: no reservation, no bind under way, no attempt.

Owns that check. Pure. Bytes are measured where they mean something: in a real process.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.invariants.history import History, Violation

NAME = "I7"


def memory(history: History) -> Iterator[Violation]:
    rest = history.at_rest
    if rest is None:
        return
    for count, what in (
        (rest.assumed, "reservations"),
        (rest.binds_in_flight, "binds under way"),
        (rest.attempts_under_way, "attempts under way"),
    ):
        if count:
            yield Violation(NAME, rest.at_ns, f"{count} {what} are left")
