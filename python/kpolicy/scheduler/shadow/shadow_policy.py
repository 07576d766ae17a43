"""The shadow policy: read, compiled and loaded into the second engine, and read again on changes.

A shadow policy with errors is reported and changes nothing of the policy in force.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kpolicy.api_times import api_micro_time
from kpolicy.clock import NO_PULSE, Clock, Pulse
from kpolicy.engine import Applied, Decision, Engine, PodChange, PodState, Scheduled
from kpolicy.engine.opinions import Result
from kpolicy.policy.assembly.assemble import Program
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.policy_report import diagnostics
from kpolicy.scheduler.delivery.sources import PolicySource, follow
from kpolicy.scheduler.loop.informers import Informers
from kpolicy.scheduler.loop.reload import Compile, invalid, log_diagnostics
from kpolicy.scheduler.problem_codes import Problem
from kpolicy.scheduler.shadow.second_engine import Loaded, Shadow, Unasked
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics

_log = logging.getLogger(__name__)


# Calls that change what an engine holds.
_FED: Final = frozenset({"list_begin", "list_page", "list_end", "watch", "wrote", "settle"})


class ShadowFeed:
    """The `Witness` of the engine in force: it passes every change and decision to the shadow.
    It runs in the thread of the engine in force, so that the shadow gets everything in the same
    order."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow
        # The profile of each pending pod, by uid, since decisions do not name it.
        self._profiles: dict[str, str] = {}

    def __call__(
        self, name: str, arguments: tuple[Any, ...], options: Mapping[str, Any], answer: Any
    ) -> None:
        if name in _FED and not isinstance(answer, Exception):
            self._shadow.saw(name, *arguments)
        match answer:
            case Applied(pods=pods):
                self._remember(pods)
            case Scheduled(decisions=decisions):
                self._decided(decisions)
            case Decision():
                self._decided([answer])

    def _decided(self, decisions: Sequence[Decision]) -> None:
        self._shadow.decided(
            [(decision, self._profiles.get(decision.uid, "")) for decision in decisions]
        )

    def _remember(self, pods: Sequence[PodChange]) -> None:
        for pod in pods:
            if pod.change == PodState.PENDING:
                self._profiles[pod.uid] = sys.intern(pod.scheduler_name)
            else:
                self._profiles.pop(pod.uid, None)


def _engine() -> Engine:
    """With one thread: nothing waits for it, and it takes no processor from the scheduler."""
    return Engine(threads=1)


class ShadowPolicy:
    def __init__(
        self, compile_with: Compile, clock: Clock, make: Callable[[], Engine] = _engine
    ) -> None:
        self._compile = compile_with
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._behind = asyncio.Event()
        self._shadow = Shadow(make, clock, self._fell_behind)
        self._program: Program | None = None
        self._since_ns = 0
        self._problem: Problem | None = None
        self._diagnostics: tuple[Any, ...] = ()
        self._loaded = Loaded(())

    def witness(self) -> ShadowFeed:
        """Called in the thread of the engine in force."""
        return ShadowFeed(self._shadow)

    async def start(self, source: PolicySource) -> None:
        """Called before the first lists, so that the engine keeps all that the shadow policy reads
        of them."""
        self._loop = asyncio.get_running_loop()
        self._shadow.start()
        await self._read(source)

    async def follow(
        self, source: PolicySource, informers: Informers, pulse: Pulse = NO_PULSE
    ) -> None:
        async def read(changed: PolicySource) -> None:
            if await self._read(changed):
                await self._watch(informers)

        await self._watch(informers)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._catch_up(informers))
            await follow(source, read, self._clock, pulse)

    def stop(self) -> None:
        self._shadow.stop()

    def shown(self) -> dict[str, Any]:
        """For /configz."""
        statistics, program = self._shadow.statistics(), self._program
        return {
            "hash": program.hash if program is not None else None,
            "since": api_micro_time(self._since_ns) if program is not None else None,
            "problem": str(self._problem) if self._problem is not None else None,
            "diagnostics": diagnostics(self._diagnostics),
            "decisions": {result.value: count for result, count in statistics.results.items()},
            "dropped": statistics.dropped,
            "backlog": statistics.backlog,
            "isBehind": statistics.is_behind,
        }

    def observe(self, metrics: SchedulerMetrics) -> None:
        of = self._shadow.statistics

        def results() -> dict[tuple[str, ...], float]:
            found = Counter(of().results)
            return {(result.value,): found[result] for result in Result}

        metrics.watch(
            "kpolicy_shadow_decisions_total",
            "counter",
            "Decisions, by the result of the shadow policy.",
            results,
            ("result",),
        )
        metrics.watch(
            "kpolicy_shadow_dropped_total",
            "counter",
            "Decisions not compared because the shadow policy was too slow.",
            lambda: {(): of().dropped},
        )
        metrics.watch(
            "kpolicy_shadow_backlog",
            "gauge",
            "Calls that wait for the engine of the shadow policy.",
            lambda: {(): of().backlog},
        )
        metrics.watch(
            "kpolicy_shadow_resyncs_total",
            "counter",
            "Restarts of the shadow policy with new lists, because it missed changes.",
            lambda: {(): of().resyncs},
        )
        metrics.watch(
            "kpolicy_shadow_policy_valid",
            "gauge",
            "1 if the shadow policy that was read last is used.",
            lambda: {(): int(self._problem is None)},
        )

    async def _read(self, source: PolicySource) -> bool:
        """Whether there is a new program."""
        problem = self._problem = await self._put_in(source)
        if problem is not None:
            fields = {"code": problem.code, "hint": problem.hint}
            _log.error("the shadow policy is left out: %s", problem.message, extra=fields)
        return problem is None

    async def _put_in(self, source: PolicySource) -> Problem | None:
        sources = await source.read()
        if isinstance(sources, Problem):
            return sources
        compiled = await asyncio.to_thread(self._compile, sources)
        self._diagnostics = compiled.diagnostics
        if compiled.program is None:
            log_diagnostics(compiled.diagnostics)
            return invalid(compiled.diagnostics)
        unasked = Unasked.of(compiled.program)
        self._diagnostics = (*compiled.diagnostics, *unasked.remarks())
        loaded = await asyncio.wrap_future(self._shadow.load(compiled.program.bytes, unasked))
        if loaded.refusals:
            first = loaded.refusals[0]
            message = f"the engine refused the program: {first.code}: {first.message}"
            return Problem("KPS103", message, first.hint)
        self._loaded = loaded
        self._program, self._since_ns = compiled.program, self._clock.now_ns()
        log_diagnostics(unasked.remarks())
        _log.info("comparing with a shadow policy", extra={"policy_hash": compiled.program.hash})
        return None

    async def _watch(self, informers: Informers) -> None:
        problem = await informers.ensure(
            list(self._loaded.resources), list(self._loaded.stale), whose="shadow"
        )
        if problem is not None:
            self._problem = problem
            _log.error("what the shadow policy reads cannot be watched: %s", problem.message)

    async def _catch_up(self, informers: Informers) -> None:
        while True:
            await self._behind.wait()
            _log.warning("the shadow policy fell behind; its cluster is listed anew")
            await self._clock.sleep(limits.SHADOW_RESYNC_S)
            self._behind.clear()
            await asyncio.to_thread(self._shadow.begin_anew)
            await informers.list_anew()

    def _fell_behind(self) -> None:
        """Called in any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._behind.set)
