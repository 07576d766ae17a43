"""The first requests: does the API server answer, accept us, and let us list what we need?

`Backoff` is the schedule of client-go's reflector with its whole range at random, so that informers
and replicas that failed together do not come back together. `Patience` repeats the first requests
while the API server starts; it does not retry what waiting cannot correct (names, TLS, credentials,
permissions, resources that are not served).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.connection_problem import ConnectionProblem, problem
from kpolicy.cluster.limits import (
    BACKOFF_FACTOR,
    BACKOFF_RESET_S,
    BACKOFF_S_INITIAL,
    BACKOFF_S_MAX,
    CONNECT_TIMEOUT_S,
    START_PATIENCE_S,
    START_RETRY_S_MAX,
)
from kpolicy.cluster.request_failure import (
    Cause,
    Failure,
    Status,
    TimedOut,
    Unreachable,
    explain_failure,
    requested_wait_s,
)
from kpolicy.cluster.watch.resource import Resource


@dataclass(frozen=True, slots=True)
class Backoff:
    """The state of a back-off; `step` counts failures since it was last healthy."""

    step: int = 0
    failed_at_ns: int | None = None

    def ceiling_s(self) -> float:
        """The upper limit of the next wait."""
        # 2**64 is beyond every limit: the exponent is bounded so that the float cannot overflow.
        return min(BACKOFF_S_MAX, BACKOFF_S_INITIAL * BACKOFF_FACTOR ** min(self.step + 1, 64))

    def failed(self, monotonic_ns: int, chance: float, at_least_s: float = 0.0) -> Wait:
        """Return how long to wait after a failure, and the new state. `chance` is in [0, 1).

        The wait is in [initial, ceiling). `at_least_s` (Retry-After) raises both limits.
        """
        healthy = (
            self.failed_at_ns is not None
            and monotonic_ns - self.failed_at_ns >= BACKOFF_RESET_S * NANOSECONDS
        )
        now = Backoff() if healthy else self
        wait_s = BACKOFF_S_INITIAL + chance * (now.ceiling_s() - BACKOFF_S_INITIAL)
        if at_least_s > wait_s:
            wait_s = at_least_s + chance * BACKOFF_S_INITIAL
        return Wait(wait_s, Backoff(now.step + 1, monotonic_ns))


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float
    backoff: Backoff


_log = logging.getLogger(__name__)

# The code of a resource that the API server does not have.
NOT_SERVED: Final = "KPC209"
_PASSES = frozenset({Cause.REFUSED, Cause.LOST})


class Patience:
    """Retries requests while kpolicy starts. Time counts from the first failure; `end` stops
    retries."""

    def __init__(self, clock: Clock, random: Random, seconds: float = START_PATIENCE_S) -> None:
        self._clock = clock
        self._random = random
        self._seconds = seconds
        self._until_ns: int | None = None
        self._ended = False
        self._failing: dict[int, str] = {}  # the last failure of each request, by its number
        self._questions = 0

    @property
    def waits_for(self) -> str:
        """The last answer of the API server to a request that is being retried."""
        return next(iter(self._failing.values()), "")

    def end(self) -> None:
        self._ended = True

    async def ask(
        self, question: Callable[[], Awaitable[Response | Failure]]
    ) -> Response | Failure:
        """Return the response, or the last failure if waiting longer is no use."""
        self._questions += 1
        number, backoff = self._questions, Backoff()
        try:
            while not isinstance(answer := await question(), Response):
                left_s = self._left_s() if passes(answer) else 0.0
                if left_s <= 0:
                    return answer
                self._log_wait(number, answer, left_s)
                asked_s = requested_wait_s(answer)
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

    def _log_wait(self, number: int, failure: Failure, left_s: float) -> None:
        if str(failure) not in self._failing.values():
            text = "waiting for the API server, for at most %.0f s more: %s"
            _log.warning(text, left_s, failure)
        self._failing[number] = str(failure)


def passes(failure: Failure) -> bool:
    """Whether the same request may succeed in a moment."""
    match failure:
        case Status():
            return failure.transient
        case TimedOut():
            return True
        case Unreachable():
            return failure.cause in _PASSES


@dataclass(frozen=True, slots=True)
class ServerVersion:
    git_version: str
    major: int
    minor: int


async def probe(
    client: ApiClient,
    needs: Sequence[Resource] = (),
    *,
    timeout_s: float = CONNECT_TIMEOUT_S,
    patience: Patience | None = None,
) -> ServerVersion | ConnectionProblem:
    """Return the server's version, after every resource in `needs` could be listed."""

    async def get(path: str, query: Mapping[str, str] | None = None) -> Response | Failure:
        async def once() -> Response | Failure:
            return await client.request("GET", path, query, timeout_s=timeout_s)

        return await (patience.ask(once) if patience is not None else once())

    if not isinstance(answer := await get("/version"), Response):
        return explain_failure(client.connection, answer, "read /version")
    if (version := _version(answer.body)) is None:
        return problem(
            "KPC207",
            f"{client.connection.server} answers, but not as a Kubernetes API server",
            "check the server's address in the kubeconfig",
        )
    for resource in needs:
        query = resource.query() | {"limit": "1"}
        if not isinstance(answer := await get(resource.path, query), Response):
            return explain_failure(client.connection, answer, f"list {resource.name}")
    return version


async def served(
    client: ApiClient, resource: Resource, *, patience: Patience | None = None
) -> Resource | ConnectionProblem:
    """The resource in the newest version that the API server has."""
    found: Resource | ConnectionProblem = resource
    for variant in resource.variants():
        answer = await probe(client, [variant], patience=patience)
        found = answer if isinstance(answer, ConnectionProblem) else variant
        if not isinstance(found, ConnectionProblem) or found.code != NOT_SERVED:
            break
    return found


def _version(body: bytes) -> ServerVersion | None:
    try:
        document = json.loads(body)
        return ServerVersion(
            git_version=str(document["gitVersion"]),
            major=int(str(document["major"]).rstrip("+")),
            minor=int(str(document["minor"]).rstrip("+")),  # some clouds add a plus sign: "36+"
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
