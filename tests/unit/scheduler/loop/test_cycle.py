"""The deciding loop: batches, what follows from each verdict, and when it rests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from kpolicy.cluster.writes.pod_status import ConditionReason
from kpolicy.engine import Engine, Scheduled, Verdict
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.consequences import Consequences, take
from kpolicy.scheduler.loop.cycle import Cycle
from kpolicy.scheduler.loop.pod_try import Basis, Placement, PodTry
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import Signals
from kpolicy.scheduler.loop.reporter import Reporter
from tests.manual_clock import ManualClock
from tests.unit.scheduler.faulty_engine import decided
from tests.unit.scheduler.pods import SECOND, pending
from tests.unit.scheduler.runtimes import feed_of, runtime_of

# --- what follows from decisions -----------------------------------------------------------------


def test_every_verdict_puts_the_pod_where_it_belongs() -> None:
    queue = Queue()
    for uid in ("forgotten", "placed", "parked", "failed", "gone", "gated", "undecided"):
        queue.changed(pending(uid), 0)
    batch = queue.pop_batch(10, 0)
    taken = take(
        queue,
        batch,
        [
            decided(Verdict.PLACED, "placed", node="n", filter_ns=10, score_ns=5),
            decided(Verdict.PARKED, "parked", rejected_by=["Fit"], message="0/1", filter_ns=7),
            decided(Verdict.FAILED, "failed", message="rule broke"),
            decided(Verdict.GONE, "gone"),
            decided(Verdict.GATED, "gated"),
            decided(Verdict.PLACED, "stranger", node="n"),
        ],
        SECOND,
    )
    assert [(one.pod.uid, one.offset_ns) for one in taken.placements] == [("placed", 0)]
    assert [(one.pod.uid, one.reason, one.offset_ns) for one in taken.rejections] == [
        ("parked", ConditionReason.UNSCHEDULABLE, 15),
        ("failed", ConditionReason.SCHEDULER_ERROR, 22),
    ]
    assert (queue.get("gone"), queue.statistics().gated) == (None, 1)
    now = queue.statistics()
    assert (now.active, now.backoff, now.parked, now.gated, now.attempts_under_way) == (
        1,
        2,
        1,
        1,
        1,
    ), "a pod without an answer backs off as one that failed, those after the last one are next"


def test_a_pod_that_left_while_it_was_placed_is_bound_all_the_same() -> None:
    queue = Queue()
    queue.changed(pending("a"), 0)
    batch = queue.pop_batch(1, 0)
    queue.gone("a")
    taken = take(queue, batch, [decided(Verdict.PLACED, "a", node="n")], 0)
    assert len(taken.placements) == 1, "only the API server knows which came first"


# --- the loop ------------------------------------------------------------------------------------


def _verdict(fails: bool) -> Verdict:
    return Verdict.FAILED if fails else Verdict.PLACED


class Unbounded:
    """In the place of `Binds` and `Reservations`: keeps what is started; the test sets the room."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.room = 10_000
        self.under_way = 0

    def start(
        self, placement: Placement, basis: Basis, pod_try: PodTry, group: asyncio.TaskGroup
    ) -> None:
        self.started.append(placement.pod.uid)
        self.room -= 1


class Writer:
    def __init__(self) -> None:
        self.told = 0

    def scheduled(self, *_: Any, **__: Any) -> None:
        self.told += 1

    failed_scheduling = set = forget = scheduled


class PlacingEngine(Engine):
    """Places everyone but those it is told to fail; each pod takes `pod_ns`."""

    def __init__(self) -> None:
        super().__init__(0)
        self.failing: set[str] = set()
        self.batches: list[int] = []
        self.pod_ns = 0

    def schedule(self, uids: Sequence[str], now_ns: int) -> Scheduled:
        self.batches.append(len(uids))
        return Scheduled(
            "sha256:1",
            "9",
            [
                decided(_verdict(uid in self.failing), uid, node="n", filter_ns=self.pod_ns)
                for uid in uids
            ],
        )


@dataclass
class Rig:
    cycle: Cycle
    signals: Signals
    engine: PlacingEngine
    queue: Queue
    binds: Unbounded
    clock: ManualClock

    def add(self, *uids: str) -> None:
        for uid in uids:
            self.queue.changed(pending(uid, name=uid), self.clock.monotonic_ns())
        self.signals.work_came()

    async def rest(self) -> None:
        for _ in range(20):
            await self.clock.settle()
            await asyncio.sleep(0.001)


@asynccontextmanager
async def rig() -> AsyncIterator[Rig]:
    clock, queue, binds = ManualClock(), Queue(), Unbounded()
    engine = PlacingEngine()
    runtime, feed = runtime_of(engine, clock), feed_of(clock, queue)
    reporter = Reporter(
        runtime,
        queue,
        events=Writer(),  # type: ignore[arg-type]
        status=Writer(),  # type: ignore[arg-type]
        run_id="run",
        policies=tuple,
    )
    consequences = Consequences(
        runtime,
        binds,  # type: ignore[arg-type]
        reporter,
        binds=binds,  # type: ignore[arg-type]
        preemptions=Unbounded(),  # type: ignore[arg-type]
    )
    cycle = Cycle(runtime, feed, consequences, extended=None)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(cycle.run(group))
        yield Rig(cycle, feed.signals, engine, queue, binds, clock)
        cycle.stop()
        await asyncio.wait_for(running, 5)
    runtime.engine.stop()


async def test_a_burst_is_decided_in_batches_of_one_call_each() -> None:
    async with rig() as one:
        one.add(*(f"p{number:04}" for number in range(600)))
        await one.rest()
        assert len(one.binds.started) == 600
        assert max(one.engine.batches) <= limits.BATCH_PODS_MAX
        assert len(one.engine.batches) == 3


async def test_slow_batches_become_small_and_grow_again() -> None:
    async with rig() as one:
        one.engine.pod_ns = limits.BATCH_NS_MAX // 8
        one.add(*(f"p{number:04}" for number in range(600)))
        await one.rest()
        assert one.engine.batches[:7] == [256, 128, 64, 32, 16, 8, 8]
        one.engine.pod_ns = 0
        one.add(*(f"q{number:04}" for number in range(2000)))
        await one.rest()
        assert max(one.engine.batches[-8:]) == limits.BATCH_PODS_MAX
        assert len(one.binds.started) == 2600


async def test_nothing_is_assumed_beyond_the_room_for_binds() -> None:
    async with rig() as one:
        one.binds.room = 10
        one.add(*(f"p{number}" for number in range(30)))
        await one.rest()
        assert one.binds.started == [], "a few at a time is not worth the call"
        one.binds.room = 25
        one.signals.work_came()
        await one.rest()
        assert one.binds.started == []
        for number in range(20, 30):
            one.queue.gone(f"p{number}")
        one.signals.work_came()
        await one.rest()
        assert len(one.binds.started) == 20
        assert (one.binds.room, one.queue.statistics().active) == (5, 0)


async def test_room_that_trickles_back_is_gathered_for_a_batch() -> None:
    async with rig() as one:
        one.binds.room = 0
        one.add(*(f"p{number:04}" for number in range(1000)))
        for _ in range(30):
            one.binds.room += 10
            one.signals.work_came()
            await one.rest()
        assert len(one.binds.started) == 300
        assert one.engine.batches == [100, 100, 100]


async def test_it_rests_until_a_backoff_ends() -> None:
    async with rig() as one:
        one.engine.failing.add("a")
        one.add("a")
        await one.rest()
        assert one.engine.batches == [1]
        await one.clock.advance(0.9)
        await one.rest()
        assert one.engine.batches == [1]
        one.engine.failing.clear()
        await one.clock.advance(0.2)
        await one.rest()
        assert one.engine.batches == [1, 1]
        assert one.binds.started == ["a"]


async def test_it_decides_nothing_while_a_program_is_put_in_force() -> None:
    async with rig() as one:
        async with one.signals.deciding:
            one.add("a")
            await one.rest()
            assert one.engine.batches == []
        await one.rest()
        assert one.binds.started == ["a"]


async def test_stopped_it_pops_nothing_more() -> None:
    async with rig() as one:
        one.cycle.stop()
        one.add("a")
        await one.rest()
        assert one.engine.batches == []
        assert one.queue.statistics().active == 1


@pytest.mark.parametrize("batches", [1, 2])
async def test_idle_it_calls_nobody(batches: int) -> None:
    async with rig() as one:
        for number in range(batches):
            one.add(f"p{number}")
            await one.rest()
        await one.clock.advance(3600)
        await one.rest()
        assert one.engine.batches == [1] * batches
