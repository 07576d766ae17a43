"""Patience with an API server that is not there yet, while we start.

Owns for how long the first questions are asked again, after what answers, and what is said of it
meanwhile. What waiting does not mend is not waited for: names, TLS, credentials, permissions, and
what is not served. Must not know what is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeAlias

from kpolicy.clock import NANOSECONDS, Clock
from kpolicy.cluster.api import Response
from kpolicy.cluster.backoff import Backoff
from kpolicy.cluster.failure import Cause, Failure, Status, TimedOut, Unreachable
from kpolicy.cluster.limits import START_PATIENCE_S, START_RETRY_S_MAX

Question: TypeAlias = Callable[[], Awaitable[Response | Failure]]

_log = logging.getLogger(__name__)

_PASSES = frozenset({Cause.REFUSED, Cause.LOST})


class Patience:
    """Counts from the first failure of the start; over when `end` says that we have started."""

    def __init__(self, clock: Clock, random: Random, seconds: float = START_PATIENCE_S) -> None:
        self._clock = clock
        self._random = random
        self._seconds = seconds
        self._until_ns: int | None = None
        self._ended = False
        self._failing: dict[int, str] = {}  # by question
        self._questions = 0

    @property
    def waits_for(self) -> str:
        """What the API server last said, while we ask it again."""
        return next(iter(self._failing.values()), "")

    def end(self) -> None:
        self._ended = True

    async def ask(self, question: Question) -> Response | Failure:
        """The answer, or the last failure when it lasted too long or will not pass."""
        self._questions += 1
        number, backoff = self._questions, Backoff()
        try:
            while not isinstance(answer := await question(), Response):
                left_s = self._left_s() if passes(answer) else 0.0
                if left_s <= 0:
                    return answer
                self._tell(number, answer, left_s)
                asked_s = (answer.retry_after_s or 0.0) if isinstance(answer, Status) else 0.0
                now_ns = self._clock.monotonic_ns()
                wait = backoff.failed(now_ns, self._random.random(), asked_s)
                backoff = wait.backoff
                wait_s = min(wait.seconds, max(START_RETRY_S_MAX, asked_s), left_s)
                await self._clock.sleep(wait_s)
            return answer
        finally:
            if self._failing.pop(number, None) is not None and not self._failing:
                _log.info("the API server is not waited for any more")

    def _left_s(self) -> float:
        if self._ended:
            return 0.0
        now_ns = self._clock.monotonic_ns()
        if self._until_ns is None:
            self._until_ns = now_ns + round(self._seconds * NANOSECONDS)
        return (self._until_ns - now_ns) / NANOSECONDS

    def _tell(self, number: int, failure: Failure, left_s: float) -> None:
        if str(failure) not in self._failing.values():
            text = "waiting for the API server, for at most %.0f s more: %s"
            _log.warning(text, left_s, failure)
        self._failing[number] = str(failure)


def passes(failure: Failure) -> bool:
    """Whether the same question may be answered in a moment."""
    match failure:
        case Status():
            return failure.transient
        case TimedOut():
            return True
        case Unreachable():
            return failure.cause in _PASSES
