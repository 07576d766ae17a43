"""Work before a bind: writes in order, then one loop that asks about all waiting pods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from kpolicy.cluster.writes.claim_state import ClaimChange, ClaimUser
from kpolicy.cluster.writes.claim_writer import ClaimNotWritten, ClaimOutcome, ClaimWritten
from kpolicy.cluster.writes.event_recorder import Reference
from kpolicy.cluster.writes.volume_writer import (
    BindVolume,
    NotWritten,
    ObjectVersion,
    SelectNode,
    VolumePatch,
    WriteFenced,
    WriteOutcome,
    Written,
)
from kpolicy.engine import (
    ClaimWork,
    Outcome,
    PreBindWrite,
    Verdict,
    VolumeProgress,
    VolumeState,
    VolumeWork,
)
from kpolicy.scheduler.binding.device_claims import DeviceClaims
from kpolicy.scheduler.binding.pre_binds import PreBinds
from kpolicy.scheduler.binding.reservations import DELETED, BindEnd, Reservation
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queued_pod import Attempt
from tests.manual_clock import ManualClock
from tests.unit.scheduler.faulty_engine import VolumesEngine, decided
from tests.unit.scheduler.pods import pending
from tests.unit.scheduler.runtimes import runtime_of

TAKES = VolumeWork("data", "u-data", "5", "pv", "u-pv", "7", True, True, 600)
MAKES = VolumeWork("logs", "u-logs", "6", "", "", "", True, False, 600)
WAITS = ClaimWork("nic", "u-nic", '{"devices": {}}', "", "", False, True, 600)
HOLDS = ClaimWork("gpu", "u-gpu", '{"devices": {}}', "", "", True, False, 600)
MAKES_CLAIM = ClaimWork("", "", '{"devices": {}}', '[{"name": "r"}]', "[]", True, True, 600)
BOUND = VolumeProgress(VolumeState.BOUND, "")


class ScriptedWriter:
    """Answers at once unless a test holds it up."""

    def __init__(self) -> None:
        self.patches: list[VolumePatch] = []
        self.outcomes: list[WriteOutcome] = []
        self.answers = asyncio.Event()
        self.answers.set()
        self.answered = 0

    async def write(self, patch: VolumePatch) -> WriteOutcome:
        self.patches.append(patch)
        await self.answers.wait()
        self.answered += 1
        return self.outcomes.pop(0) if self.outcomes else Written("9")


class ScriptedClaims:
    """Writes claims, and waits for their devices, as a test says."""

    def __init__(self) -> None:
        self.changes: list[ClaimChange] = []
        self.outcome: ClaimOutcome = ClaimWritten({"metadata": {"name": "made"}})
        # With how many writes there were before.
        self.waited: list[tuple[str, int]] = []
        self.taken_back: list[str] = []
        self.problem = ""

    async def write(self, user: ClaimUser, change: ClaimChange) -> ClaimOutcome:
        self.changes.append(change)
        return self.outcome

    async def ready(self, user: ClaimUser, name: str, seconds_max: int) -> str:
        self.waited.append((name, len(self.changes)))
        return self.problem

    async def take_back(self, user: ClaimUser, name: str) -> None:
        self.taken_back.append(name)


class RecordedEvents:
    def __init__(self) -> None:
        self.waiting: list[tuple[Reference, str]] = []

    def waiting_for_devices(self, pod: Reference, node: str, controller: str) -> None:
        self.waiting.append((pod, node))


class ScriptedNominations:
    """`told` is done at once unless a test holds it up."""

    def __init__(self, writer: ScriptedWriter) -> None:
        self._writer = writer
        self.nominated: list[tuple[str, str, int]] = []
        self.held = asyncio.Event()
        self.held.set()

    async def tell(self, pod: Attempt, node: str) -> None:
        self.nominated.append((pod.uid, node, len(self._writer.patches)))
        await self.held.wait()


def attempt_of(uid: str) -> Attempt:
    queue = Queue()
    queue.changed(pending(uid, name=uid), 0)
    (pod,) = queue.pop_batch(1, 0)
    return pod


@dataclass
class Rig:
    pre_binds: PreBinds
    engine: VolumesEngine
    writer: ScriptedWriter
    claims: ScriptedClaims
    nominations: ScriptedNominations
    events: RecordedEvents
    clock: ManualClock

    def begin(
        self,
        uid: str = "a",
        writes: Sequence[PreBindWrite] = (TAKES, MAKES),
        reservation: Reservation | None = None,
    ) -> asyncio.Task[BindEnd | None]:
        decision = decided(Verdict.PLACED, uid, uid, "n1", writes=writes)
        begun = reservation or Reservation(uid, "n1")
        return asyncio.create_task(self.pre_binds.pre_bind(attempt_of(uid), decision, begun))

    async def rest(self, seconds: float = 0.1) -> None:
        await self.clock.advance(seconds)
        for _ in range(20):
            await self.clock.settle()
            await asyncio.sleep(0.001)


@asynccontextmanager
async def rig_of() -> AsyncIterator[Rig]:
    clock, engine, writer = ManualClock(), VolumesEngine(), ScriptedWriter()
    thread = runtime_of(engine, clock).engine
    nominations = ScriptedNominations(writer)
    claims = ScriptedClaims()
    events = RecordedEvents()
    devices = DeviceClaims(claims, events)  # type: ignore[arg-type]
    pre_binds = PreBinds(writer, devices, nominations, thread, clock)  # type: ignore[arg-type]
    running = asyncio.create_task(pre_binds.run())
    yield Rig(pre_binds, engine, writer, claims, nominations, events, clock)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    thread.stop()


def failed(why: str) -> BindEnd:
    text = f'running PreBind plugin "VolumeBinding": {why}'
    return BindEnd(Outcome.FAILED, retry=True, message=text)


async def test_the_pod_may_be_bound_when_all_its_claims_are() -> None:
    async with rig_of() as rig:
        end = rig.begin()
        await rig.rest()
        claim = ObjectVersion("data", "u-data", "5")
        assert rig.writer.patches == [
            BindVolume(ObjectVersion("pv", "u-pv", "7"), "default", claim, mark=True),
            SelectNode("default", ObjectVersion("logs", "u-logs", "6"), "n1"),
        ]
        rig.engine.progress["data"] = BOUND
        rig.pre_binds.resource_changed("persistentvolumeclaims")
        await rig.rest()
        assert not end.done()
        rig.engine.progress["logs"] = BOUND
        rig.pre_binds.resource_changed("persistentvolumeclaims")
        await rig.rest()
        assert await end is None


async def test_its_node_is_reported_before_anything_is_written() -> None:
    async with rig_of() as rig:
        rig.nominations.held.clear()
        rig.engine.progress = {"data": BOUND, "logs": BOUND}
        end = rig.begin()
        await rig.rest()
        assert (rig.nominations.nominated, rig.writer.patches) == ([("a", "n1", 0)], [])
        rig.nominations.held.set()
        await rig.rest()
        assert await end is None
        assert len(rig.writer.patches) == 2


async def test_what_says_so_already_is_not_written_but_waited_for() -> None:
    async with rig_of() as rig:
        rig.engine.progress["data"] = BOUND
        end = rig.begin(writes=[TAKES._replace(to_write=False)])
        await rig.rest()
        assert (await end, rig.writer.patches) == (None, [])


@pytest.mark.parametrize(
    ("outcome", "end"),
    [
        (NotWritten("the object has been modified"), failed("the object has been modified")),
        (WriteFenced(), BindEnd(Outcome.FAILED, retry=True)),
    ],
)
async def test_nothing_more_is_written_after_a_write_that_failed(
    outcome: WriteOutcome, end: BindEnd
) -> None:
    async with rig_of() as rig:
        rig.writer.outcomes = [outcome]
        assert await rig.begin() == end
        assert len(rig.writer.patches) == 1
        assert rig.engine.asked == []


async def test_a_claim_that_fails_says_why() -> None:
    async with rig_of() as rig:
        why = 'provisioning failed for PVC "logs"'
        rig.engine.progress = {"data": BOUND, "logs": VolumeProgress(VolumeState.FAILED, why)}
        end = rig.begin()
        await rig.rest()
        assert await end == failed(f"binding volumes: {why}")


async def test_a_withdrawal_ends_the_waiting_but_no_write() -> None:
    """A write that is cut off may still reach the API server, after its devices were given to
    another pod."""
    async with rig_of() as rig:
        rig.writer.answers.clear()
        written, waiting = Reservation("a", "n1"), Reservation("b", "n1")
        end = rig.begin(reservation=written)
        await rig.rest()
        written.withdraw(DELETED)
        await rig.rest()
        assert (end.done(), len(rig.writer.patches)) == (False, 1)
        rig.writer.answers.set()
        assert await end == DELETED
        assert (rig.writer.answered, len(rig.writer.patches)) == (1, 1), "no second write"
        end = rig.begin("b", reservation=waiting)
        await rig.rest()
        assert not end.done()
        waiting.withdraw(DELETED)
        assert await end == DELETED


async def test_a_pod_that_goes_is_let_go_in_silence() -> None:
    async with rig_of() as rig:
        rig.engine.progress["data"] = VolumeProgress(VolumeState.GONE, "")
        end = rig.begin()
        await rig.rest()
        assert await end == BindEnd(Outcome.FAILED)


async def test_a_pod_waits_as_long_as_its_policy_says() -> None:
    async with rig_of() as rig:
        end = rig.begin(writes=[TAKES._replace(seconds_max=30)])
        await rig.rest()
        await rig.rest(29)
        assert not end.done()
        await rig.rest(2)
        assert await end == failed("binding volumes: context deadline exceeded")
        asked = len(rig.engine.asked)
        await rig.rest(10)
        assert len(rig.engine.asked) <= asked + 1, "no task waits any more"


async def test_all_who_wait_are_asked_about_in_one_call_now_and_then() -> None:
    async with rig_of() as rig:
        ends = [rig.begin(f"p{number}") for number in range(50)]
        await rig.rest()
        before = len(rig.engine.asked)
        await rig.rest(0.9)
        await rig.rest(0.9)
        assert 1 <= len(rig.engine.asked) - before <= 4, "once a second where nothing is heard"
        assert len(rig.engine.asked[-1]) == 100
        rig.pre_binds.resource_changed("configmaps")
        rig.engine.progress = {"data": BOUND, "logs": BOUND}
        rig.pre_binds.resource_changed("persistentvolumes")
        await rig.rest()
        assert [await end for end in ends] == [None] * 50


async def test_claims_on_devices_are_written_and_waited_for() -> None:
    async with rig_of() as rig:
        assert await rig.begin(writes=(WAITS, HOLDS, MAKES_CLAIM)) is None
        assert rig.events.waiting == [(Reference("default", "a", "a"), "n1")]
        assert [change.name for change in rig.claims.changes] == ["gpu", ""]
        assert rig.claims.changes[1].requests == [{"name": "r"}]
        assert rig.claims.waited == [("nic", 2), ("made", 2)], "all are written before"


@pytest.mark.parametrize("is_waiting", [False, True])
async def test_a_claim_that_cannot_be_had_fails_the_bind(*, is_waiting: bool) -> None:
    async with rig_of() as rig:
        if is_waiting:
            rig.claims.problem = "no"
        else:
            rig.claims.outcome = ClaimNotWritten("no")
        message = 'running PreBind plugin "DynamicResources": no'
        end = await rig.begin(writes=(MAKES_CLAIM,))
        assert end == BindEnd(Outcome.FAILED, retry=True, message=message)


async def test_claims_of_a_pod_that_was_not_bound_are_taken_back() -> None:
    """One that was made for extended resources has no name yet; it is given up with the next
    attempt."""
    async with rig_of() as rig:
        decision = decided(Verdict.PLACED, "p", node="n", writes=[MAKES, HOLDS, MAKES_CLAIM])
        await rig.pre_binds.take_back(attempt_of("p"), decision)
        assert rig.claims.taken_back == ["gpu"]
