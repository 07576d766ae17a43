"""The thread of plugins: an event loop of its own, in which the methods of plugins run.

Jobs are tasks of one task group. The thread notes which call runs just now and since when, so
that the scheduler's loop can see from outside that a call blocks.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from kpolicy.clock import Clock, background_group
from kpolicy.plugins.messages import one_line
from kpolicy.plugins.points import Point

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Failed:
    """A plugin raised, took too long, or answered what it may not. `is_lost`: it may still act.
    `is_anothers`: it was another call that took too long, and this one may be made again."""

    message: str
    is_lost: bool = False
    is_anothers: bool = False


class PluginFailedError(Exception):
    """Ends a job in the thread of plugins; its text becomes a `Failed`."""


@dataclass(slots=True)
class Timing:
    """One call that has ended: for the metrics."""

    plugin: str
    point: str
    status: str
    seconds: float


# What is run in a thread, for the job that it belongs to.
Work: TypeAlias = "Callable[[PluginThread, Job], Coroutine[Any, Any, Any]]"


@dataclass(slots=True, eq=False)
class Job:
    """What is asked about one pod at once. `answer` is a future of the scheduler's loop. `after`:
    a job of the same pod that was cancelled, and may still be ending."""

    pod: str
    work: Work
    answer: asyncio.Future[Any]
    after: Job | None = None
    # The call under way, and since when; 0 between two calls.
    plugin: str = ""
    point: str = ""
    since_ns: int = 0
    is_begun: bool = False
    waits_for_after: bool = False
    task: asyncio.Task[None] | None = None
    timings: list[Timing] = field(default_factory=list)

    @property
    def call(self) -> str:
        return f'running {self.point} plugin "{self.plugin}"'


class Resumed(Generic[Answer]):
    """The rest of a coroutine that has made its first step. `on_step` is called before each further
    step, `on_rest` after it."""

    def __init__(
        self,
        work: Coroutine[Any, Any, Answer],
        awaited: Any,
        on_step: Callable[[], None],
        on_rest: Callable[[], None],
    ) -> None:
        self._work = work
        self._awaited = awaited
        self._on_step = on_step
        self._on_rest = on_rest

    def __await__(self) -> Generator[Any, Any, Answer]:
        awaited = self._awaited
        while True:
            value: Any
            try:
                value, step = (yield awaited), self._work.send
            except GeneratorExit:
                self._work.close()
                raise
            except BaseException as error:
                value, step = error, self._work.throw
            self._on_step()
            try:
                awaited = step(value)
            except StopIteration as end:
                answer: Answer = end.value
                return answer
            finally:
                self._on_rest()


def _nothing() -> None:
    pass


Deliver: TypeAlias = "Callable[[list[tuple[Job, Any]]], None]"


class PluginThread:
    """`deliver` is called in this thread with the jobs that have ended. `loop`: a new one, if none
    is given."""

    def __init__(
        self,
        number: int,
        clock: Clock,
        deliver: Deliver,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._clock = clock
        self._deliver = deliver
        self._ended: list[tuple[Job, Any]] = []
        self._loop = loop or asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._is_over = False
        self._has_ended = False
        # Plugins that are not asked, each about a pod, or about any if the pod is empty.
        self.barred: frozenset[tuple[str, str]] = frozenset()
        self._group: asyncio.TaskGroup | None = None
        # The step that runs now.
        self._running: Job | None = None
        self._step_since_ns = 0
        # Since when jobs wait that the thread has not begun with; 0 if none wait.
        self._owed_since_ns = 0
        self._thread = threading.Thread(
            target=self._run, name=f"kpolicy-plugins-{number}", daemon=True
        )

    # --- from the scheduler's loop ---------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def has_ended(self) -> bool:
        """A plugin has ended it, for example by cancelling every task of its loop."""
        return self._has_ended or not self.is_alive

    def submit(self, jobs: Sequence[Job]) -> None:
        self._owed_since_ns = self._owed_since_ns or self._clock.monotonic_ns()
        self._call(self._begin, jobs)

    def cancel(self, job: Job) -> None:
        self._call(self._cancel, job)

    def ping(self) -> None:
        """Lets `blocked` find what no method of a plugin does, such as a task that it has begun."""
        self._owed_since_ns = self._owed_since_ns or self._clock.monotonic_ns()
        self._call(self._pong)

    def stop(self) -> None:
        """Cancels all jobs. A thread that is blocked ends when it is blocked no more."""
        self._is_over = True
        self._call(self._over.set)

    def blocked(self, now_ns: int, longest_ns: int) -> tuple[bool, Job | None]:
        """Whether the thread does nothing but one step for longer than this, and the job whose
        step it is, if it is one of a plugin's method."""
        job, since_ns = self._running, self._step_since_ns
        if job is not None:
            return now_ns - since_ns > longest_ns, job
        owed_ns = self._owed_since_ns
        return bool(owed_ns) and now_ns - owed_ns > longest_ns, None

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # the thread has ended
            self._loop.call_soon_threadsafe(function, *arguments)

    # --- in the thread ---------------------------------------------------------------------------

    def _begin_step(self, job: Job) -> None:
        self._step_since_ns = self._clock.monotonic_ns()
        self._running = job

    def _end_step(self) -> None:
        self._running = None

    async def call(
        self, job: Job, plugin: str, point: str, work: Coroutine[Any, Any, Answer]
    ) -> Answer:
        """Runs one method of a plugin."""
        if self._is_over:  # a step of this job has blocked, and others have gone on without it
            work.close()
            raise PluginFailedError(f"{job.call}: its thread was replaced")
        job.plugin, job.point = plugin, point
        if self.barred and self._is_barred(job):
            work.close()
            raise PluginFailedError(f"{job.call}: it is not asked while it blocks other threads")
        began_ns = job.since_ns = self._step_since_ns = self._clock.monotonic_ns()
        status = "Error"
        try:
            self._running = job
            try:
                awaited = work.send(None)
            except StopIteration as end:  # most methods await nothing
                answer: Answer = end.value
            else:
                self._running = None
                begin = partial(self._begin_step, job)
                answer = await Resumed(work, awaited, begin, self._end_step)
            finally:
                self._running = None
            status = "Success"
            return answer
        except GeneratorExit:
            raise
        except asyncio.CancelledError:
            # A plugin may also raise this without having been cancelled.
            if job.task is not None and job.task.cancelling():
                raise
            raise PluginFailedError(f"{job.call}: it was cancelled by itself") from None
        # Also SystemExit: a plugin ends neither its thread nor the process.
        except BaseException as error:
            text = one_line(error) or type(error).__name__
            raise PluginFailedError(f"{job.call}: {text}") from error
        finally:
            seconds = (self._clock.monotonic_ns() - began_ns) / 1e9
            job.since_ns = 0
            job.timings.append(Timing(plugin, point, status, seconds))

    def _is_barred(self, job: Job) -> bool:
        """What is reserved is given back all the same, so long as the plugin is asked at all."""
        is_for_pod = (job.plugin, job.pod) in self.barred and job.point != Point.UNRESERVE
        return is_for_pod or (job.plugin, "") in self.barred

    def _run(self) -> None:
        # If a plugin cancels it, the runner sees that it has ended.
        with (
            asyncio.Runner(loop_factory=lambda: self._loop) as runner,
            suppress(asyncio.CancelledError),
        ):
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with background_group() as group:
            self._group = group
            try:
                await self._over.wait()
            finally:
                self._has_ended = True

    def _begin(self, jobs: Sequence[Job]) -> None:
        self._owed_since_ns = 0
        if self._has_ended:  # the runner gives the jobs to another
            return
        if self._group is None:  # the first callback comes before the group
            self._loop.call_soon(self._begin, jobs)
            return
        self._group.create_task(self._do_all(deque(jobs)))

    def _cancel(self, job: Job) -> None:
        if job.task is not None:
            job.task.cancel()

    async def _do_all(self, jobs: deque[Job]) -> None:
        """One task does jobs one after the other, which costs less than a task for each. With the
        first job that awaits something, it is the task of that job; another task does the rest."""
        task = asyncio.current_task()
        while jobs:
            job = jobs.popleft()
            if job.answer.done():
                continue
            job.is_begun = True
            if self._is_over:  # looked at after the line before: the next thread may have the job
                return
            job.task = task
            work = self._do(job)
            try:
                awaited = work.send(None)
            except StopIteration:
                job.task = None
                continue
            if jobs and self._group is not None:
                self._group.create_task(self._do_all(jobs))
            await Resumed(work, awaited, _nothing, _nothing)
            return

    async def _do(self, job: Job) -> None:
        try:
            await self._let_end(job)
            answer = await job.work(self, job)
        except PluginFailedError as error:
            answer = Failed(str(error))
        # By the runner, which has an answer already; or by another plugin, and then it has none.
        except asyncio.CancelledError:
            self._end(job, Failed(f"{job.call}: it was cancelled"))
            raise
        # What is not a method may be a plugin's too, such as the `repr` of an answer.
        except Exception as error:
            answer = Failed(f"{job.call}: {type(error).__name__}")
        self._end(job, answer)

    def _end(self, job: Job, answer: Any) -> None:
        if not self._ended:
            # After the other tasks of this turn: what ends together is delivered together.
            self._loop.call_soon(self._flush)
        self._ended.append((job, answer))

    async def _let_end(self, job: Job) -> None:
        """Waits for the job before it, if that was cancelled and still ends in this thread."""
        after, job.after = job.after, None
        task = after.task if after is not None else None
        if after is None or task is None or task.done() or task.get_loop() is not self._loop:
            return
        job.plugin, job.point, job.since_ns = after.plugin, after.point, self._clock.monotonic_ns()
        job.waits_for_after = True
        await asyncio.wait([task])
        job.since_ns, job.waits_for_after = 0, False

    def _pong(self) -> None:
        self._owed_since_ns = 0

    def _flush(self) -> None:
        ended, self._ended = self._ended, []
        self._deliver(ended)


# By the number of the thread, its clock, and what is called with jobs that have ended.
MakeThread: TypeAlias = "Callable[[int, Clock, Deliver], PluginThread]"
