"""Work before a bind: writes in order, then one loop that asks about all waiting pods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

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
from kpolicy.engine import Outcome, Verdict, VolumeProgress, VolumeState, VolumeWork
from kpolicy.scheduler.binding.pre_binds import PreBinds
from kpolicy.scheduler.binding.reservations import BindEnd
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queued_pod import Attempt
from tests.manual_clock import ManualClock
from tests.unit.scheduler.faulty_engine import VolumesEngine, decided
from tests.unit.scheduler.pods import pending
from tests.unit.scheduler.runtimes import runtime_of

TAKES = VolumeWork("data", "u-data", "5", "pv", "u-pv", "7", True, True, 600)
MAKES = VolumeWork("logs", "u-logs", "6", "", "", "", True, False, 600)
BOUND = VolumeProgress(VolumeState.BOUND, "")


class ScriptedWriter:
    def __init__(self) -> None:
        self.patches: list[VolumePatch] = []
        self.outcomes: list[WriteOutcome] = []

    async def write(self, patch: VolumePatch) -> WriteOutcome:
        self.patches.append(patch)
        return self.outcomes.pop(0) if self.outcomes else Written("9")


class ScriptedNominations:
    """`told` is done at once unless a test holds it up."""

    def __init__(self, writer: ScriptedWriter) -> None:
        self._writer = writer
        self.told: list[tuple[str, str, int]] = []
        self.held = asyncio.Event()
        self.held.set()

    async def tell(self, pod: Attempt, node: str) -> None:
        self.told.append((pod.uid, node, len(self._writer.patches)))
        await self.held.wait()


@dataclass
class Rig:
    pre_binds: PreBinds
    engine: VolumesEngine
    writer: ScriptedWriter
    nominations: ScriptedNominations
    clock: ManualClock

    def begin(
        self, uid: str = "a", volumes: Sequence[VolumeWork] = (TAKES, MAKES)
    ) -> asyncio.Task[BindEnd | None]:
        queue = Queue()
        queue.changed(pending(uid, name=uid), 0)
        (pod,) = queue.pop_batch(1, 0)
        decision = decided(Verdict.PLACED, uid, uid, "n1", volumes=volumes)
        return asyncio.create_task(self.pre_binds.pre_bind(pod, decision))

    async def rest(self, seconds: float = 0.1) -> None:
        await self.clock.advance(seconds)
        for _ in range(20):
            await self.clock.settle()
            await asyncio.sleep(0.001)


@asynccontextmanager
async def rig() -> AsyncIterator[Rig]:
    clock, engine, writer = ManualClock(), VolumesEngine(), ScriptedWriter()
    thread = runtime_of(engine, clock).engine
    nominations = ScriptedNominations(writer)
    pre_binds = PreBinds(writer, nominations, thread, clock)  # type: ignore[arg-type]
    running = asyncio.create_task(pre_binds.run())
    yield Rig(pre_binds, engine, writer, nominations, clock)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    thread.stop()


def failed(why: str) -> BindEnd:
    text = f'running PreBind plugin "VolumeBinding": {why}'
    return BindEnd(Outcome.FAILED, retry=True, message=text)


async def test_the_pod_may_be_bound_when_all_its_claims_are() -> None:
    async with rig() as one:
        end = one.begin()
        await one.rest()
        claim = ObjectVersion("data", "u-data", "5")
        assert one.writer.patches == [
            BindVolume(ObjectVersion("pv", "u-pv", "7"), "default", claim, mark=True),
            SelectNode("default", ObjectVersion("logs", "u-logs", "6"), "n1"),
        ]
        one.engine.progress["data"] = BOUND
        one.pre_binds.heard("persistentvolumeclaims")
        await one.rest()
        assert not end.done()
        one.engine.progress["logs"] = BOUND
        one.pre_binds.heard("persistentvolumeclaims")
        await one.rest()
        assert await end is None


async def test_its_node_is_told_before_anything_is_written() -> None:
    async with rig() as one:
        one.nominations.held.clear()
        one.engine.progress = {"data": BOUND, "logs": BOUND}
        end = one.begin()
        await one.rest()
        assert (one.nominations.told, one.writer.patches) == ([("a", "n1", 0)], [])
        one.nominations.held.set()
        await one.rest()
        assert await end is None
        assert len(one.writer.patches) == 2


async def test_what_says_so_already_is_not_written_but_waited_for() -> None:
    async with rig() as one:
        one.engine.progress["data"] = BOUND
        end = one.begin(volumes=[TAKES._replace(to_write=False)])
        await one.rest()
        assert (await end, one.writer.patches) == (None, [])


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
    async with rig() as one:
        one.writer.outcomes = [outcome]
        assert await one.begin() == end
        assert len(one.writer.patches) == 1
        assert one.engine.asked == []


async def test_a_claim_that_fails_says_why() -> None:
    async with rig() as one:
        why = 'provisioning failed for PVC "logs"'
        one.engine.progress = {"data": BOUND, "logs": VolumeProgress(VolumeState.FAILED, why)}
        end = one.begin()
        await one.rest()
        assert await end == failed(f"binding volumes: {why}")


async def test_a_pod_that_goes_is_let_go_in_silence() -> None:
    async with rig() as one:
        one.engine.progress["data"] = VolumeProgress(VolumeState.GONE, "")
        end = one.begin()
        await one.rest()
        assert await end == BindEnd(Outcome.FAILED)


async def test_a_pod_waits_as_long_as_its_policy_says() -> None:
    async with rig() as one:
        end = one.begin(volumes=[TAKES._replace(seconds_max=30)])
        await one.rest()
        await one.rest(29)
        assert not end.done()
        await one.rest(2)
        assert await end == failed("binding volumes: context deadline exceeded")
        asked = len(one.engine.asked)
        await one.rest(10)
        assert len(one.engine.asked) <= asked + 1, "no task waits any more"


async def test_all_who_wait_are_asked_about_in_one_call_now_and_then() -> None:
    async with rig() as one:
        ends = [one.begin(f"p{number}") for number in range(50)]
        await one.rest()
        before = len(one.engine.asked)
        await one.rest(0.9)
        await one.rest(0.9)
        assert 1 <= len(one.engine.asked) - before <= 4, "once a second where nothing is heard"
        assert len(one.engine.asked[-1]) == 100
        one.pre_binds.heard("configmaps")
        one.engine.progress = {"data": BOUND, "logs": BOUND}
        one.pre_binds.heard("persistentvolumes")
        await one.rest()
        assert [await end for end in ends] == [None] * 50
