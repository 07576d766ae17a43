"""What runs beside the cycle: the flush, the measuring of lag, the summary."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from typing import Any

import pytest

from kpolicy import Source, compile_policy
from kpolicy.engine import Engine
from kpolicy.scheduler.long_tasks import flush_parked, follow_time, log_summary, measure_lag
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.telemetry.metrics import Histogram
from kpolicy.testing import node, pod
from tests.manual_clock import ManualClock
from tests.unit.scheduler.pods import pending
from tests.unit.scheduler.runtimes import feed_of, runtime_of


async def test_parked_pods_are_flushed_after_five_minutes() -> None:
    clock, queue, engine = ManualClock(), Queue(), Engine()
    runtime, feed = runtime_of(engine, clock), feed_of(clock, queue)
    queue.changed(pending("a"), 0)
    queue.pop_batch(1, 0)
    queue.parked("a", ["Fit"], 0)
    async with _running(flush_parked(runtime, feed)):
        await clock.advance(299)
        assert queue.statistics().parked == 1
        await clock.advance(31)
        assert queue.statistics().parked == 0
        assert feed.signals.to_decide.is_set()
        assert [pod.uid for pod in queue.pop_batch(1, clock.monotonic_ns())] == ["a"]
    runtime.engine.stop()


async def test_pods_the_queue_had_no_room_for_are_fetched_when_there_is() -> None:
    clock, queue, engine = ManualClock(), Queue(pods_max=1), Engine()
    runtime, feed = runtime_of(engine, clock), feed_of(clock, queue)
    feed.serve(frozenset({"kpolicy"}))
    for name in ("a", "b"):
        engine.watch("pods", watch_line("ADDED", name), 0)
    await feed.take_pods(engine.pending())
    assert queue.statistics().refused == 1
    queue.gone("a")
    engine.watch("pods", watch_line("DELETED", "a"), 0)
    async with _running(flush_parked(runtime, feed)):
        await clock.advance(31)
        for _ in range(1000):
            if len(queue):
                break
            await asyncio.sleep(0.001)
        assert [pod.uid for pod in queue.pop_batch(1, 0)] == ["b"]
    runtime.engine.stop()


async def test_lag_is_how_late_a_sleep_ends(caplog: pytest.LogCaptureFixture) -> None:
    clock, lag = ManualClock(), Histogram("lag", "L.", (0.001, 0.1, 1.0))
    with caplog.at_level(logging.WARNING, "kpolicy"):
        async with _running(measure_lag(clock, lag)):
            await clock.advance(1)
            assert lag.count() == 10
            clock._monotonic_ns += 2_000_000_000  # the loop was held up
            await clock.advance(0.1)
    on_time, *_ = lag.lines()
    assert on_time == 'lag_bucket{le="0.001"} 11', "before it and after it"
    assert lag.count() == 12
    assert [record.getMessage() for record in caplog.records] == ["the event loop was held up"]


async def test_a_summary_is_written_only_when_something_happened(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, nobody = ManualClock(), object()
    reporter = Reporter(
        runtime_of(Engine(), clock),
        Queue(),
        events=nobody,  # type: ignore[arg-type]
        status=nobody,  # type: ignore[arg-type]
        run_id="run",
        policies=tuple,
    )
    with caplog.at_level(logging.INFO, "kpolicy"):
        async with _running(log_summary(reporter, Queue(), clock)):
            await clock.advance(100)
            assert caplog.records == []
            reporter.tally.update(placed=7, parked=2)
            await clock.advance(100)
    assert [record.getMessage() for record in caplog.records] == ["placed 7, parked 2, failed 0"]


def watch_line(change: str, name: str) -> bytes:
    found = pod(name)
    found["metadata"] |= {"uid": name, "resourceVersion": "1"}
    return json.dumps({"type": change, "object": found}).encode() + b"\n"


class _running:  # noqa: N801  reads as a statement
    """The loop under test as a task, as long as the block."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.ensure_future(work)

    async def __aenter__(self) -> None:
        await asyncio.sleep(0)

    async def __aexit__(self, *_: object) -> None:
        assert not self._task.done(), "the task ends only when it is cancelled"
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def test_time_wakes_a_pod_in_the_minute_in_which_its_window_opens() -> None:
    # 22:13:20 in Greenwich.
    clock, queue, engine = ManualClock(), Queue(), Engine()
    runtime, feed = runtime_of(engine, clock), feed_of(clock, queue)
    rule = {"name": "late", "expression": "now.within('15 22 * * *', duration('1h'))"}
    policy = {
        "apiVersion": "kpolicy.dev/v1alpha1",
        "kind": "SchedulingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "profiles": [{"schedulerName": "kpolicy"}],
            "base": "none",
            "predicates": [rule],
        },
    }
    program = compile_policy([Source("p.yaml", json.dumps(policy))]).program
    assert program is not None
    assert engine.load(program.bytes) == []
    objects = {"apiVersion": "v1", "kind": "List", "items": [node("n")]}
    engine.load_objects(json.dumps(objects).encode(), "")
    engine.watch("pods", watch_line("ADDED", "a"), 0)
    feed.serve(frozenset({"kpolicy"}))
    await feed.take_pods(engine.pending())
    [attempt] = queue.pop_batch(1, 0)
    [decision] = engine.schedule([attempt.uid], clock.now_ns()).decisions
    queue.parked(attempt.uid, decision.rejected_by, 0)
    async with _running(follow_time(runtime, feed)):
        for seconds, parked in ((39, 1), (60, 1), (2, 0)):
            await clock.advance(seconds)
            for _ in range(200):
                if queue.statistics().parked == parked and clock.sleepers:
                    break
                await asyncio.sleep(0.001)
            assert queue.statistics().parked == parked, seconds
    runtime.engine.stop()
