"""Binds under way: their limit, the end of each reservation, and binds whose result is not known
yet.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from kpolicy.clock import NO_PULSE, Pulse, first_of
from kpolicy.cluster.request_failure import TimedOut
from kpolicy.cluster.writes.binder import (
    AlreadyOurs,
    Binding,
    BindOutcome,
    Bound,
    Conflict,
    Fenced,
    Gone,
    Overloaded,
    Refused,
    SettledOutcome,
    TakenByOther,
    Unknown,
)
from kpolicy.engine import (
    BoundAnnotation,
    Decision,
    Engine,
    Outcome,
    PreBindWrite,
    Verdict,
    VolumeWork,
)
from kpolicy.scheduler.binding.binds import Binds, BindSteps
from kpolicy.scheduler.binding.reservations import BindEnd, Reservation, Reservations, bind_end
from kpolicy.scheduler.loop.pod_try import Basis, Placement
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import EngineSink
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.loop.reporter import Reporter
from tests.manual_clock import ManualClock
from tests.unit.scheduler.faulty_engine import decided
from tests.unit.scheduler.pods import pending
from tests.unit.scheduler.runtimes import feed_of, runtime_of

LOST = Unknown(TimedOut(5.0), 1)


@pytest.mark.parametrize(
    ("outcome", "end"),
    [
        (Bound(), BindEnd(Outcome.BOUND)),
        (AlreadyOurs(), BindEnd(Outcome.BOUND)),
        (TakenByOther("n2"), BindEnd(Outcome.FAILED)),
        (Gone(), BindEnd(Outcome.GONE)),
        (Fenced(), BindEnd(Outcome.FAILED, retry=True)),
        (Conflict("gates"), BindEnd(Outcome.FAILED, True, "binding to n1 failed: gates")),
        (Refused(403, "no"), BindEnd(Outcome.FAILED, True, "binding to n1 failed: 403 no")),
        (Overloaded(1.0, "busy"), BindEnd(Outcome.FAILED, True, "binding to n1 failed: busy")),
    ],
)
def test_every_outcome_that_is_known_ends_the_reservation(
    outcome: SettledOutcome, end: BindEnd
) -> None:
    assert bind_end(outcome, "n1") == end


class ScriptedBinder:
    def __init__(self, *outcomes: BindOutcome) -> None:
        self.outcomes = list(outcomes)
        self.bindings: list[Binding] = []
        self.under_way = 0
        self.highest = 0
        self.answer = asyncio.Event()
        self.doubts: list[bool] = []  # whether it might be sent again, for each time it was asked

    async def bind(
        self, binding: Binding, traceparent: str | None = None, *, pulse: Pulse
    ) -> BindOutcome:
        pulse.beat()
        self.bindings.append(binding)
        self.under_way += 1
        self.highest = max(self.highest, self.under_way)
        await self.answer.wait()
        self.under_way -= 1
        return self.outcomes.pop(0) if self.outcomes else Bound()

    async def settle(
        self,
        binding: Binding,
        doubt: Unknown,
        traceparent: str | None = None,
        *,
        may_send: bool = True,
    ) -> BindOutcome:
        self.doubts.append(may_send)
        return await self.bind(binding, traceparent, pulse=NO_PULSE)

    def is_by_extender(self, uid: str) -> bool:
        return False


class ScriptedPreBinder:
    """Lets pods wait until each is given its end."""

    def __init__(self) -> None:
        self.ends: dict[str, asyncio.Future[BindEnd | None]] = {}
        self.taken_back: list[str] = []

    async def pre_bind(
        self, pod: Attempt, decision: Decision, reservation: Reservation
    ) -> BindEnd | None:
        end: asyncio.Future[BindEnd | None] = asyncio.get_running_loop().create_future()
        self.ends[pod.uid] = end

        async def ended() -> BindEnd | None:
            return await end

        return await first_of(ended(), reservation.wait_withdrawn())

    async def take_back(self, pod: Attempt, decision: Decision) -> None:
        self.taken_back.append(pod.uid)


class Silent:
    """Takes the place of the event recorder and of the status writer, and keeps what was told."""

    def __init__(self) -> None:
        self.reports: list[tuple[Any, ...]] = []

    def scheduled(self, *words: Any, **_: Any) -> None:
        self.reports.append(words)

    failed_scheduling = set = forget = scheduled


class CountingEngine(Engine):
    """Keeps the outcomes in the order in which they were told."""

    def __init__(self) -> None:
        super().__init__(0)
        self.settled: list[Sequence[tuple[str, int]]] = []

    def settle(self, outcomes: Sequence[tuple[str, int]], now_ns: int) -> list[Any]:
        self.settled.append(outcomes)
        return super().settle(outcomes, now_ns)


@dataclass
class Rig:
    binds: Binds
    reservations: Reservations
    binder: ScriptedBinder
    pre_binder: ScriptedPreBinder
    engine: CountingEngine
    queue: Queue
    clock: ManualClock
    events: Silent
    group: asyncio.TaskGroup
    reporter: Reporter
    sink: EngineSink
    status: Silent

    def start(self, *uids: str, writes: Sequence[PreBindWrite] = ()) -> None:
        for uid in uids:
            self.queue.changed(pending(uid, name=uid), self.clock.monotonic_ns())
        for pod in self.queue.pop_batch(1000, self.clock.monotonic_ns()):
            decision = decided(Verdict.PLACED, pod.uid, pod.name, "n1", writes=writes)
            placement = Placement(pod, decision, 0)
            basis = Basis("sha256:1", "77", 0, 0)
            self.binds.start(placement, basis, self.reporter.decided(placement, basis), self.group)

    def settled(self) -> dict[str, int]:
        flat = [outcome for batch in self.engine.settled for outcome in batch]
        assert len(dict(flat)) == len(flat), "a reservation ended twice"
        return dict(flat)

    async def rest(self) -> None:
        """The loop and the engine's thread come to rest."""
        for milliseconds in (0, 5):  # good news lingers for a moment
            await self.clock.advance(milliseconds / 1000)
            for _ in range(20):
                await self.clock.settle()
                await asyncio.sleep(0.001)


@asynccontextmanager
async def rig_of(*outcomes: BindOutcome, window: int = 64) -> AsyncIterator[Rig]:
    clock, engine, queue, events = ManualClock(), CountingEngine(), Queue(), Silent()
    status = Silent()
    runtime, feed = runtime_of(engine, clock), feed_of(clock, queue)
    reporter = Reporter(
        runtime,
        queue,
        events=events,  # type: ignore[arg-type]
        status=status,  # type: ignore[arg-type]
        run_id="run",
        policies=tuple,
    )
    reservations = Reservations(window, feed.signals.work_came)
    sink = EngineSink(runtime, feed, reservations, on_heard=lambda resource: None)
    binder = ScriptedBinder(*outcomes)
    binder.answer.set()
    pre_binder = ScriptedPreBinder()
    steps = BindSteps(pre_binder, binder)  # type: ignore[arg-type]
    binds = Binds(runtime, feed, reservations, reporter, steps)
    async with asyncio.TaskGroup() as group:
        settling = group.create_task(binds.run())
        yield Rig(
            binds,
            reservations,
            binder,
            pre_binder,
            engine,
            queue,
            clock,
            events,
            group,
            reporter,
            sink,
            status,
        )
        assert await binds.drain(5)
        assert reservations.under_way == 0
        settling.cancel()
    runtime.engine.stop()


async def test_what_a_decision_writes_with_the_bind_needs_no_write_before() -> None:
    async with rig_of() as rig:
        rig.start("a", writes=[BoundAnnotation("alibabacloud.com/gpu-index", "0-2")])
        await rig.rest()
        (binding,) = rig.binder.bindings
        assert binding.annotations["alibabacloud.com/gpu-index"] == "0-2"
        assert rig.pre_binder.ends == {}
        assert rig.settled() == {"a": Outcome.BOUND}


async def test_a_bind_carries_what_the_decision_rests_on() -> None:
    async with rig_of() as rig:
        rig.start("a")
        await rig.rest()
        assert rig.binder.bindings == [
            Binding(
                "default",
                "a",
                "a",
                "n1",
                {
                    "kpolicy.dev/policy-hash": "sha256:1",
                    "kpolicy.dev/snapshot-rv": "77",
                    "kpolicy.dev/decision-id": "run-1",
                },
            )
        ]
        assert rig.settled() == {"a": 0}


async def test_the_window_bounds_what_is_under_way_and_room_what_is_assumed() -> None:
    async with rig_of(window=4) as rig:
        rig.binder.answer.clear()
        before = rig.reservations.room
        rig.start("p0", "p1", "p2")
        await rig.rest()
        assert not rig.reservations.is_full()
        rig.start(*(f"p{number}" for number in range(3, 30)))
        await rig.rest()
        assert (rig.binder.highest, rig.reservations.in_flight) == (4, 4)
        assert rig.reservations.is_full()
        assert rig.reservations.room == before - 30
        rig.binder.answer.set()
        await rig.rest()
        assert rig.binder.highest == 4
        assert not rig.reservations.is_full()
        assert rig.reservations.room == before
        assert rig.settled() == {f"p{number}": 0 for number in range(30)}


async def test_outcomes_gather_into_few_calls() -> None:
    async with rig_of() as rig:
        rig.start(*(f"p{number}" for number in range(60)))
        await rig.rest()
        assert len(rig.settled()) == 60
        assert len(rig.engine.settled) < 20


async def test_a_pod_that_failed_comes_back_after_its_reservation_ended() -> None:
    async with rig_of(Conflict("it has gates")) as rig:
        rig.start("a")
        await rig.rest()
        assert rig.settled() == {"a": 1}
        pod = rig.queue.get("a")
        assert pod is not None
        assert pod.errors == 1
        assert any("binding to n1 failed: it has gates" in words for words in rig.events.reports)


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_bind_that_fails_writes_a_status_only_while_the_pod_is_there(
    is_deleted: bool,
) -> None:
    async with rig_of(Conflict("it has gates")) as rig:
        rig.binder.answer.clear()
        rig.start("a")
        await rig.rest()
        if is_deleted:
            rig.queue.gone("a")
        rig.binder.answer.set()
        await rig.rest()
        assert len(rig.status.reports) == (0 if is_deleted else 1)


@pytest.mark.parametrize("outcome", [Gone(), TakenByOther("n2")])
async def test_a_pod_that_is_not_ours_any_more_is_not_told_about(outcome: BindOutcome) -> None:
    async with rig_of(outcome) as rig:
        rig.start("a")
        await rig.rest()
        assert rig.events.reports == []
        assert rig.queue.statistics().backoff == 0
        # A pod that is gone is so for the engine too, which tells nothing of its watch event; one
        # that somebody else bound leaves the queue with its event.
        assert (rig.queue.get("a") is None) is isinstance(outcome, Gone)


async def test_an_unknown_outcome_keeps_the_reservation_until_somebody_knows() -> None:
    async with rig_of(LOST, LOST, LOST, AlreadyOurs()) as rig:
        rig.start("a")
        await rig.rest()
        assert rig.settled() == {}
        waits = []
        for _ in range(3):
            asked, waited = len(rig.binder.bindings), 0
            while len(rig.binder.bindings) == asked:
                await rig.clock.advance(1)
                await rig.rest()
                waited += 1
            waits.append(waited)
        assert waits == [1, 2, 4]
        assert rig.settled() == {"a": 0}


async def test_binds_in_doubt_hold_up_no_other_pod() -> None:
    async with rig_of(LOST, LOST, window=2) as rig:
        room = rig.reservations.room
        rig.start("a", "b")
        await rig.rest()
        assert (rig.reservations.in_doubt, rig.reservations.in_flight, rig.reservations.room) == (
            2,
            0,
            room,
        )
        rig.start("c", "d", "e")
        await rig.rest()
        assert rig.settled() == dict.fromkeys("cde", 0)
        await rig.clock.advance(1)
        await rig.rest()
        assert rig.settled() == dict.fromkeys("abcde", 0)
        assert rig.reservations.in_doubt == 0


VOLUME = VolumeWork("data", "u", "1", "", "", "", to_write=True, to_mark=False, seconds_max=600)


async def test_pods_that_wait_for_volumes_take_no_place_in_the_window() -> None:
    async with rig_of(window=2) as rig:
        room = rig.reservations.room
        waiting = [f"w{number}" for number in range(300)]
        rig.start(*waiting, writes=[VOLUME])
        await rig.rest()
        assert (rig.reservations.awaiting_volumes, rig.reservations.room) == (300, room)
        rig.start("plain")
        await rig.rest()
        assert rig.settled() == {"plain": 0}
        assert [binding.name for binding in rig.binder.bindings] == ["plain"]
        rig.binder.answer.clear()
        for uid in waiting:
            rig.pre_binder.ends[uid].set_result(None)
        await rig.rest()
        assert (rig.binder.highest, rig.reservations.room) == (2, room - len(waiting))
        rig.binder.answer.set()
        await rig.rest()
        assert rig.binder.highest == 2
        assert (rig.reservations.awaiting_volumes, rig.reservations.room) == (0, room)
        assert rig.settled() == dict.fromkeys([*waiting, "plain"], 0)


async def test_volumes_that_fail_end_the_reservation_without_a_bind() -> None:
    async with rig_of() as rig:
        rig.start("a", writes=[VOLUME])
        await rig.rest()
        rig.pre_binder.ends["a"].set_result(BindEnd(Outcome.FAILED, True, "no volume"))
        await rig.rest()
        assert (rig.binder.bindings, rig.settled()) == ([], {"a": 1})
        assert rig.pre_binder.taken_back == ["a"]
        assert any("no volume" in words for words in rig.events.reports)
        pod = rig.queue.get("a")
        assert pod is not None
        assert pod.errors == 1


async def test_a_pod_that_waits_for_its_volumes_can_be_withdrawn() -> None:
    """Nobody deletes it: its room is free, what waited for its volumes ends, and it is queued."""
    async with rig_of() as rig:
        rig.start("a", writes=[VOLUME])
        await rig.rest()
        assert rig.reservations.withdraw("a")
        await rig.rest()
        assert rig.pre_binder.ends["a"].cancelled()
        assert rig.settled() == {"a": Outcome.FAILED}
        assert (rig.reservations.awaiting_volumes, rig.reservations.under_way) == (0, 0)
        assert rig.binder.bindings == []
        assert rig.queue.statistics().backoff == 1
        assert not rig.reservations.withdraw("a")


async def test_a_pod_whose_volumes_are_bound_can_be_withdrawn_until_its_bind_is_sent() -> None:
    async with rig_of(window=1) as rig:
        rig.binder.answer.clear()
        rig.start("sent")
        await rig.rest()
        rig.start("a", writes=[VOLUME])
        await rig.rest()
        rig.pre_binder.ends["a"].set_result(None)
        await rig.rest()
        assert not rig.reservations.withdraw("sent")
        assert rig.reservations.withdraw("a")
        rig.binder.answer.set()
        await rig.rest()
        assert rig.settled() == {"sent": Outcome.BOUND, "a": Outcome.FAILED}
        assert [binding.name for binding in rig.binder.bindings] == ["sent"]


def node_line(change: str, name: str) -> bytes:
    metadata = {"name": name, "uid": name, "resourceVersion": "9"}
    node = {"kind": "Node", "metadata": metadata, "status": {"allocatable": {"pods": "9"}}}
    return json.dumps({"type": change, "object": node}).encode() + b"\n"


async def test_a_bind_is_not_sent_to_a_node_whose_deletion_was_heard_of() -> None:
    async with rig_of(window=1) as rig:
        await rig.sink.lines("nodes", node_line("ADDED", "n1") + node_line("ADDED", "n2"))
        rig.binder.answer.clear()
        rig.start("sent", "a")
        rig.start("with-volumes", writes=[VOLUME])
        await rig.rest()
        await rig.sink.lines("nodes", node_line("DELETED", "n2"))
        await rig.rest()
        assert rig.settled() == {}
        await rig.sink.lines("nodes", node_line("DELETED", "n1"))
        await rig.rest()
        rig.binder.answer.set()
        await rig.rest()
        assert [binding.name for binding in rig.binder.bindings] == ["sent"]
        failed = Outcome.FAILED
        assert rig.settled() == {"sent": Outcome.BOUND, "a": failed, "with-volumes": failed}
        message = "node n1 was deleted before the bind"
        assert len([words for words in rig.events.reports if message in words]) == 2
        assert rig.queue.statistics().backoff == 2


async def test_a_node_that_a_new_list_does_not_name_was_deleted() -> None:
    async with rig_of(window=1) as rig:
        await rig.sink.lines("nodes", node_line("ADDED", "n1"))
        rig.binder.answer.clear()
        rig.start("sent", "a")
        await rig.rest()
        await rig.sink.list_begin("nodes")
        await rig.sink.list_end("nodes", "10")
        rig.binder.answer.set()
        await rig.rest()
        assert rig.settled() == {"sent": Outcome.BOUND, "a": Outcome.FAILED}


async def test_a_bind_in_doubt_is_not_sent_again_to_a_node_that_is_gone() -> None:
    async with rig_of(LOST, LOST, AlreadyOurs()) as rig:
        await rig.sink.lines("nodes", node_line("ADDED", "n1"))
        rig.start("a")
        await rig.rest()
        await rig.clock.advance(1)
        await rig.rest()
        await rig.sink.lines("nodes", node_line("DELETED", "n1"))
        await rig.clock.advance(2)
        await rig.rest()
        assert rig.binder.doubts == [True, False]
        assert rig.settled() == {"a": Outcome.BOUND}


async def test_the_way_out_does_not_wait_for_volumes() -> None:
    async with rig_of() as rig:
        rig.start("a", writes=[VOLUME])
        await rig.rest()
        assert await rig.binds.drain(5)
        assert rig.reservations.under_way == 1
        rig.pre_binder.ends["a"].set_result(None)
        await rig.rest()


async def test_draining_gives_up_in_time() -> None:
    async with rig_of() as rig:
        rig.binder.answer.clear()
        rig.start("a")
        draining = asyncio.create_task(rig.binds.drain(5))
        await rig.clock.advance(4.9)
        assert not draining.done()
        await rig.clock.advance(0.2)
        assert await draining is False
        rig.binder.answer.set()
        await rig.rest()
