"""Asks plugins from the scheduler's loop, and bounds what this costs.

Questions of one turn of the loop go over together. A call that takes too long is given up; a call
that blocks the thread costs the thread, which is replaced by a fresh one. The scheduler's loop only
looks at the clock.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import NO_PULSE, Clock, Pulse
from kpolicy.plugins import limits
from kpolicy.plugins.thread import Failed, Job, MakeThread, PluginThread, Timing, Work

_log = logging.getLogger(__name__)


class PluginRunner:
    """Run it as a task. `on_timing` is called in the scheduler's loop after each call."""

    def __init__(
        self,
        clock: Clock,
        call_s_max: float,
        on_timing: Callable[[Timing], None],
        make_thread: MakeThread = PluginThread,
    ) -> None:
        self._clock = clock
        self._call_ns_max = round(call_s_max * NANOSECONDS)
        self._call_s_max = call_s_max
        self._on_timing = on_timing
        self._make_thread = make_thread
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: PluginThread | None = None
        # With the job that blocks it, if that is known.
        self._blocked: list[tuple[PluginThread, Job | None]] = []
        self._barred: frozenset[tuple[str, str]] = frozenset()
        self._outgoing: list[Job] = []
        self._under_way: dict[Job, None] = {}
        self._work = asyncio.Event()
        self._incoming: deque[tuple[Job, Any]] = deque()
        self._is_delivering = self._is_sending = False
        self._is_stopped = False
        self.threads_made = 0
        self.threads_blocked = 0  # since the start

    @property
    def threads_blocked_now(self) -> int:
        return sum(thread.is_alive for thread, _ in self._blocked)

    def begin(
        self, pod: str, work: Work, after: Job | None = None, *, can_wait: bool = False
    ) -> Job:
        """Begins with the next turn of the loop, or a little later if it can wait. `answer` waits
        for the answer."""
        self._loop = loop = asyncio.get_running_loop()
        job = Job(pod, work, loop.create_future(), after)
        if can_wait and not self._outgoing:
            loop.call_later(limits.LINGER_S, self._send)
        elif not can_wait and not self._is_sending:
            self._is_sending = True
            loop.call_soon(self._send)
        self._outgoing.append(job)
        self._under_way[job] = None
        self._work.set()
        return job

    async def answer(self, job: Job) -> Any:
        """The answer, or `Failed`. If the caller is cancelled, so is the work."""
        try:
            return await job.answer
        except asyncio.CancelledError:
            self.give_up(job, "")
            raise

    def give_up(self, job: Job, why: str) -> None:
        """Nobody needs the answer any more. A `Failed` is the answer."""
        if job in self._under_way:
            self._end(job, Failed(why))
            if self._thread is not None:
                self._thread.cancel(job)

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        """Looks at the time that calls take."""
        look_s = min(limits.LOOK_S_MAX, limits.LOOK_PART * self._call_s_max)
        while True:
            self._work.clear()
            while self._under_way:
                pulse.beat()
                await self._clock.sleep(look_s)
                self.look()
            pulse.rest(self._work.is_set)
            await self._work.wait()

    def look(self) -> None:
        now_ns = self._clock.monotonic_ns()
        thread = self._thread
        if thread is not None:
            is_blocked, job = thread.blocked(now_ns, self._call_ns_max)
            if is_blocked or thread.has_ended:
                self._replace(thread, job, now_ns)
            else:
                thread.ping()
        for job in tuple(self._under_way):
            since_ns = job.since_ns
            if since_ns and now_ns - since_ns > self._call_ns_max:
                self._give_up(job, now_ns, f"no answer within {self._call_s_max:g} s")
                if self._thread is not None:
                    self._thread.cancel(job)

    def stop(self) -> None:
        """No plugin is asked from now on. Threads that are blocked are not waited for."""
        self._is_stopped = True
        for thread in (self._thread, *(blocked for blocked, _ in self._blocked)):
            if thread is not None:
                thread.stop()
        self._thread = None
        for job in tuple(self._under_way):
            self._end(job, Failed("plugins are not asked any more: the scheduler stops"))

    # --- inside ----------------------------------------------------------------------------------

    def _send(self) -> None:
        jobs, self._outgoing, self._is_sending = self._outgoing, [], False
        if not jobs:  # they went over with others
            return
        if self._blocked:
            self._bar()
        thread = self._ready_thread()
        if thread is None:
            for job in jobs:
                self._end(job, Failed(self._refusal()))
            return
        thread.submit(jobs)

    def _ready_thread(self) -> PluginThread | None:
        is_left = len(self._blocked) < limits.BLOCKED_THREADS_MAX
        if self._thread is None and is_left and not self._is_stopped:
            self.threads_made += 1
            self._thread = self._make_thread(self.threads_made, self._clock, self._deliver)
            self._thread.barred = self._barred
            self._thread.start()
        return self._thread

    def _bar(self) -> None:
        """A plugin that blocks a thread for a pod is not asked about it again until that ends, and
        one that blocks many not at all: it would block all threads in the end."""
        self._blocked = [(thread, job) for thread, job in self._blocked if thread.is_alive]
        jobs = [job for _, job in self._blocked if job is not None]
        counts = Counter(job.plugin for job in jobs)
        barred = {(job.plugin, job.pod) for job in jobs}
        barred |= {(name, "") for name, n in counts.items() if n >= limits.BLOCKED_BY_PLUGIN_MAX}
        self._barred = frozenset(barred)
        if self._thread is not None:
            self._thread.barred = self._barred

    def _refusal(self) -> str:
        if self._is_stopped:
            return "plugins are not asked any more: the scheduler stops"
        return f"plugins are not asked: {len(self._blocked)} of their threads are blocked"

    def _replace(self, thread: PluginThread, culprit: Job | None, now_ns: int) -> None:
        """Gives the thread up. What it has not begun with goes to the next one; what it has begun
        cannot go on, and is tried again by its caller."""
        self.threads_blocked += 1
        self._blocked.append((thread, culprit))
        self._thread = None
        thread.stop()
        self._bar()
        what = culprit.call if culprit is not None else "something that a plugin has begun"
        does = "has ended it" if thread.has_ended else "blocks it"
        _log.error(
            "KPS305: the thread of plugins was replaced, because %s %s",
            what,
            does,
            extra={"pod": culprit.pod if culprit is not None else "", "code": "KPS305"},
        )
        waiting = []
        for job in tuple(self._under_way):
            if job is culprit:
                self._give_up(job, now_ns, f"it blocks for longer than {self._call_s_max:g} s")
            elif job.is_begun:
                why = f"the thread of plugins was replaced, because {what} {does}"
                self._end(job, Failed(why, is_lost=True, is_anothers=True))
            elif job not in self._outgoing:
                waiting.append(job)
        next_thread = self._ready_thread()
        if next_thread is not None:
            next_thread.submit(waiting)
            return
        for job in waiting:
            self._end(job, Failed(self._refusal()))

    def _deliver(self, ended: list[tuple[Job, Any]]) -> None:
        """Called in the thread of plugins."""
        self._incoming.extend(ended)
        if not self._is_delivering and self._loop is not None:
            self._is_delivering = True
            with suppress(RuntimeError):  # the scheduler's loop is closed
                self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        self._is_delivering = False
        while self._incoming:
            job, answer = self._incoming.popleft()
            if job in self._under_way:  # otherwise it was given up, and is counted already
                for timing in job.timings:
                    self._on_timing(timing)
                self._end(job, answer)

    def _give_up(self, job: Job, now_ns: int, why: str) -> None:
        """Ends a job whose call has no end."""
        seconds = (now_ns - job.since_ns) / NANOSECONDS
        self._on_timing(Timing(job.plugin, job.point, "Error", seconds))
        text, is_anothers = f"{job.call}: {why}", job.waits_for_after
        self._end(job, Failed(text, is_lost=True, is_anothers=is_anothers))

    def _end(self, job: Job, answer: Any) -> None:
        self._under_way.pop(job, None)
        if not job.answer.done():
            job.answer.set_result(answer)
