"""A part that hangs makes the replica unable to lead; waiting, idling and standing still do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kpolicy.clock import Heartbeat
from kpolicy.scheduler.limits import VITAL_LOOK_S, VITAL_SILENT_S_MAX
from kpolicy.scheduler.vitals import Vitals
from tests.manual_clock import ManualClock

HOUR_S = 3600.0
NOTICED_S = VITAL_SILENT_S_MAX + 3 * VITAL_LOOK_S


@dataclass
class ScriptedEngine:
    """`call`: the number of the call under way; it works while `works`."""

    call: int | None = None
    works: bool = True
    beats: int = 0
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    def progress(self) -> tuple[int, int] | None:
        if self.call is None:
            return None
        self.beats += self.works
        return self.call, self.beats

    async def ping(self) -> None:
        await self.answers.wait()


@dataclass
class Rig:
    clock: ManualClock
    engine: ScriptedEngine
    vitals: Vitals

    async def passed(self, seconds: float) -> str:
        """Time passes, with a look of the elector's thread each half second; the last answer."""
        answer = self.vitals.inability()
        for _ in range(round(seconds / VITAL_LOOK_S)):
            await self.clock.advance(VITAL_LOOK_S)
            answer = self.vitals.inability()
        return answer


@asynccontextmanager
async def rig_of() -> AsyncIterator[Rig]:
    clock, engine = ManualClock(), ScriptedEngine()
    engine.answers.set()
    vitals = Vitals(clock, engine)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(vitals.run())
        await clock.settle()
        yield Rig(clock, engine, vitals)
        task.cancel()


async def test_an_idle_replica_can_lead_for_ever() -> None:
    async with rig_of() as rig:
        resting = Heartbeat("cycle", rig.clock, 300)
        resting.rest(lambda: False)
        rig.vitals.add(resting)
        assert await rig.passed(HOUR_S / 10) == ""


async def test_a_loop_that_stands_still_is_noticed_by_the_other_thread() -> None:
    clock = ManualClock()
    vitals = Vitals(clock, ScriptedEngine())  # its task does not run
    rig = Rig(clock, ScriptedEngine(), vitals)
    assert await rig.passed(VITAL_SILENT_S_MAX) == ""
    assert await rig.passed(3 * VITAL_LOOK_S) == "the event loop has made no progress for 8 s"


async def test_an_engine_that_hangs_is_noticed_and_a_long_call_that_works_is_not() -> None:
    async with rig_of() as rig:
        waiting = Heartbeat("cycle", rig.clock, 300)
        rig.vitals.add(waiting)
        rig.engine.call = 7
        assert await rig.passed(60) == "", "one call works for a minute, and a task waits for it"
        rig.engine.works = False
        assert (await rig.passed(NOTICED_S)).startswith("the engine has made no progress")
        rig.engine.call = 8
        waiting.beat()
        assert await rig.passed(2 * VITAL_LOOK_S) == ""


async def test_a_task_is_dead_if_it_has_work_and_does_not_beat() -> None:
    async with rig_of() as rig:
        task = Heartbeat("informer-pods", rig.clock, 300)
        rig.vitals.add(task)
        has_work = [False]
        task.rest(lambda: has_work[0])
        assert await rig.passed(60) == ""
        has_work[0] = True
        assert await rig.passed(VITAL_SILENT_S_MAX - VITAL_LOOK_S) == ""
        expected = "task informer-pods has made no progress for 7 s"
        assert await rig.passed(4 * VITAL_LOOK_S) == expected
        task.beat(30.0)
        assert await rig.passed(30 + VITAL_SILENT_S_MAX - VITAL_LOOK_S) == "", "it may wait so long"
        assert (await rig.passed(4 * VITAL_LOOK_S)).startswith("task informer-pods")
        rig.vitals.forget("informer-pods")
        rig.vitals.forget("never there")
        assert await rig.passed(2 * VITAL_LOOK_S) == ""


async def test_each_bind_under_way_has_to_go_on() -> None:
    async with rig_of() as rig:
        with rig.vitals.bind("ns/stuck"), rig.vitals.bind("ns/busy") as busy:
            for _ in range(round(VITAL_SILENT_S_MAX)):
                busy.beat()
                assert await rig.passed(1) == ""
            busy.beat()
            expected = "the bind of pod ns/stuck has made no progress for 7 s"
            assert await rig.passed(3 * VITAL_LOOK_S) == expected
        assert await rig.passed(1) == "", "both have ended"


async def test_time_in_which_the_whole_process_stood_still_is_nobodys_silence() -> None:
    async with rig_of() as rig:
        rig.vitals.add(Heartbeat("cycle", rig.clock, 300))
        with rig.vitals.bind("ns/pod"):
            rig.engine.call, rig.engine.works = 1, False
            assert await rig.passed(2) == ""
            rig.clock.stand_still(HOUR_S)
            assert rig.vitals.inability() == ""
            assert await rig.passed(2) == ""


async def test_the_engine_is_asked_again_and_again_also_when_nobody_calls_it() -> None:
    async with rig_of() as rig:
        rig.engine.answers.clear()
        rig.engine.call, rig.engine.works = 1, False  # the ping is a call that waits
        assert (await rig.passed(NOTICED_S)).startswith("the engine has made no progress")
        rig.engine.answers.set()
        rig.engine.call = None
        assert await rig.passed(1) == ""
