"""The guard that asks the API server: by tokens of the cluster, and rights to paths.

Owns what is remembered of answers, for how long, and how many are asked for at once. Fails closed:
while the API server does not answer, only those are let in whom it let in a moment ago. Tokens are
remembered as digests only. Must not know sockets.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from kpolicy.clock import Clock
from kpolicy.cluster.reviews import ReviewedUser, ReviewFailure, Reviews
from kpolicy.scheduler import limits
from kpolicy.telemetry.access import Refusal, bearer_token

Answer = TypeVar("Answer")


class _Remembered(Generic[Answer]):
    """Answers, not failures, for a short time; the oldest make room."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answers: OrderedDict[Hashable, tuple[int, Answer]] = OrderedDict()

    async def get(
        self, key: Hashable, ask: Callable[[], Awaitable[Answer | ReviewFailure]]
    ) -> Answer | ReviewFailure:
        now_ns = self._clock.monotonic_ns()
        found = self._answers.get(key)
        if found is not None and now_ns < found[0]:
            return found[1]
        answer = await ask()
        if not isinstance(answer, ReviewFailure):
            self._answers.pop(key, None)
            self._answers[key] = (now_ns + limits.REVIEW_REMEMBERED_NS, answer)
            if len(self._answers) > limits.REVIEWS_REMEMBERED_MAX:
                self._answers.popitem(last=False)
        return answer


class DelegatedAccess:
    def __init__(self, reviews: Reviews, clock: Clock) -> None:
        self._reviews = reviews
        self._users = _Remembered[ReviewedUser | None](clock)
        self._rights = _Remembered[bool](clock)
        # Whoever sends tokens of no worth waits for others who do, and not for the binds.
        self._turns = asyncio.Semaphore(limits.REVIEWS_IN_FLIGHT_MAX)
        self._waiting = 0

    async def refuse(self, authorization: str, verb: str, path: str) -> Refusal | None:
        token = bearer_token(authorization)
        if not token:
            return Refusal(401, "a bearer token of this cluster is needed\n")
        if self._waiting >= limits.REVIEWS_WAITING_MAX:
            return Refusal(503, "too many ask at once\n")
        self._waiting += 1
        try:
            async with self._turns:
                return await self._review(token, verb, path)
        finally:
            self._waiting -= 1

    async def _review(self, token: str, verb: str, path: str) -> Refusal | None:
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        user = await self._users.get(digest, lambda: self._reviews.user_of(token))
        if isinstance(user, ReviewFailure):
            return _unknown(user)
        if user is None:
            return Refusal(401, "the API server does not know this token\n")
        may = await self._rights.get(
            (digest, verb, path), lambda: self._reviews.allows(user, verb, path)
        )
        if isinstance(may, ReviewFailure):
            return _unknown(may)
        if may:
            return None
        return Refusal(
            403,
            f"{user.name} may not {verb} {path}: a ClusterRole with nonResourceURLs allows it\n",
        )


def _unknown(failure: ReviewFailure) -> Refusal:
    return Refusal(503, f"who may read this cannot be asked: {failure.message}\n")
