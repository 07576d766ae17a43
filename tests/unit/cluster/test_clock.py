"""Time moves when told, in order, and the wall clock's steps touch no deadline."""

from __future__ import annotations

import asyncio

from kpolicy.clock import NANOSECONDS, ManualClock


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
