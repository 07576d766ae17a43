"""Fixtures that several kinds of test share, and how all of them generate examples."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import hypothesis
import pytest

from tests import threads

pytest_plugins = ["tests.cluster.fixtures"]

# Workers of pytest-xdist have it, and no user's shell exports it.
os.environ.pop("COLUMNS", None)

# How long an example takes says something of the machine, not of what is tested. The rest is as
# the library has it: new examples at each run, and the same ones where CI is set.
hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")

# A thread that is asked to end needs to run once more.
_ENDING_S: Final = 5.0


@pytest.fixture(autouse=True)
def no_width_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """xdist tells its workers the width of its own terminal, to which text would be folded."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test leaves running acts in whichever test comes next in that process: one that draws
    from the global `random` there makes examples of another irreproducible, which fails.

    Tests on a real cluster share servers with each other, whose threads begin in any of them."""
    if request.node.get_closest_marker("cluster"):
        yield
        return
    before = threads.alive()
    yield
    left = threads.left_since(before, _ENDING_S)
    assert not left, f"the test left threads behind: {', '.join(left)}"
