"""The first questions are asked again for a while, when waiting may help, and never for longer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random

import pytest

from kpolicy.clock import NANOSECONDS, ManualClock
from kpolicy.cluster.api import Response
from kpolicy.cluster.failure import Cause, Failure, Status, TimedOut, Unreachable
from kpolicy.cluster.limits import START_PATIENCE_S, START_RETRY_S_MAX
from kpolicy.cluster.patience import Patience

GOOD = Response(200, {}, b"{}")
REFUSED = Unreachable(Cause.REFUSED, "refused", sent=False)
BUSY = Status(429, "TooManyRequests", "busy")


class Answers:
    """The failures one after the other, the last for ever unless it is a response."""

    def __init__(self, *answers: Response | Failure) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def __call__(self) -> Response | Failure:
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def patience(clock: ManualClock) -> Patience:
    return Patience(clock, Random(1))


def seconds(clock: ManualClock) -> float:
    return clock.monotonic_ns() / NANOSECONDS


@pytest.mark.parametrize(
    "failure",
    [REFUSED, BUSY, Status(503, "", "no"), TimedOut(10), Unreachable(Cause.LOST, "cut", sent=True)],
    ids=str,
)
async def test_what_may_pass_is_waited_for(failure: Failure) -> None:
    clock = ManualClock(auto_jump=True)
    answers = Answers(failure, failure, failure, GOOD)
    assert await patience(clock).ask(answers) == GOOD
    assert answers.asked == 4
    assert 3 * 0.8 <= seconds(clock) <= 3 * START_RETRY_S_MAX


@pytest.mark.parametrize(
    "failure",
    [
        Status(401, "", ""),
        Status(403, "", ""),
        Status(404, "", ""),
        Unreachable(Cause.NAME, "no such name", sent=False),
        Unreachable(Cause.TLS, "unknown authority", sent=False),
        Unreachable(Cause.CREDENTIALS, "KPC111", sent=False),
    ],
    ids=repr,
)
async def test_what_will_not_pass_is_told_at_once(failure: Failure) -> None:
    clock = ManualClock(auto_jump=True)
    answers = Answers(failure)
    assert await patience(clock).ask(answers) == failure
    assert (answers.asked, seconds(clock)) == (1, 0)


async def test_it_ends_in_time_and_with_a_last_try() -> None:
    clock = ManualClock(auto_jump=True)
    one = patience(clock)
    answers = Answers(REFUSED)
    assert await one.ask(answers) == REFUSED
    assert seconds(clock) == START_PATIENCE_S
    assert answers.asked >= START_PATIENCE_S / START_RETRY_S_MAX
    # The time is that of the start as a whole, not of each question.
    again = Answers(REFUSED)
    assert await one.ask(again) == REFUSED
    assert again.asked == 1


async def test_a_server_that_asks_for_more_time_gets_it() -> None:
    clock = ManualClock(auto_jump=True)
    answers = Answers(Status(429, "", "busy", retry_after_s=7), GOOD)
    assert await patience(clock).ask(answers) == GOOD
    assert 7 <= seconds(clock) < 8


async def test_once_started_nothing_is_waited_for() -> None:
    clock = ManualClock(auto_jump=True)
    one = patience(clock)
    one.end()
    answers = Answers(REFUSED, GOOD)
    assert await one.ask(answers) == REFUSED


async def test_it_says_what_it_waits_for(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock(auto_jump=True)
    one = patience(clock)
    said: list[str] = []
    answers = Answers(BUSY, REFUSED, REFUSED, GOOD)

    def listening() -> Callable[[], Awaitable[Response | Failure]]:
        async def ask() -> Response | Failure:
            said.append(one.waits_for)
            return await answers()

        return ask

    with caplog.at_level("INFO"):
        await one.ask(listening())
    assert said == ["", str(BUSY), str(REFUSED), str(REFUSED)]
    assert one.waits_for == ""
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 3, "each reason once, and the end"
    assert lines[0] == f"waiting for the API server, for at most 30 s more: {BUSY}"
    assert str(REFUSED) in lines[1]
