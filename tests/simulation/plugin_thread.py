"""The thread of plugins on a loop of the simulated world, which a plugin can block."""

from __future__ import annotations

import asyncio

from kpolicy.clock import Clock
from kpolicy.plugins.thread import Deliver, Job, PluginThread
from tests.simulation.event_loop import VirtualLoop


class VirtualPluginThread(PluginThread):
    def __init__(self, number: int, clock: Clock, deliver: Deliver, loop: VirtualLoop) -> None:
        super().__init__(number, clock, deliver, loop)
        self._virtual = loop
        self._serving: asyncio.Task[None] | None = None
        self._blocking: Job | None = None
        loop.on_block = self._note_block

    def start(self) -> None:
        self._serving = self._virtual.create_task(self._serve())
        self._serving.add_done_callback(lambda _: self._virtual.kill())

    @property
    def is_alive(self) -> bool:
        return self._virtual.running_ns is not None

    def blocked(self, now_ns: int, longest_ns: int) -> tuple[bool, Job | None]:
        """A step that blocks is awaited here, so that the thread does not look as if it ran."""
        if self._virtual.blocked_until_ns > now_ns:
            return now_ns - self._virtual.blocked_since_ns > longest_ns, self._blocking
        return super().blocked(now_ns, longest_ns)

    def _note_block(self) -> None:
        self._blocking = self._running
