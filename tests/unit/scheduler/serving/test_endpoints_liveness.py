"""`/livez` names every long task and fails for one that hangs, but not while the API server is
away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import aiohttp
import pytest

from kpolicy.clock import Heartbeats
from kpolicy.cluster import limits as waits
from kpolicy.cluster.lease import Elector
from kpolicy.cluster.lease_record import LeaseLock, LeaseTerms
from kpolicy.cluster.limits import INFORMER_SILENT_S_MAX, LEASE_SILENT_S_MAX, OUTBOX_SILENT_S_MAX
from kpolicy.cluster.watch.informer import Informer
from kpolicy.cluster.watch.resource import Resource
from kpolicy.cluster.writes.outbox import Outbox
from kpolicy.engine import Engine
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.cycle import Cycle
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.runtime import EngineThread
from kpolicy.scheduler.serving.endpoints import Liveness
from kpolicy.telemetry.health_checks import judge
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.manual_clock import ManualClock
from tests.unit.cluster.canned import Handler, canned_server, replies
from tests.unit.cluster.doubles import client, eventually
from tests.unit.cluster.lease_server import LOST, LeaseClient, LeaseServer
from tests.unit.cluster.recording import RecordingSink, event, page
from tests.unit.cluster.watch.test_informer import routes, watch_of
from tests.unit.scheduler.loop.test_cycle import Unbounded
from tests.unit.scheduler.runtimes import feed_of, runtime_of
from tests.unit.scheduler.world import free_port, on_port, running

PODS = Resource("pods", "/api/v1/pods")
HOUR_S = 3600
TASKS = [
    "http",
    "loop-lag",
    "settle",
    "volumes",
    "events",
    "conditions",
    "policy-source",
    "policy-report",
    "cycle",
    "extenders",
    "flush",
    "summary",
]


@contextmanager
def stopping(thread: EngineThread) -> Iterator[EngineThread]:
    yield thread
    thread.stop()


def liveness_answer(heartbeats: Heartbeats, clock: ManualClock) -> tuple[int, str]:
    with stopping(runtime_of(Engine(), clock).engine) as thread:
        health = judge("livez", Liveness(thread, heartbeats), verbose=True)
    return health.status, health.text


@asynccontextmanager
async def task(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    runs = asyncio.ensure_future(work)
    try:
        yield
        assert not runs.done(), "the task ended too early"
    finally:
        runs.cancel()
        await asyncio.gather(runs, return_exceptions=True)


async def test_every_long_task_is_there_by_name() -> None:
    port = free_port()
    async with (
        ControlPlane() as control_plane,
        running(control_plane, options=replace(on_port(port), leader_elect=True)) as world,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
    ):
        control_plane.add(node("n"), pod("p"))
        await world.until(lambda: "p" in world.placed())
        async with session.get("/livez?verbose") as answer:
            lines = (await answer.text()).splitlines()
        assert answer.status == 200
        names = {line.removeprefix("[+]").removesuffix(" ok") for line in lines[:-1]}
        watched = {f"informer-{resource}" for resource in ("pods", "nodes")}
        assert {"ping", "engine", "lease", *TASKS, *watched} <= names
        assert lines[-1] == "livez check passed"
        async with session.get("/livez/cycle") as answer:
            assert (answer.status, await answer.text()) == (200, "ok")
        async with session.get("/healthz?verbose") as answer:
            assert "[+]cycle ok" in await answer.text()


# --- informers -----------------------------------------------------------------------------------


class StuckSink(RecordingSink):
    async def lines(self, resource: str, lines: bytes) -> object:  # type: ignore[override]
        del resource, lines
        return await asyncio.Event().wait()


@asynccontextmanager
async def informing(
    handler: Handler, clock: ManualClock, sink: RecordingSink
) -> AsyncIterator[tuple[Informer, Heartbeats]]:
    heartbeats = Heartbeats(clock)
    async with canned_server(handler) as server, client(server.url, clock) as api:
        informer = Informer(api, PODS, sink, clock, Random(1))
        async with task(informer.run(heartbeats.of("informer-pods", INFORMER_SILENT_S_MAX))):
            yield informer, heartbeats


async def test_an_informer_that_hangs_is_dead() -> None:
    clock, sink = ManualClock(), StuckSink()
    handler = routes(replies(200, page(7)), watch_of(event("ADDED", 8, "d")))
    async with informing(handler, clock, sink) as (informer, heartbeats):
        await informer.wait_synced()
        await eventually(lambda: clock.sleepers == 1)
        await clock.advance(INFORMER_SILENT_S_MAX - 1)
        assert liveness_answer(heartbeats, clock)[0] == 200
        await clock.advance(2)
        status, text = liveness_answer(heartbeats, clock)
        assert status == 500
        assert "[-]informer-pods failed: has not gone round for 301 s" in text


async def test_an_informer_is_alive_while_the_api_server_is_away() -> None:
    clock, sink = ManualClock(), RecordingSink()
    async with informing(replies(503, b"{}"), clock, sink) as (informer, heartbeats):
        tries = 0
        while clock.monotonic_ns() < HOUR_S * 10**9:
            await eventually(
                lambda: informer.statistics().failures > tries and clock.sleepers == 1  # noqa: B023
            )
            tries = informer.statistics().failures
            assert liveness_answer(heartbeats, clock)[0] == 200
            await clock.jump()
        assert tries > HOUR_S / INFORMER_SILENT_S_MAX


async def test_an_informer_of_a_silent_watch_is_alive() -> None:
    clock, sink = ManualClock(), RecordingSink()
    async with informing(routes(replies(200, page(7)), watch_of()), clock, sink) as (
        informer,
        heartbeats,
    ):
        await informer.wait_synced()
        for _ in range(20):
            await eventually(lambda: clock.sleepers >= 1)
            assert liveness_answer(heartbeats, clock)[0] == 200
            await clock.jump()
        assert informer.statistics().reconnects > 3


# --- others --------------------------------------------------------------------------------------


async def test_a_cycle_that_waits_for_its_turn_for_ever_is_dead() -> None:
    clock = ManualClock()
    heartbeats, runtime = Heartbeats(clock), runtime_of(Engine(), clock)
    feed = feed_of(clock, Queue())
    with stopping(runtime.engine):
        cycle = Cycle(runtime, feed, Unbounded(), extended=None)  # type: ignore[arg-type]
        async with asyncio.TaskGroup() as group:
            runs = group.create_task(
                cycle.run(group, heartbeats.of("cycle", limits.TASK_SILENT_S_MAX))
            )
            await clock.advance(HOUR_S)
            assert liveness_answer(heartbeats, clock)[0] == 200, "there is nothing to do"
            async with feed.signals.deciding:
                feed.signals.work_came()
                await clock.advance(limits.TASK_SILENT_S_MAX - 1)
                assert liveness_answer(heartbeats, clock)[0] == 200
                await clock.advance(2)
                assert (
                    "[-]cycle failed: has not gone round" in liveness_answer(heartbeats, clock)[1]
                )
            await clock.advance(1)
            assert liveness_answer(heartbeats, clock)[0] == 200
            cycle.stop()
            await asyncio.wait_for(runs, 5)


async def test_an_outbox_whose_writes_never_end_is_dead() -> None:
    clock, written = ManualClock(), asyncio.Event()
    heartbeats = Heartbeats(clock)

    async def send(_: int) -> bool:
        return await written.wait()

    outbox: Outbox[int] = Outbox(send, capacity=10, workers=2)
    async with task(outbox.run(heartbeats.of("events", OUTBOX_SILENT_S_MAX))):
        await clock.advance(HOUR_S)
        assert liveness_answer(heartbeats, clock)[0] == 200
        outbox.offer("a", 1)
        await clock.advance(1)
        assert liveness_answer(heartbeats, clock)[0] == 200
        await clock.advance(OUTBOX_SILENT_S_MAX + 1)
        assert "[-]events failed: has not gone round" in liveness_answer(heartbeats, clock)[1]
        written.set()
        await clock.settle()
        assert liveness_answer(heartbeats, clock)[0] == 200


async def test_an_elector_is_alive_while_the_api_server_is_away_and_dead_when_it_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = ManualClock()
    heartbeats, api = Heartbeats(clock), LeaseClient(LeaseServer(clock))
    api.trouble = LOST
    elector = Elector(
        api,
        clock,
        Random(1),
        LeaseTerms(15, 10, 2),
        LeaseLock("ns", "k", "one"),
        pulse=heartbeats.of("lease", LEASE_SILENT_S_MAX),
    )
    async with task(elector.run()):
        for _ in range(60):
            await clock.advance(30)
            assert liveness_answer(heartbeats, clock)[0] == 200
        api.trouble = None
        await clock.advance(5)
        await asyncio.wait_for(elector.acquired(), 5)
        for _ in range(60):
            await clock.advance(30)
            assert elector.fence()
            assert liveness_answer(heartbeats, clock)[0] == 200
        monkeypatch.setattr(elector, "_renew", asyncio.Event().wait)
        await clock.advance(LEASE_SILENT_S_MAX + 10)
        assert "[-]lease failed: has not gone round" in liveness_answer(heartbeats, clock)[1]


def test_no_bound_is_reached_by_waiting_for_the_api_server() -> None:
    page_s = waits.CONNECT_TIMEOUT_S + waits.REQUEST_TIMEOUT_S
    patience_s = waits.RETRY_AFTER_S_MAX + waits.BACKOFF_S_INITIAL
    for waited_s in (page_s + patience_s, waits.WATCH_SILENCE_S + page_s, waits.BACKOFF_S_MAX):
        assert waited_s + waits.EXEC_TIMEOUT_S < waits.INFORMER_SILENT_S_MAX / 1.5
    write_s = waits.WRITE_TRIES_MAX * (waits.CONNECT_TIMEOUT_S + waits.WRITE_TIMEOUT_S)
    assert write_s + waits.WRITE_TRIES_MAX * patience_s < waits.OUTBOX_SILENT_S_MAX
    assert (
        2 * waits.LEASE_REQUEST_TIMEOUT_S + 2 * waits.LEASE_RETRY_S < waits.LEASE_SILENT_S_MAX / 2
    )
