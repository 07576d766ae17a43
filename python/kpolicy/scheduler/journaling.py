"""Keeps the journal of a running scheduler: opens it, and begins it anew when it needs all objects.

The scheduler never waits for it, and runs on if it cannot be written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kpolicy.clock import NO_PULSE, Clock, Pulse
from kpolicy.journal.engine_calls import Held
from kpolicy.journal.journal_thread import OWN_FOLDER, Journal, JournalStatistics, begun
from kpolicy.journal.limits import ANEW_S
from kpolicy.journal.segment_format import SegmentHeader
from kpolicy.scheduler.loop.informers import Informers
from kpolicy.scheduler.problem_codes import Problem
from kpolicy.scheduler.runtime import EngineThread, Runtime
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics

_log = logging.getLogger(__name__)

RECORDER: Final = "kpolicy run"
_NOTHING: Final = JournalStatistics(0, 0, 0, 0, 0, 0, is_behind=False)


class Journaling:
    """`witness` is the engine's from the beginning; before `open`, nothing is recorded."""

    def __init__(self, folder: Path, bytes_max: int, clock: Clock, run_id: str) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
        self._clock = clock
        self._run_id = run_id
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wanted = asyncio.Event()
        self.journal: Journal | None = None

    def open(self, seed: int, cluster_version: str) -> Problem | None:
        """Called before the engine has done anything that counts."""
        self._loop = asyncio.get_running_loop()
        first = SegmentHeader(
            run=self._run_id,
            recorder=RECORDER,
            began_ns=self._clock.now_ns(),
            seed=seed,
            cluster_version=cluster_version,
        )
        journal = begun(self._folder, first, self._bytes_max, self._clock, self._want_anew)
        if isinstance(journal, str):
            return Problem("KPS211", journal, OWN_FOLDER)
        self.journal = journal
        _log.info("journaling into %s", self._folder)
        return None

    def witness(
        self, name: str, arguments: tuple[Any, ...], options: Mapping[str, Any], answer: Any
    ) -> None:
        if self.journal is not None:
            self.journal(name, arguments, options, answer)

    def stop(self) -> None:
        if self.journal is not None:
            self.journal.stop()

    async def follow(self, informers: Informers, runtime: Runtime, pulse: Pulse = NO_PULSE) -> None:
        """Begins a new epoch whenever one is wanted: every object is listed again, through the
        engine that decides, so that the journal has them."""
        while True:
            pulse.rest(self._wanted.is_set)
            await self._wanted.wait()
            pulse.beat(ANEW_S)
            assert self.journal is not None, "it was opened"
            if self.journal.statistics().is_behind:
                await self._clock.sleep(ANEW_S)
            self._wanted.clear()
            pulse.beat()
            if await asyncio.wrap_future(self.journal.begin_anew()):
                await informers.list_anew()
                await note_held(runtime.engine)

    def observe(self, metrics: SchedulerMetrics) -> None:
        def statistics() -> JournalStatistics:
            return self.journal.statistics() if self.journal is not None else _NOTHING

        metrics.watch(
            "kpolicy_journal_calls_total",
            "counter",
            "Calls of the engine that are in the journal.",
            lambda: {(): statistics().calls},
        )
        metrics.watch(
            "kpolicy_journal_missed_calls_total",
            "counter",
            "Calls of the engine that are not in the journal, because it has a gap.",
            lambda: {(): statistics().missed},
        )
        metrics.watch(
            "kpolicy_journal_gaps_total",
            "counter",
            "Gaps of the journal: the disk refused, or calls came too fast.",
            lambda: {(): statistics().gaps},
        )
        metrics.watch(
            "kpolicy_journal_bytes",
            "gauge",
            "Size of the journal on disk.",
            lambda: {(): statistics().bytes_on_disk},
        )

    def _want_anew(self) -> None:
        """Called in any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wanted.set)


async def note_held(thread: EngineThread) -> None:
    """Notes in the journal what the engine holds that is not in objects."""
    engine = thread.engine

    def checkpoint() -> Held:
        return Held(engine.holdings(), engine.statistics())

    await thread.call(checkpoint)
