"""Manual time: it moves only when a test says so, in order, and changes of the wall clock affect no
deadline.
"""

from __future__ import annotations

import asyncio

import pytest

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import Clock, SystemClock, background_group, first_of
from tests.manual_clock import ManualClock


async def test_sleepers_wake_in_the_order_of_their_deadlines_each_at_its_own_time() -> None:
    clock, woken = ManualClock(), []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((seconds, clock.monotonic_ns()))

    tasks = [asyncio.create_task(sleeper(seconds)) for seconds in (3, 1, 2, 5)]
    await clock.advance(4)
    assert woken == [(s, s * NANOSECONDS) for s in (1, 2, 3)]
    assert clock.monotonic_ns() == 4 * NANOSECONDS
    assert clock.sleepers == 1
    tasks[3].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert clock.sleepers == 0


async def test_who_sleeps_again_within_the_advance_wakes_again() -> None:
    clock, ticks = ManualClock(), 0

    async def ticker() -> None:
        nonlocal ticks
        while True:
            await clock.sleep(1)
            ticks += 1

    task = asyncio.create_task(ticker())
    await clock.advance(10)
    assert ticks == 10
    task.cancel()


async def test_auto_jump_passes_hours_without_anyone_advancing() -> None:
    clock, order = ManualClock(auto_jump=True), []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        order.append(name)
        await clock.sleep(seconds)
        order.append(name)

    await asyncio.gather(sleeper("slow", 3600), sleeper("quick", 10))
    assert order == ["quick", "quick", "slow", "slow"]
    assert clock.monotonic_ns() == 7200 * NANOSECONDS


async def test_a_step_of_the_wall_clock_moves_no_deadline() -> None:
    clock = ManualClock(now_ns=1000 * NANOSECONDS)
    task = asyncio.create_task(clock.sleep(5))
    clock.step_wall(3600)
    await clock.advance(4)
    assert not task.done()
    assert clock.now_ns() == 4604 * NANOSECONDS
    await clock.advance(1)
    assert task.done()


# --- move_on_after and first_of ------------------------------------------------------------------


@pytest.fixture(params=["system", "manual", "auto-jump"])
def clock(request: pytest.FixtureRequest) -> Clock:
    if request.param == "system":
        return SystemClock()
    return ManualClock(auto_jump=request.param == "auto-jump")


@pytest.fixture
def waiting_clock(clock: Clock) -> Clock:
    """One whose time passes while everybody waits."""
    return ManualClock(auto_jump=True) if isinstance(clock, ManualClock) else clock


async def test_a_body_that_ends_in_time_is_not_cut_short(clock: Clock) -> None:
    async with clock.move_on_after(60) as timeout:
        await asyncio.sleep(0)
    assert not timeout.expired
    if isinstance(clock, ManualClock):
        assert clock.sleepers == 0


async def test_a_body_that_takes_too_long_is_cut_short(waiting_clock: Clock) -> None:
    began_ns = waiting_clock.monotonic_ns()
    async with waiting_clock.move_on_after(0.01) as timeout:
        await asyncio.Event().wait()
    assert timeout.expired
    assert waiting_clock.monotonic_ns() - began_ns >= 0.01 * NANOSECONDS
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)  # nothing is left to be delivered


@pytest.mark.parametrize("seconds", [0, -1])
async def test_no_time_at_all_ends_the_body_where_it_first_waits(
    clock: Clock, seconds: float
) -> None:
    async with clock.move_on_after(seconds) as timeout:
        await asyncio.Event().wait()
    assert timeout.expired


async def test_what_the_body_raises_is_raised_also_when_time_is_up(waiting_clock: Clock) -> None:
    async def fail_while_cut_short() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("late")

    with pytest.raises(ValueError, match="early"):
        async with waiting_clock.move_on_after(60):
            raise ValueError("early")
    with pytest.raises(ValueError, match="late"):
        async with waiting_clock.move_on_after(0.01):
            await fail_while_cut_short()


async def test_a_cancellation_from_outside_goes_through() -> None:
    clock, has_moved_on = ManualClock(), False

    async def body() -> None:
        nonlocal has_moved_on
        async with clock.move_on_after(10):
            await asyncio.Event().wait()
        has_moved_on = True

    for advance in (0, 10):  # before the time is up, and at the same moment
        task = asyncio.create_task(body())
        await clock.settle()
        advancing = asyncio.create_task(clock.advance(advance))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await advancing
        assert not has_moved_on
        assert clock.sleepers == 0


async def test_of_two_nested_time_outs_the_shorter_one_expires(waiting_clock: Clock) -> None:
    wait = waiting_clock.move_on_after
    async with wait(60) as outer, wait(0.01) as inner:
        await asyncio.Event().wait()
    assert inner.expired
    assert not outer.expired
    async with wait(0.01) as outer, wait(60) as inner:
        await asyncio.Event().wait()
    assert outer.expired
    assert not inner.expired


async def answer(value: str) -> str:
    return value


async def test_the_first_result_counts_and_the_others_have_ended() -> None:
    unwound = []

    async def slow(name: str) -> str:
        try:
            return (await asyncio.Event().wait() and name) or name
        finally:
            await asyncio.sleep(0)
            unwound.append(name)

    assert await first_of(slow("a"), answer("b"), slow("c")) == "b"
    assert sorted(unwound) == ["a", "c"]
    assert await first_of(answer("a"), answer("b")) == "a"


async def test_no_exception_is_lost_neither_the_winners_nor_a_losers() -> None:
    async def fail(text: str) -> str:
        raise ValueError(text)

    async def fail_on_the_way_out() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("while being cancelled")

    with pytest.raises(ValueError, match="first"):
        await first_of(fail("first"), asyncio.Event().wait())
    with pytest.raises(OSError, match="while being cancelled"):
        await first_of(answer("a"), fail_on_the_way_out())
    with pytest.raises(ExceptionGroup) as both:
        await first_of(fail("one"), fail("two"))
    assert sorted(map(str, both.value.exceptions)) == ["one", "two"]


async def test_whoever_cancels_the_race_cancels_all_that_run_in_it() -> None:
    unwound = []

    async def slow(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            unwound.append(name)

    race = asyncio.create_task(first_of(slow("a"), slow("b")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    race.cancel()
    with pytest.raises(asyncio.CancelledError):
        await race
    assert sorted(unwound) == ["a", "b"]


async def test_tasks_of_a_background_group_end_with_its_body_and_lose_no_exception() -> None:
    unwound = []

    async def work(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            unwound.append(name)

    async with background_group() as group:
        group.create_task(work("a"))
        await asyncio.sleep(0)
    assert unwound == ["a"]

    async def fail() -> None:
        raise OSError("a bug")

    async def run() -> None:
        async with background_group() as group:
            group.create_task(work("b"))
            group.create_task(fail())
            await asyncio.Event().wait()

    with pytest.raises(OSError, match="a bug"):
        await run()
    assert unwound == ["a", "b"]


# Another second for each zone, as the text of a second is kept.
