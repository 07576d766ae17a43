"""What the process serves about itself: health by name, metrics, settings, pages.

Owns the checks, and the server that answers while the scheduler lives. Assumes parts that are
wired. Must not know how any of it is rendered, nor who may read it: `serving` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient
from kpolicy.scheduler import limits
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.pages import Pages
from kpolicy.scheduler.parts import Parts
from kpolicy.scheduler.problem import ADDRESS_UNUSABLE, Problem
from kpolicy.scheduler.serving import serving_of
from kpolicy.telemetry.health import Check, Checks, ping
from kpolicy.telemetry.http import HttpServer
from kpolicy.telemetry.metrics import Registry


@dataclass(frozen=True, slots=True)
class Life:
    """How the scheduler is: `not_ready` and `stopping` say why it is not in service."""

    not_ready: Callable[[], str]
    stopping: Callable[[], str]
    configuration: Callable[[], dict[str, Any]]


async def listen(
    options: Options,
    parts: Parts,
    life: Life,
    *,
    registry: Registry,
    client: ApiClient,
    clock: Clock,
    group: asyncio.TaskGroup,
) -> HttpServer | Problem:
    serving = serving_of(options, client, clock)
    if isinstance(serving, Problem):
        return serving
    server = HttpServer(
        options.bind_address, options.port, registry, checks(parts, life), life.configuration,
        before_scrape=parts.statistics.refresh,
        pages=Pages(parts, clock).served(), guard=serving.guard, tls=serving.tls,
    )  # fmt: skip
    why = await server.start()
    if why:
        return Problem(ADDRESS_UNUSABLE, why, "choose another with --port, or --port 0 for none")
    if serving.certificate is not None:
        group.create_task(serving.certificate.follow(clock), name="certificate")
    return server


def checks(parts: Parts, life: Life) -> Checks:
    def engine() -> str:
        busy_s = parts.thread.busy_s()
        return f"a call takes {busy_s:.0f} s" if busy_s > limits.ENGINE_CALL_S_MAX else ""

    alive = (ping(), Check("engine", engine))
    ready = (
        *alive,
        Check("sched-handler-sync", life.not_ready),
        Check("api-server", parts.informers.unreachable),
        Check("shutdown", life.stopping),
    )
    return Checks(healthz=alive, livez=alive, readyz=ready)
