"""What the process serves about itself: health by name, metrics, settings, pages.

Owns the checks, and the server that answers while the scheduler lives. Assumes parts that are
wired. Must not know how any of it is rendered, nor who may read it: `serving` does.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient
from kpolicy.heartbeat import Heartbeats, Pulse
from kpolicy.scheduler.liveness import Liveness
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.pages import Pages
from kpolicy.scheduler.parts import Parts
from kpolicy.scheduler.problem import ADDRESS_UNUSABLE, Problem
from kpolicy.scheduler.serving import serving_of
from kpolicy.telemetry.health_server import Check, Checks, HttpServer
from kpolicy.telemetry.metrics import Registry


@dataclass(frozen=True, slots=True)
class Life:
    """How the scheduler is: `not_ready` and `stopping` say why it is not in service."""

    not_ready: Callable[[], str]
    stopping: Callable[[], str]
    configuration: Callable[[], dict[str, Any]]
    heartbeats: Heartbeats


async def listen(
    options: Options,
    parts: Parts,
    life: Life,
    *,
    registry: Registry,
    client: ApiClient,
    clock: Clock,
    begin: Callable[[Callable[[Pulse], Coroutine[Any, Any, None]], str], None],
) -> HttpServer | Problem:
    """`begin` starts a long task of that name."""
    serving = serving_of(options, client, clock)
    if isinstance(serving, Problem):
        return serving
    server = HttpServer(
        options.bind_address,
        options.port,
        registry,
        checks(parts, life),
        life.configuration,
        before_scrape=parts.statistics.refresh,
        pages=Pages(parts, clock).served(),
        guard=serving.guard,
        tls=serving.tls,
    )
    why = await server.start()
    if why:
        return Problem(ADDRESS_UNUSABLE, why, "choose another with --port, or --port 0 for none")
    if serving.certificate is not None:
        begin(partial(serving.certificate.follow, clock), "certificate")
    return server


def checks(parts: Parts, life: Life) -> Checks:
    alive = Liveness(parts.thread, life.heartbeats)
    ready = (
        *alive.process,
        Check("sched-handler-sync", life.not_ready),
        Check("api-server", parts.informers.unreachable),
        Check("shutdown", life.stopping),
    )
    return Checks(healthz=alive, livez=alive, readyz=ready)
