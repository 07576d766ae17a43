"""Asks plugins before pods are tried, and wakes the pods that plugins refused.

A pod that enters the queue's active lane first waits, as one with scheduling gates does, until
PreEnqueue plugins have let it through and the plugin that orders the queue gave it a key.
"""

from __future__ import annotations

import asyncio
import logging

from kpolicy.clock import NO_PULSE, Pulse
from kpolicy.engine import Applied, PodState
from kpolicy.plugins.stages import Admitted, admit
from kpolicy.plugins.thread import Failed
from kpolicy.plugins.waiting import Rejected
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import QueueFeed
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.plugged.host import PluginHost

_log = logging.getLogger(__name__)

# The event by which plugins' pods are woken, whatever it was.
ANY_EVENT = "ClusterEvent"
_PODS = "pods"


class PluginAdmission:
    """The queue's `Admission`. Run it as a task."""

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._asked: list[Attempt] = []
        self._work = asyncio.Event()
        self._window = asyncio.Semaphore(limits.ADMISSIONS_MAX)

    @property
    def orders(self) -> bool:
        return self._host.orders_queue

    def asks(self, profile: str) -> bool:
        return self._host.of(profile).asks_before_the_queue

    def ask(self, pod: Attempt) -> None:
        self._asked.append(pod)
        self._work.set()

    async def run(self, feed: QueueFeed, group: asyncio.TaskGroup, pulse: Pulse = NO_PULSE) -> None:
        while True:
            self._work.clear()
            asked, self._asked = self._asked, []
            for pod in asked:
                await self._window.acquire()
                pulse.beat()
                group.create_task(self._admit(pod, feed))
            pulse.rest(self._work.is_set)
            await self._work.wait()

    async def _admit(self, pod: Attempt, feed: QueueFeed) -> None:
        queue, host = feed.queue, self._host
        try:
            work = admit(host.pod(pod), host.of(pod.profile))
            answer = await host.runner.answer(host.runner.begin(pod.key, work))
        finally:
            self._window.release()
        now_ns = host.clock.monotonic_ns()
        match answer:
            case Rejected(plugin=plugin, message=message):
                queue.hold(pod.uid, plugin, now_ns)
                _log.debug("%s is held by plugin %s: %s", pod.key, plugin, message)
            case Failed(message=message):
                queue.fail_admission(pod.uid, now_ns)
                _log.warning("%s: %s", pod.key, message)
            case Admitted(key=key, trouble=trouble):
                queue.admit(pod.uid, key, now_ns)
                if trouble:
                    _log.warning("%s is queued by priority: %s", pod.key, trouble)
        feed.signals.work_came()


class PluginWakes:
    """Gives the store of pods what the watches bring, and wakes refused pods. Run it as a task."""

    def __init__(self, host: PluginHost, queue: Queue) -> None:
        self._host = host
        self._queue = queue
        self._news = asyncio.Event()

    async def page(self, resource: str, body: bytes) -> None:
        if resource == _PODS:
            await asyncio.to_thread(self._host.store.page, body)

    def lines(self, resource: str, lines: bytes) -> None:
        if resource == _PODS:
            self._host.store.lines(lines)

    def applied(self, resource: str, applied: Applied) -> None:
        """Called before the queue hears of it. That a pending pod changes is news for no other pod,
        and kpolicy itself writes to pods that it cannot place."""
        if resource != _PODS:
            self._news.set()
            return
        self._host.store.applied(applied.pods)
        if any(
            pod.change != PodState.PENDING or self._queue.get(pod.uid) is None
            for pod in applied.pods
        ):
            self._news.set()

    def policy_changed(self) -> None:
        self._news.set()

    async def run(self, feed: QueueFeed, pulse: Pulse = NO_PULSE) -> None:
        while True:
            pulse.rest(self._news.is_set)
            await self._news.wait()
            pulse.beat()
            self._news.clear()
            if self._queue.wake_refused(ANY_EVENT, self._host.clock.monotonic_ns()):
                feed.signals.work_came()
            await self._host.clock.sleep(limits.REFUSED_WAKES_S_MIN)
