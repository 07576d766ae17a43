"""I6: at rest, the scheduler's cache equals what the API server has. The recorder compares the two;
this module judges the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.invariants.history import History, Violation

NAME = "I6"


def cache(history: History) -> Iterator[Violation]:
    rest = history.at_rest
    if rest is not None and rest.compared is not None:
        for difference in rest.compared:
            yield Violation(NAME, rest.at_ns, difference)
