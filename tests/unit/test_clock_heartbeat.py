"""A task counts as hanging if it has not gone round within its limit, but never while it rests."""

from __future__ import annotations

from kpolicy.clock import NO_PULSE, Heartbeat, Heartbeats
from tests.manual_clock import ManualClock


async def test_a_task_that_beats_often_enough_is_alive() -> None:
    clock = ManualClock()
    heartbeat = Heartbeat("one", clock, 60)
    for _ in range(10):
        await clock.advance(60)
        assert heartbeat.failing() == ""
        heartbeat.beat()
    await clock.advance(61)
    assert heartbeat.failing() == "has not gone round for 61 s, 60 s are allowed"
    heartbeat.beat()
    assert heartbeat.failing() == ""


async def test_a_task_without_work_may_rest_for_ever() -> None:
    clock, work = ManualClock(), [False]
    heartbeat = Heartbeat("one", clock, 60)
    heartbeat.rest(lambda: work[0])
    await clock.advance(100_000)
    assert heartbeat.failing() == ""
    work[0] = True
    assert heartbeat.failing() == "", "the task had no time to begin its work"
    await clock.advance(59)
    assert heartbeat.failing() == ""
    await clock.advance(2)
    assert heartbeat.failing() == "has not gone round for 61 s, 60 s are allowed"


async def test_work_that_was_done_between_two_looks_is_not_owed() -> None:
    clock, work = ManualClock(), [True]
    heartbeat = Heartbeat("one", clock, 60)
    heartbeat.rest(lambda: work[0])
    assert heartbeat.failing() == ""
    await clock.advance(50)
    heartbeat.beat()
    heartbeat.rest(lambda: work[0])
    await clock.advance(50)
    assert heartbeat.failing() == ""
    work[0] = False
    assert heartbeat.failing() == ""
    work[0] = True
    await clock.advance(59)
    assert heartbeat.failing() == ""


async def test_tasks_are_reported_by_name_from_when_they_begin() -> None:
    clock = ManualClock()
    heartbeats = Heartbeats(clock)
    early = Heartbeat("late", clock, 10)
    first = heartbeats.of("first", 10)
    await clock.advance(11)
    heartbeats.add(early)
    assert [(heartbeat.name, bool(heartbeat.failing())) for heartbeat in heartbeats] == [
        ("first", True),
        ("late", False),
    ]
    assert heartbeats.of("first", 10) is not first
    heartbeats.forget("late")
    heartbeats.forget("never there")
    assert [(heartbeat.name, heartbeat.failing()) for heartbeat in heartbeats] == [("first", "")]


def test_nobody_need_watch() -> None:
    NO_PULSE.beat()
    NO_PULSE.rest(lambda: True)
