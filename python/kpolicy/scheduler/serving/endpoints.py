"""The health, metrics and debug endpoints: which checks there are, and who may read them.

No health check asks the API server, so that an outage restarts nobody. With `--auth delegated` an
answer of the API server about a token is remembered for a short time; failures let nobody in.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from kpolicy.clock import Clock, Heartbeats
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.reviews import ReviewedUser, ReviewFailure, Reviews
from kpolicy.scheduler import limits
from kpolicy.scheduler.long_tasks import Parts
from kpolicy.scheduler.loop.informers import Informers
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.problem_codes import (
    Problem,
)
from kpolicy.scheduler.runtime import EngineThread, Runtime, Tasks
from kpolicy.scheduler.serving.debug_pages import Pages
from kpolicy.scheduler.serving.pod_resources import PodResourceStream
from kpolicy.telemetry.access import (
    DELEGATED,
    TOKEN,
    Guard,
    NotConfigured,
    Open,
    Refusal,
    ServedCertificate,
    TokenFile,
    bearer_token,
    is_loopback,
)
from kpolicy.telemetry.health_checks import Check, Checks
from kpolicy.telemetry.health_server import HttpServer, Listener, Served


@dataclass(frozen=True, slots=True)
class Life:
    """The state of the scheduler: `not_ready` and `stopping` say why it is not in service."""

    not_ready: Callable[[], str]
    stopping: Callable[[], str]
    leads: Callable[[], bool]
    configuration: Callable[[], dict[str, Any]]
    heartbeats: Heartbeats


async def listen(
    options: Options,
    parts: Parts,
    life: Life,
    *,
    runtime: Runtime,
    client: ApiClient,
    tasks: Tasks,
) -> HttpServer | Problem:
    clock = runtime.clock
    serving = serving_of(options, client, clock)
    if isinstance(serving, Problem):
        return serving
    informers = parts.informers
    resources = PodResourceStream(runtime.engine, lambda: life.leads() and informers.synced)
    listener = Listener(options.bind_address, options.port, serving.tls, serving.guard)
    served = Served(
        runtime.metrics.registry,
        checks(runtime.engine, informers, life),
        life.configuration,
        before_scrape=runtime.engine.statistics.refresh,
        pages=Pages(parts, runtime).served(),
        streams={"/metrics/resources": resources.pieces},
    )
    server = HttpServer(listener, served, clock)
    why = await server.start()
    if why:
        return Problem("KPS201", why, "choose another with --port, or --port 0 for none")
    tasks.begin(server.run, "http")
    if serving.certificate is not None:
        tasks.begin(partial(serving.certificate.follow, clock), "certificate")
    return server


def checks(thread: EngineThread, informers: Informers, life: Life) -> Checks:
    alive = Liveness(thread, life.heartbeats)
    ready = (
        *alive.process,
        Check("sched-handler-sync", life.not_ready),
        Check("api-server", informers.unreachable),
        Check("shutdown", life.stopping),
    )
    return Checks(healthz=alive, livez=alive, readyz=ready)


class Liveness:
    """The checks, which are listed again for each request because tasks start and end."""

    def __init__(self, thread: EngineThread, heartbeats: Heartbeats) -> None:
        self._thread = thread
        self._heartbeats = heartbeats
        self.process = (Check("ping", lambda: ""), Check("engine", self._engine))

    def __iter__(self) -> Iterator[Check]:
        yield from self.process
        yield from (Check(heartbeat.name, heartbeat.failing) for heartbeat in self._heartbeats)

    def _engine(self) -> str:
        busy_s = self._thread.busy_s()
        return f"a call takes {busy_s:.0f} s" if busy_s > limits.ENGINE_CALL_S_MAX else ""


@dataclass(frozen=True, slots=True)
class Serving:
    guard: Guard
    certificate: ServedCertificate | None

    @property
    def tls(self) -> ssl.SSLContext | None:
        return self.certificate.context if self.certificate is not None else None


def serving_of(options: Options, client: ApiClient, clock: Clock) -> Serving | Problem:
    certificate = None
    if options.tls_cert_file:
        certificate = ServedCertificate(
            Path(options.tls_cert_file), Path(options.tls_private_key_file)
        )
        why = certificate.load()
        if why:
            hint = "both are PEM, the key is not encrypted, and they belong together"
            return Problem("KPS205", why, hint)
    if options.auth == TOKEN:
        file = TokenFile(Path(options.auth_token_file))
        why = file.problem()
        if why:
            hint = "write a token of some length into it, for scrapers to send"
            return Problem("KPS206", why, hint)
        return Serving(file, certificate)
    if options.auth == DELEGATED:
        return Serving(DelegatedAccess(Reviews(client), clock), certificate)
    return Serving(Open() if is_loopback(options.bind_address) else NotConfigured(), certificate)


Answer = TypeVar("Answer")


class _Remembered(Generic[Answer]):
    """Remembers answers for a short time, but no failures. The oldest answers are dropped first."""

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
        # Requests with invalid tokens wait for each other, so that they delay no bind.
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
