"""The deciding loop: batches, what follows from each verdict, and when it rests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from kpolicy.cluster.writes.claim_state import ClaimUser
from kpolicy.cluster.writes.claim_writer import ClaimNotWritten, ClaimOutcome
from kpolicy.cluster.writes.pod_status import ConditionReason
from kpolicy.engine import ClaimRelease, Engine, Scheduled, Verdict
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.consequences import Consequences, take
from kpolicy.scheduler.loop.cycle import (
    Cycle,
)
from kpolicy.scheduler.loop.pod_try import Basis, Placement, PodTry
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import Signals
from kpolicy.scheduler.loop.reporter import (
    Reporter,
)
from tests.manual_clock import ManualClock
from tests.unit.scheduler.faulty_engine import decided
from tests.unit.scheduler.pods import SECOND, pending
from tests.unit.scheduler.runtimes import feed_of, runtime_of

# --- what follows from decisions -----------------------------------------------------------------


def test_every_verdict_puts_the_pod_where_it_belongs() -> None:
    left: list[str] = []
    queue = Queue(on_left=left.append)
    uids = ("forgotten", "placed", "parked", "failed", "gone", "gated", "unready", "undecided")
    for uid in uids:
        queue.changed(pending(uid), 0)
    batch = queue.pop_batch(10, 0)
    batch_outcome = take(
        queue,
        batch,
        [
            decided(Verdict.PLACED, "placed", node="n", filter_ns=10, score_ns=5),
            decided(Verdict.PARKED, "parked", rejected_by=["Fit"], message="0/1", filter_ns=7),
            decided(Verdict.FAILED, "failed", message="rule broke"),
            decided(Verdict.GONE, "gone"),
            decided(Verdict.GATED, "gated"),
            decided(Verdict.NOT_READY, "unready", rejected_by=["DynamicResources"]),
            decided(Verdict.PLACED, "stranger", node="n"),
        ],
        SECOND,
    )
    assert [(placement.pod.uid, placement.offset_ns) for placement in batch_outcome.placements] == [
        ("placed", 0)
    ]
    assert [
        (rejection.pod.uid, rejection.reason, rejection.offset_ns)
        for rejection in batch_outcome.rejections
    ] == [
        ("parked", ConditionReason.UNSCHEDULABLE, 15),
        ("failed", ConditionReason.SCHEDULER_ERROR, 22),
    ]
    assert (left, queue.get("gone"), queue.statistics().gated) == (["gone"], None, 1)
    now = queue.statistics()
    assert (now.active, now.backoff, now.parked, now.gated, now.attempts_under_way) == (
        1,
        2,
        2,
        1,
        1,
    ), "a pod without an answer backs off as one that failed, those after the last one are next"


def test_a_pod_that_left_while_it_was_placed_is_bound_all_the_same() -> None:
    queue = Queue()
    queue.changed(pending("a"), 0)
    batch = queue.pop_batch(1, 0)
    queue.gone("a")
    batch_outcome = take(queue, batch, [decided(Verdict.PLACED, "a", node="n")], 0)
    assert len(batch_outcome.placements) == 1, "only the API server knows which came first"


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
        self.reports = 0

    def scheduled(self, *_: Any, **__: Any) -> None:
        self.reports += 1

    failed_scheduling = set = forget = scheduled


class ScriptedClaims:
    """Notes the claims that are given up for parked pods."""

    def __init__(self) -> None:
        self.given_up: list[tuple[str, str, bool]] = []
        self.asked = asyncio.Event()

    async def give_up(
        self, user: ClaimUser, name: str, uid: str, *, to_delete: bool
    ) -> ClaimOutcome:
        self.given_up.append((user.name, name, to_delete))
        self.asked.set()
        return ClaimNotWritten("no")


class PlacingEngine(Engine):
    """Places everyone but those it is told to fail; each pod takes `pod_ns`."""

    def __init__(self) -> None:
        super().__init__(0)
        self.failing: set[str] = set()
        # Pods that are parked, and the claim that is given up for each.
        self.releases: dict[str, ClaimRelease] = {}
        self.batches: list[int] = []
        self.pod_ns = 0

    def schedule(self, uids: Sequence[str], now_ns: int) -> Scheduled:
        self.batches.append(len(uids))
        return Scheduled(
            "sha256:1",
            "9",
            [
                decided(Verdict.PARKED, uid, rejected_by=["D"], writes=[self.releases[uid]])
                if uid in self.releases
                else decided(_verdict(uid in self.failing), uid, node="n", filter_ns=self.pod_ns)
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
async def rig_of(claims: ScriptedClaims | None = None) -> AsyncIterator[Rig]:
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
        claims=claims or ScriptedClaims(),  # type: ignore[arg-type]
    )
    cycle = Cycle(runtime, feed, consequences, extended=None)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(cycle.run(group))
        yield Rig(cycle, feed.signals, engine, queue, binds, clock)
        cycle.stop()
        await asyncio.wait_for(running, 5)
    runtime.engine.stop()


async def test_claims_that_keep_a_parked_pod_from_its_nodes_are_given_up() -> None:
    claims = ScriptedClaims()
    async with rig_of(claims) as rig:
        rig.engine.releases["a"] = ClaimRelease("gpu", "u", to_delete=True)
        rig.queue.changed(pending("a", name="a"), 0)
        rig.signals.work_came()
        await asyncio.wait_for(claims.asked.wait(), 5)
        assert claims.given_up == [("a", "gpu", True)]
        assert rig.queue.statistics().parked == 1


async def test_a_burst_is_decided_in_batches_of_one_call_each() -> None:
    async with rig_of() as rig:
        rig.add(*(f"p{number:04}" for number in range(600)))
        await rig.rest()
        assert len(rig.binds.started) == 600
        assert max(rig.engine.batches) <= limits.BATCH_PODS_MAX
        assert len(rig.engine.batches) == 3


async def test_slow_batches_become_small_and_grow_again() -> None:
    async with rig_of() as rig:
        rig.engine.pod_ns = limits.BATCH_NS_MAX // 8
        rig.add(*(f"p{number:04}" for number in range(600)))
        await rig.rest()
        assert rig.engine.batches[:7] == [256, 128, 64, 32, 16, 8, 8]
        rig.engine.pod_ns = 0
        rig.add(*(f"q{number:04}" for number in range(2000)))
        await rig.rest()
        assert max(rig.engine.batches[-8:]) == limits.BATCH_PODS_MAX
        assert len(rig.binds.started) == 2600


async def test_nothing_is_assumed_beyond_the_room_for_binds() -> None:
    async with rig_of() as rig:
        rig.binds.room = 10
        rig.add(*(f"p{number}" for number in range(30)))
        await rig.rest()
        assert rig.binds.started == [], "a few at a time is not worth the call"
        rig.binds.room = 25
        rig.signals.work_came()
        await rig.rest()
        assert rig.binds.started == []
        for number in range(20, 30):
            rig.queue.gone(f"p{number}")
        rig.signals.work_came()
        await rig.rest()
        assert len(rig.binds.started) == 20
        assert (rig.binds.room, rig.queue.statistics().active) == (5, 0)


async def test_room_that_trickles_back_is_gathered_for_a_batch() -> None:
    async with rig_of() as rig:
        rig.binds.room = 0
        rig.add(*(f"p{number:04}" for number in range(1000)))
        for _ in range(30):
            rig.binds.room += 10
            rig.signals.work_came()
            await rig.rest()
        assert len(rig.binds.started) == 300
        assert rig.engine.batches == [100, 100, 100]


async def test_it_rests_until_a_backoff_ends() -> None:
    async with rig_of() as rig:
        rig.engine.failing.add("a")
        rig.add("a")
        await rig.rest()
        assert rig.engine.batches == [1]
        await rig.clock.advance(0.9)
        await rig.rest()
        assert rig.engine.batches == [1]
        rig.engine.failing.clear()
        await rig.clock.advance(0.2)
        await rig.rest()
        assert rig.engine.batches == [1, 1]
        assert rig.binds.started == ["a"]


async def test_it_decides_nothing_while_a_program_is_put_in_force() -> None:
    async with rig_of() as rig:
        async with rig.signals.deciding:
            rig.add("a")
            await rig.rest()
            assert rig.engine.batches == []
        await rig.rest()
        assert rig.binds.started == ["a"]


async def test_stopped_it_pops_nothing_more() -> None:
    async with rig_of() as rig:
        rig.cycle.stop()
        rig.add("a")
        await rig.rest()
        assert rig.engine.batches == []
        assert rig.queue.statistics().active == 1


@pytest.mark.parametrize("batches", [1, 2])
async def test_idle_it_calls_nobody(batches: int) -> None:
    async with rig_of() as rig:
        for number in range(batches):
            rig.add(f"p{number}")
            await rig.rest()
        await rig.clock.advance(3600)
        await rig.rest()
        assert rig.engine.batches == [1] * batches
