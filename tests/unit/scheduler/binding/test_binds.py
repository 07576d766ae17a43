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
from kpolicy.engine import Decision, Engine, Outcome, Verdict, VolumeWork
from kpolicy.scheduler.binding.binds import Binds
from kpolicy.scheduler.binding.reservations import BindEnd, Reservations, bind_end
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

    async def bind(self, binding: Binding, traceparent: str | None = None) -> BindOutcome:
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
        return await self.bind(binding, traceparent)

    def is_by_extender(self, uid: str) -> bool:
        return False


class ScriptedPreBinder:
    """Lets pods wait until each is given its end."""

    def __init__(self) -> None:
        self.ends: dict[str, asyncio.Future[BindEnd | None]] = {}

    async def pre_bind(self, pod: Attempt, decision: Decision) -> BindEnd | None:
        self.ends[pod.uid] = asyncio.get_running_loop().create_future()
        return await self.ends[pod.uid]


class Silent:
    """Takes the place of the event recorder and of the status writer, and keeps what was told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def scheduled(self, *words: Any, **_: Any) -> None:
        self.told.append(words)

    failed_scheduling = set = forget = scheduled


class CountingEngine(Engine):
    """Keeps the outcomes in the order in which they were told."""

    def __init__(self) -> None:
        super().__init__(0)
        self.told: list[Sequence[tuple[str, int]]] = []

    def settle(self, outcomes: Sequence[tuple[str, int]], now_ns: int) -> list[Any]:
        self.told.append(outcomes)
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

    def start(self, *uids: str, volumes: Sequence[VolumeWork] = ()) -> None:
        for uid in uids:
            self.queue.changed(pending(uid, name=uid), self.clock.monotonic_ns())
        for pod in self.queue.pop_batch(1000, self.clock.monotonic_ns()):
            decision = decided(Verdict.PLACED, pod.uid, pod.name, "n1", volumes=volumes)
            placement = Placement(pod, decision, 0)
            basis = Basis("sha256:1", "77", 0, 0)
            self.binds.start(placement, basis, self.reporter.decided(placement, basis), self.group)

    def settled(self) -> dict[str, int]:
        flat = [outcome for batch in self.engine.told for outcome in batch]
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
async def rig(*outcomes: BindOutcome, window: int = 64) -> AsyncIterator[Rig]:
    clock, engine, queue, events = ManualClock(), CountingEngine(), Queue(), Silent()
    runtime, feed = runtime_of(engine, clock), feed_of(clock, queue)
    reporter = Reporter(
        runtime,
        queue,
        events=events,  # type: ignore[arg-type]
        status=Silent(),  # type: ignore[arg-type]
        run_id="run",
        policies=tuple,
    )
    reservations = Reservations(window, feed.signals.work_came)
    sink = EngineSink(runtime, feed, reservations, on_heard=lambda resource: None)
    binder = ScriptedBinder(*outcomes)
    binder.answer.set()
    pre_binder = ScriptedPreBinder()
    binds = Binds(
        runtime,
        feed,
        reservations,
        reporter,
        binder=binder,  # type: ignore[arg-type]
        pre_binder=pre_binder,  # type: ignore[arg-type]
    )
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
        )
        assert await binds.drain(5)
        assert reservations.under_way == 0
        settling.cancel()
    runtime.engine.stop()


async def test_a_bind_carries_what_the_decision_rests_on() -> None:
    async with rig() as one:
        one.start("a")
        await one.rest()
        assert one.binder.bindings == [
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
        assert one.settled() == {"a": 0}


async def test_the_window_bounds_what_is_under_way_and_room_what_is_assumed() -> None:
    async with rig(window=4) as one:
        one.binder.answer.clear()
        before = one.reservations.room
        one.start("p0", "p1", "p2")
        await one.rest()
        assert not one.reservations.is_full()
        one.start(*(f"p{number}" for number in range(3, 30)))
        await one.rest()
        assert (one.binder.highest, one.reservations.in_flight) == (4, 4)
        assert one.reservations.is_full()
        assert one.reservations.room == before - 30
        one.binder.answer.set()
        await one.rest()
        assert one.binder.highest == 4
        assert not one.reservations.is_full()
        assert one.reservations.room == before
        assert one.settled() == {f"p{number}": 0 for number in range(30)}


async def test_outcomes_gather_into_few_calls() -> None:
    async with rig() as one:
        one.start(*(f"p{number}" for number in range(60)))
        await one.rest()
        assert len(one.settled()) == 60
        assert len(one.engine.told) < 20


async def test_a_pod_that_failed_comes_back_after_its_reservation_ended() -> None:
    async with rig(Conflict("it has gates")) as one:
        one.start("a")
        await one.rest()
        assert one.settled() == {"a": 1}
        pod = one.queue.get("a")
        assert pod is not None
        assert pod.errors == 1
        assert any("binding to n1 failed: it has gates" in words for words in one.events.told)


@pytest.mark.parametrize("outcome", [Gone(), TakenByOther("n2")])
async def test_a_pod_that_is_not_ours_any_more_is_not_told_about(outcome: BindOutcome) -> None:
    async with rig(outcome) as one:
        one.start("a")
        await one.rest()
        assert one.events.told == []
        assert one.queue.statistics().backoff == 0
        # A pod that is gone is so for the engine too, which tells nothing of its watch event; one
        # that somebody else bound leaves the queue with its event.
        assert (one.queue.get("a") is None) is isinstance(outcome, Gone)


async def test_an_unknown_outcome_keeps_the_reservation_until_somebody_knows() -> None:
    async with rig(LOST, LOST, LOST, AlreadyOurs()) as one:
        one.start("a")
        await one.rest()
        assert one.settled() == {}
        waits = []
        for _ in range(3):
            asked, waited = len(one.binder.bindings), 0
            while len(one.binder.bindings) == asked:
                await one.clock.advance(1)
                await one.rest()
                waited += 1
            waits.append(waited)
        assert waits == [1, 2, 4]
        assert one.settled() == {"a": 0}


async def test_binds_in_doubt_hold_up_no_other_pod() -> None:
    async with rig(LOST, LOST, window=2) as one:
        room = one.reservations.room
        one.start("a", "b")
        await one.rest()
        assert (one.reservations.in_doubt, one.reservations.in_flight, one.reservations.room) == (
            2,
            0,
            room,
        )
        one.start("c", "d", "e")
        await one.rest()
        assert one.settled() == dict.fromkeys("cde", 0)
        await one.clock.advance(1)
        await one.rest()
        assert one.settled() == dict.fromkeys("abcde", 0)
        assert one.reservations.in_doubt == 0


VOLUME = VolumeWork("data", "u", "1", "", "", "", to_write=True, to_mark=False, seconds_max=600)


async def test_pods_that_wait_for_volumes_take_no_place_in_the_window() -> None:
    async with rig(window=2) as one:
        room = one.reservations.room
        waiting = [f"w{number}" for number in range(300)]
        one.start(*waiting, volumes=[VOLUME])
        await one.rest()
        assert (one.reservations.awaiting_volumes, one.reservations.room) == (300, room)
        one.start("plain")
        await one.rest()
        assert one.settled() == {"plain": 0}
        assert [binding.name for binding in one.binder.bindings] == ["plain"]
        one.binder.answer.clear()
        for uid in waiting:
            one.pre_binder.ends[uid].set_result(None)
        await one.rest()
        assert (one.binder.highest, one.reservations.room) == (2, room - len(waiting))
        one.binder.answer.set()
        await one.rest()
        assert one.binder.highest == 2
        assert (one.reservations.awaiting_volumes, one.reservations.room) == (0, room)
        assert one.settled() == dict.fromkeys([*waiting, "plain"], 0)


async def test_volumes_that_fail_end_the_reservation_without_a_bind() -> None:
    async with rig() as one:
        one.start("a", volumes=[VOLUME])
        await one.rest()
        one.pre_binder.ends["a"].set_result(BindEnd(Outcome.FAILED, True, "no volume"))
        await one.rest()
        assert (one.binder.bindings, one.settled()) == ([], {"a": 1})
        assert any("no volume" in words for words in one.events.told)
        pod = one.queue.get("a")
        assert pod is not None
        assert pod.errors == 1


async def test_a_pod_that_waits_for_its_volumes_can_be_withdrawn() -> None:
    """Nobody deletes it: its room is free, what waited for its volumes ends, and it is queued."""
    async with rig() as one:
        one.start("a", volumes=[VOLUME])
        await one.rest()
        assert one.reservations.withdraw("a")
        await one.rest()
        assert one.pre_binder.ends["a"].cancelled()
        assert one.settled() == {"a": Outcome.FAILED}
        assert (one.reservations.awaiting_volumes, one.reservations.under_way) == (0, 0)
        assert one.binder.bindings == []
        assert one.queue.statistics().backoff == 1
        assert not one.reservations.withdraw("a")


async def test_a_pod_whose_volumes_are_bound_can_be_withdrawn_until_its_bind_is_sent() -> None:
    async with rig(window=1) as one:
        one.binder.answer.clear()
        one.start("sent")
        await one.rest()
        one.start("a", volumes=[VOLUME])
        await one.rest()
        one.pre_binder.ends["a"].set_result(None)
        await one.rest()
        assert not one.reservations.withdraw("sent")
        assert one.reservations.withdraw("a")
        one.binder.answer.set()
        await one.rest()
        assert one.settled() == {"sent": Outcome.BOUND, "a": Outcome.FAILED}
        assert [binding.name for binding in one.binder.bindings] == ["sent"]


def node_line(change: str, name: str) -> bytes:
    metadata = {"name": name, "uid": name, "resourceVersion": "9"}
    node = {"kind": "Node", "metadata": metadata, "status": {"allocatable": {"pods": "9"}}}
    return json.dumps({"type": change, "object": node}).encode() + b"\n"


async def test_a_bind_is_not_sent_to_a_node_whose_deletion_was_heard_of() -> None:
    async with rig(window=1) as one:
        await one.sink.lines("nodes", node_line("ADDED", "n1") + node_line("ADDED", "n2"))
        one.binder.answer.clear()
        one.start("sent", "a")
        one.start("with-volumes", volumes=[VOLUME])
        await one.rest()
        await one.sink.lines("nodes", node_line("DELETED", "n2"))
        await one.rest()
        assert one.settled() == {}
        await one.sink.lines("nodes", node_line("DELETED", "n1"))
        await one.rest()
        one.binder.answer.set()
        await one.rest()
        assert [binding.name for binding in one.binder.bindings] == ["sent"]
        failed = Outcome.FAILED
        assert one.settled() == {"sent": Outcome.BOUND, "a": failed, "with-volumes": failed}
        told = "node n1 was deleted before the bind"
        assert len([words for words in one.events.told if told in words]) == 2
        assert one.queue.statistics().backoff == 2


async def test_a_node_that_a_new_list_does_not_name_was_deleted() -> None:
    async with rig(window=1) as one:
        await one.sink.lines("nodes", node_line("ADDED", "n1"))
        one.binder.answer.clear()
        one.start("sent", "a")
        await one.rest()
        await one.sink.list_begin("nodes")
        await one.sink.list_end("nodes", "10")
        one.binder.answer.set()
        await one.rest()
        assert one.settled() == {"sent": Outcome.BOUND, "a": Outcome.FAILED}


async def test_a_bind_in_doubt_is_not_sent_again_to_a_node_that_is_gone() -> None:
    async with rig(LOST, LOST, AlreadyOurs()) as one:
        await one.sink.lines("nodes", node_line("ADDED", "n1"))
        one.start("a")
        await one.rest()
        await one.clock.advance(1)
        await one.rest()
        await one.sink.lines("nodes", node_line("DELETED", "n1"))
        await one.clock.advance(2)
        await one.rest()
        assert one.binder.doubts == [True, False]
        assert one.settled() == {"a": Outcome.BOUND}


async def test_the_way_out_does_not_wait_for_volumes() -> None:
    async with rig() as one:
        one.start("a", volumes=[VOLUME])
        await one.rest()
        assert await one.binds.drain(5)
        assert one.reservations.under_way == 1
        one.pre_binder.ends["a"].set_result(None)
        await one.rest()


async def test_draining_gives_up_in_time() -> None:
    async with rig() as one:
        one.binder.answer.clear()
        one.start("a")
        draining = asyncio.create_task(one.binds.drain(5))
        await one.clock.advance(4.9)
        assert not draining.done()
        await one.clock.advance(0.2)
        assert await draining is False
        one.binder.answer.set()
        await one.rest()
