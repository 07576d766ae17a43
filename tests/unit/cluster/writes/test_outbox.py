"""Writes may be late or lost, but never delay others; they are limited, in order for each key, and
counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from kpolicy.cluster.writes.outbox import Outbox
from tests.manual_clock import ManualClock
from tests.unit.cluster.doubles import eventually


@asynccontextmanager
async def working(outbox: Outbox[int]) -> AsyncIterator[None]:
    task = asyncio.create_task(outbox.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def gate() -> tuple[asyncio.Event, list[int], Callable[[int], Awaitable[bool]]]:
    opened, sent = asyncio.Event(), []

    async def send(item: int) -> bool:
        sent.append(item)
        await opened.wait()
        return item >= 0

    return opened, sent, send


async def test_what_does_not_fit_is_dropped_and_counted() -> None:
    _, _, send = gate()
    outbox: Outbox[int] = Outbox(send, capacity=3, workers=1)
    assert [outbox.offer(str(n), n) for n in range(5)] == [True] * 3 + [False] * 2
    statistics = outbox.statistics()
    assert (statistics.waiting, statistics.dropped) == (3, 2)


async def test_a_newer_item_takes_the_place_of_a_waiting_one() -> None:
    opened, sent, send = gate()
    outbox: Outbox[int] = Outbox(send, capacity=2, workers=1)
    opened.set()
    for item in (1, 2, 3):
        assert outbox.offer("a", item)
    outbox.offer("b", 9)
    async with working(outbox):
        await eventually(lambda: outbox.statistics().written == 2)
    assert sent == [3, 9]
    assert outbox.statistics().replaced == 2


async def test_two_of_one_key_are_never_under_way_together() -> None:
    opened, sent, send = gate()
    outbox: Outbox[int] = Outbox(send, capacity=9, workers=4)
    async with working(outbox):
        outbox.offer("a", 1)
        await eventually(lambda: sent == [1])
        outbox.offer("a", 2)
        outbox.offer("b", 3)
        await eventually(lambda: sent == [1, 3])
        assert outbox.statistics().under_way == 2
        opened.set()
        await eventually(lambda: sent == [1, 3, 2])


async def test_one_worker_continues_during_a_pause_and_the_others_return_after_it() -> None:
    answers, is_busy = asyncio.Semaphore(0), True

    async def send(_: int) -> bool:
        await answers.acquire()
        return True

    def answer(count: int) -> None:
        for _ in range(count):
            answers.release()

    outbox: Outbox[int] = Outbox(send, capacity=100, workers=3, gives_way=lambda: is_busy)
    for item in range(50):
        outbox.offer(str(item), item)
    async with working(outbox):
        answer(5)
        await eventually(lambda: outbox.statistics().written == 5)
        assert outbox.statistics().under_way == 1
        is_busy = False
        answer(2)
        await eventually(lambda: outbox.statistics().under_way == 3)
        is_busy = True
        answer(2)
        await eventually(lambda: outbox.statistics().under_way == 1)
        assert outbox.statistics().written == 9
        answer(41)
        await eventually(lambda: outbox.statistics().written == 50)


async def test_no_more_are_under_way_than_there_are_workers() -> None:
    _, sent, send = gate()
    outbox: Outbox[int] = Outbox(send, capacity=100, workers=3)
    async with working(outbox):
        for item in range(50):
            outbox.offer(str(item), item)
        await eventually(lambda: len(sent) == 3)
        assert outbox.statistics().under_way == 3
        assert outbox.statistics().waiting == 47


async def test_what_could_not_be_written_is_counted() -> None:
    opened, _, send = gate()
    opened.set()
    outbox: Outbox[int] = Outbox(send, capacity=9, workers=2)
    async with working(outbox):
        outbox.offer("a", 1)
        outbox.offer("b", -1)
        assert await outbox.drain(ManualClock(), 5)
    assert (outbox.statistics().written, outbox.statistics().failed) == (1, 1)


async def test_what_was_withdrawn_is_not_written() -> None:
    opened, sent, send = gate()
    opened.set()
    outbox: Outbox[int] = Outbox(send, capacity=9, workers=1)
    outbox.offer("a", 1)
    outbox.offer("b", 2)
    outbox.withdraw("a")
    outbox.withdraw("never offered")
    async with working(outbox):
        assert await outbox.drain(ManualClock(), 5)
    assert sent == [2]


async def test_draining_ends_when_its_time_is_up() -> None:
    _, _, send = gate()
    clock = ManualClock()
    outbox: Outbox[int] = Outbox(send, capacity=9, workers=1)
    outbox.offer("a", 1)
    async with working(outbox):
        draining = asyncio.create_task(outbox.drain(clock, 2))
        await clock.advance(1.9)
        assert not draining.done()
        await clock.advance(0.2)
        assert await draining is False
