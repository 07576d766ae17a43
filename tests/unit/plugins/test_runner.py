"""The thread of plugins: what is asked at once goes over at once, and what blocks is replaced."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kpolicy.plugins import limits
from kpolicy.plugins.runner import PluginRunner
from kpolicy.plugins.thread import Failed, Job, PluginThread, Timing, Work
from tests.manual_clock import ManualClock

CALL_S = 10.0


@asynccontextmanager
async def runner_of(clock: ManualClock, timings: list[Timing]) -> AsyncIterator[PluginRunner]:
    runner = PluginRunner(clock, CALL_S, timings.append)
    try:
        yield runner
    finally:
        runner.stop()


def work_of(function: Callable[[], Any], plugin: str = "plugin") -> Work:
    """A call of a plugin."""

    async def method() -> Any:
        answer = function()
        return await answer if asyncio.iscoroutine(answer) else answer

    async def work(thread: PluginThread, job: Job) -> Any:
        return await thread.call(job, plugin, "Permit", method())

    return work


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not true():
            await asyncio.to_thread(threading.Event().wait, 0.001)


async def test_answers_come_back_with_their_timings_and_errors_are_values() -> None:
    timings: list[Timing] = []
    async with runner_of(ManualClock(monotonic_ns=1), timings) as runner:

        def fail() -> None:
            raise ValueError("no")

        jobs = [runner.begin("ns/a", work_of(lambda: 5)), runner.begin("ns/b", work_of(fail))]
        assert await runner.answer(jobs[0]) == 5
        assert await runner.answer(jobs[1]) == Failed('running Permit plugin "plugin": no')
        assert [timing.status for timing in timings] == ["Success", "Error"]
        assert runner.threads_made == 1


async def test_a_call_without_an_end_is_given_up_and_the_thread_goes_on() -> None:
    clock = ManualClock(monotonic_ns=1)
    cancelled = threading.Event()

    async def sleep() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.set()

    async with runner_of(clock, []) as runner:
        job = runner.begin("ns/a", work_of(sleep))
        await until(lambda: bool(job.since_ns))
        runner.look()
        assert await runner.answer(runner.begin("ns/b", work_of(lambda: 1))) == 1
        assert not job.answer.done()
        clock.stand_still(CALL_S + 1)
        runner.look()
        answer = await runner.answer(job)
        assert answer == Failed(f"{job.call}: no answer within 10 s", is_lost=True)
        await until(cancelled.is_set)
        assert await runner.answer(runner.begin("ns/b", work_of(lambda: 1))) == 1
        assert runner.threads_made == 1


async def test_a_blocked_thread_is_replaced_and_what_it_had_not_begun_goes_to_the_next() -> None:
    clock, over, blocks = ManualClock(monotonic_ns=1), threading.Event(), threading.Event()

    def block() -> None:
        blocks.set()
        over.wait()

    try:
        async with runner_of(clock, []) as runner:
            begun = runner.begin("ns/sleeps", work_of(lambda: asyncio.sleep(3600)))
            await until(lambda: bool(begun.since_ns))
            culprit = runner.begin("ns/blocks", work_of(block))
            after = runner.begin("ns/after", work_of(lambda: "served"))
            await until(blocks.is_set)
            clock.stand_still(CALL_S + 1)
            runner.look()
            text = "it blocks for longer than 10 s"
            assert await runner.answer(culprit) == Failed(f"{culprit.call}: {text}", is_lost=True)
            failed = await runner.answer(begun)
            assert isinstance(failed, Failed)
            assert "the thread of plugins was replaced" in failed.message
            assert failed.is_anothers, "it may be asked again"
            assert await runner.answer(after) == "served"
            assert (runner.threads_made, runner.threads_blocked_now) == (2, 1)
            over.set()
            await until(lambda: runner.threads_blocked_now == 0)
    finally:
        over.set()


async def test_what_a_plugin_has_begun_besides_its_methods_may_not_block_either() -> None:
    clock, over, blocks = ManualClock(monotonic_ns=1), threading.Event(), threading.Event()

    def block() -> None:
        blocks.set()
        over.wait()

    async def begin() -> None:
        asyncio.get_running_loop().call_soon(block)

    try:
        async with runner_of(clock, []) as runner:
            first = runner.begin("ns/a", work_of(begin))
            await until(blocks.is_set)
            job = runner.begin("ns/b", work_of(lambda: "served"))
            await asyncio.sleep(0)
            clock.stand_still(CALL_S + 1)
            runner.look()
            assert await runner.answer(job) == "served"
            assert isinstance(await runner.answer(first), Failed)
            assert runner.threads_blocked == 1
    finally:
        over.set()


async def test_a_thread_that_a_plugin_has_ended_is_replaced_and_no_question_is_lost() -> None:
    sleeps = threading.Event()

    async def sleep() -> None:
        sleeps.set()
        await asyncio.sleep(3600)

    async def cancel_everything() -> None:
        for task in asyncio.all_tasks():
            task.cancel()
        await asyncio.sleep(0)

    async with runner_of(ManualClock(monotonic_ns=1), []) as runner:
        other = runner.begin("ns/sleeps", work_of(sleep))
        await until(sleeps.is_set)
        culprit = runner.begin("ns/cancels", work_of(cancel_everything))
        answers = [await runner.answer(job) for job in (other, culprit)]
        assert answers == [
            Failed(f"{other.call}: it was cancelled"),
            Failed(f"{culprit.call}: it was cancelled"),
        ]
        after = runner.begin("ns/after", work_of(lambda: "served"))

        def is_served() -> bool:
            runner.look()
            return after.answer.done()

        await until(is_served)
        assert await runner.answer(after) == "served"
        assert runner.threads_made == 2


async def test_a_plugin_that_always_blocks_leaves_threads_for_the_others() -> None:
    clock, over = ManualClock(monotonic_ns=1), threading.Event()
    calls: list[str] = []

    async def blocked(runner: PluginRunner, pod: str) -> str:
        begun = threading.Event()

        def block() -> None:
            calls.append(pod)
            begun.set()
            over.wait()

        job = runner.begin(pod, work_of(block, "blocks"))
        await until(lambda: begun.is_set() or job.answer.done())
        if not job.answer.done():
            clock.stand_still(CALL_S + 1)
            runner.look()
        answer = await runner.answer(job)
        assert isinstance(answer, Failed)
        return answer.message

    not_asked = 'running Permit plugin "blocks": it is not asked while it blocks other threads'
    try:
        async with runner_of(clock, []) as runner:
            assert "it blocks for longer than 10 s" in await blocked(runner, "ns/a")
            assert await blocked(runner, "ns/a") == not_asked
            pods = [f"ns/{number}" for number in range(limits.BLOCKED_BY_PLUGIN_MAX)]
            for pod in pods:
                last = await blocked(runner, pod)
            assert last == not_asked
            assert calls == ["ns/a", *pods[:-1]]
            assert await runner.answer(runner.begin("ns/a", work_of(lambda: 1))) == 1
            over.set()
            await until(lambda: runner.threads_blocked_now == 0)
            assert await runner.answer(runner.begin("ns/a", work_of(lambda: 1, "blocks"))) == 1
    finally:
        over.set()


async def test_there_are_at_most_so_many_blocked_threads() -> None:
    clock, over = ManualClock(monotonic_ns=1), threading.Event()
    try:
        async with runner_of(clock, []) as runner:
            for number in range(limits.BLOCKED_THREADS_MAX):
                blocks = threading.Event()

                def block(blocks: threading.Event = blocks) -> None:
                    blocks.set()
                    over.wait()

                job = runner.begin(f"ns/{number}", work_of(block, f"plugin-{number}"))
                await until(blocks.is_set)
                clock.stand_still(CALL_S + 1)
                runner.look()
                assert isinstance(await runner.answer(job), Failed)
            refused = await runner.answer(runner.begin("ns/next", work_of(lambda: 1)))
            assert refused == Failed("plugins are not asked: 8 of their threads are blocked")
            over.set()
            await until(lambda: runner.threads_blocked_now == 0)
            assert await runner.answer(runner.begin("ns/next", work_of(lambda: 1))) == 1
    finally:
        over.set()


async def test_work_that_nobody_waits_for_is_cancelled_before_the_next_of_its_pod() -> None:
    steps: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            steps.append("ended")

    async with runner_of(ManualClock(monotonic_ns=1), []) as runner:
        job = runner.begin("ns/a", work_of(slow))
        await until(lambda: bool(job.since_ns))
        runner.give_up(job, "withdrawn")
        undo = runner.begin("ns/a", work_of(lambda: steps.append("undone")), job)
        await runner.answer(undo)
        assert steps == ["ended", "undone"]
