"""Puts policies in force: at the start, and at every reload.

The texts are read, compiled beside the event loop, and loaded between two cycles; then parked pods
are tried again. Whatever goes wrong, the program before stays in force.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import Compiled
from kpolicy.policy.tenants.outcome import TenantOutcome, sources_in_force
from kpolicy.policy.yaml.source import Source
from kpolicy.regular_files import off_loop
from kpolicy.release_table import RELEASE_NAMES
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.sources import PolicySource
from kpolicy.scheduler.extenders.in_force import Extenders, ExtendersInForce
from kpolicy.scheduler.loop.queue_feed import QueueFeed
from kpolicy.scheduler.problem_codes import (
    FINDINGS,
    Problem,
)
from kpolicy.scheduler.runtime import Runtime

_log = logging.getLogger(__name__)

POLICY_CHANGED = "PolicyUpdate"
_LEVELS = {
    Severity.ERROR: logging.ERROR,
    Severity.WARNING: logging.WARNING,
    Severity.INFO: logging.INFO,
}


Compile = Callable[[Sequence[Source]], Compiled]
# Have every resource watched and its list whole, the second ones listed anew; or why one cannot be.
Watch = Callable[[list[str], list[str]], Awaitable[Problem | None]]


@dataclass(frozen=True, slots=True)
class InForce:
    """`is_last_good`: the source now has other content, which did not compile."""

    program: Program
    generation: int
    since_ns: int
    sources: tuple[Source, ...] = ()
    is_last_good: bool = False

    @property
    def hash(self) -> str:
        return self.program.hash

    @property
    def profiles(self) -> frozenset[str]:
        return frozenset(self.program.scheduler_names)


@dataclass(frozen=True, slots=True)
class Reloaded:
    """`result` is loaded or unchanged, or why the policy was not loaded: unreadable, invalid or
    refused."""

    result: str
    diagnostics: tuple[Diagnostic, ...] = ()
    problem: Problem | None = None
    at_ns: int = 0

    @property
    def in_force(self) -> bool:
        return self.problem is None


class Reloader:
    def __init__(
        self,
        runtime: Runtime,
        feed: QueueFeed,
        *,
        compile_with: Compile,
        watch: Watch,
        extenders: ExtendersInForce,
    ) -> None:
        self._runtime = runtime
        self._feed = feed
        self._compile = compile_with
        self._watch_resources = watch
        self._extenders = extenders
        self._listeners: list[Callable[[Reloaded], None]] = []
        self._turn = asyncio.Lock()
        self.in_force: InForce | None = None
        self.last = Reloaded("none")
        # What became of the policies of each tenant when the program in force was compiled.
        self.tenants: tuple[TenantOutcome, ...] = ()
        # The last policy that could not be put in force.
        self.refused: Reloaded | None = None

    def subscribe(self, listener: Callable[[Reloaded], None]) -> None:
        """Calls it after every reload, whatever the result."""
        self._listeners.append(listener)

    def policies(self) -> tuple[str, ...]:
        """Names of those in force."""
        return self.in_force.program.policies if self.in_force is not None else ()

    async def read(self, source: PolicySource) -> Reloaded:
        sources = await source.read()
        if isinstance(sources, Problem):
            return self._done(Reloaded("unreadable", problem=sources))
        return await self.apply(sources)

    async def apply(self, sources: Sequence[Source]) -> Reloaded:
        async with self._turn:
            return self._done(await self._apply(tuple(sources)))

    async def restore(self, sources: Sequence[Source]) -> Problem | None:
        """Puts the last good policy in force, because the present one cannot be used. `last` still
        says what is wrong with the present one."""
        async with self._turn:
            restored = await self._apply(tuple(sources), is_last_good=True)
            if restored.problem is None and self.in_force is not None:
                self._show(self.in_force)
                for listener in self._listeners:
                    listener(self.last)
        return restored.problem

    async def _apply(self, sources: tuple[Source, ...], *, is_last_good: bool = False) -> Reloaded:
        compiled = await asyncio.to_thread(self._compile, sources)
        diagnostics = compiled.diagnostics
        if compiled.program is None:
            return Reloaded("invalid", diagnostics, invalid(diagnostics))
        before = self.in_force
        if before is not None and before.program == compiled.program:
            self._note(compiled, sources, is_last_good=is_last_good)
            return Reloaded("unchanged", diagnostics)
        try:
            extenders = await off_loop(Extenders.of, compiled.program, self._runtime.clock)
        except TimeoutError as error:
            text = f"a file that an extender of the policy names was {error.strerror}"
            extenders = Problem("KPS204", text, "name a file on a disk that answers", FINDINGS)
        if isinstance(extenders, Problem):
            return Reloaded("refused", diagnostics, extenders)
        async with self._feed.signals.deciding:
            problem = await self._load(compiled.program)
            if problem is None:
                problem = await self._watch()
                if problem is not None and before is not None:
                    await self._load(before.program)
                    await self._watch()
            if problem is not None:
                return Reloaded("refused", diagnostics, problem)
            self._extenders.replace(extenders)
            await self._enforce(compiled.program, before)
            self._note(compiled, sources, is_last_good=is_last_good)
        return Reloaded("loaded", diagnostics)

    def _note(self, compiled: Compiled, sources: Sequence[Source], *, is_last_good: bool) -> None:
        """Remembers what the program in force was compiled from."""
        self.tenants = compiled.tenants
        listed = sources_in_force(sources, compiled.tenants)
        if self.in_force is not None:
            self.in_force = replace(self.in_force, sources=listed, is_last_good=is_last_good)

    async def _watch(self) -> Problem | None:
        """Watches what the program in force reads, and lists again what was read for another
        program."""
        engine = self._runtime.engine.engine
        resources = await self._runtime.engine.call(engine.resources)
        return await self._watch_resources(resources, await self._runtime.engine.call(engine.stale))

    async def _load(self, program: Program) -> Problem | None:
        refusals = await self._runtime.engine.statistics.load(program.bytes)
        if not refusals:
            # Before the lists, so that no pod is missed. Nothing is decided before `_enforce`.
            self._feed.serve(frozenset(program.scheduler_names))
            return None
        first = refusals[0]
        more = f" and {len(refusals) - 1} more" if len(refusals) > 1 else ""
        text = f"the engine refused the program: {first.code} at {first.place}: {first.message}"
        return Problem("KPS103", text + more, first.hint, FINDINGS)

    async def _enforce(self, program: Program, before: InForce | None) -> None:
        generation = before.generation + 1 if before is not None else 1
        self._feed.queue.names = RELEASE_NAMES[program.followed.release]
        self.in_force = InForce(program, generation, self._runtime.clock.now_ns())
        engine = self._runtime.engine
        self._feed.queue.follow_policy(
            is_ordered=await engine.call(engine.engine.orders_queue),
            holds_pods=await engine.call(engine.engine.holds_pods),
            periods=program.periods,
        )
        for uid in self._feed.queue.unserved(self._feed.serves):
            self._feed.queue.gone(uid)
        if before is not None:
            await self._feed.take_pods(
                await self._runtime.engine.call(self._runtime.engine.engine.pending)
            )
            await self._wake_parked()
        self._feed.signals.work_came()

    async def _wake_parked(self) -> None:
        woken = limits.SLICE_PODS
        while woken == limits.SLICE_PODS:
            now_ns = self._runtime.clock.monotonic_ns()
            woken = self._feed.queue.wake_all(POLICY_CHANGED, limits.SLICE_PODS, now_ns)
            await asyncio.sleep(0)

    def _done(self, reloaded: Reloaded) -> Reloaded:
        self.last = reloaded = replace(reloaded, at_ns=self._runtime.clock.now_ns())
        if reloaded.problem is not None:
            self.refused = reloaded
        self._runtime.metrics.reloaded(
            reloaded.result, in_force=reloaded.in_force, now_ns=reloaded.at_ns
        )
        now = self.in_force
        # At the start nothing is in force: the problem is printed to the user and not logged.
        if now is not None:
            self._show(now)
            log_diagnostics(reloaded.diagnostics)
            _log_outcome(reloaded, now)
        for listener in self._listeners:
            listener(reloaded)
        return reloaded

    def _show(self, now: InForce) -> None:
        self._runtime.metrics.policy_info.replace({(now.hash, str(now.generation)): 1})
        is_kept = now.is_last_good or not self.last.in_force
        self._runtime.metrics.policy_last_good.set(int(is_kept))


def log_diagnostics(diagnostics: Sequence[Diagnostic]) -> None:
    for diagnostic in diagnostics[: limits.DIAGNOSTICS_LOGGED_MAX]:
        _log.log(_LEVELS[diagnostic.severity], diagnostic.message, extra=_fields(diagnostic))
    if (more := len(diagnostics) - limits.DIAGNOSTICS_LOGGED_MAX) > 0:
        _log.warning("%d more diagnostics; run kpolicy lint to see them", more)


def _log_outcome(reloaded: Reloaded, now: InForce) -> None:
    fields: dict[str, object] = {"policy_hash": now.hash, "generation": now.generation}
    if reloaded.problem is not None:
        problem = reloaded.problem
        fields |= {"code": problem.code, "hint": problem.hint}
        _log.error("%s; the policy before stays in force", problem.message, extra=fields)
    elif reloaded.result == "loaded":
        _log.info("policy in force for %s", ", ".join(sorted(now.profiles)), extra=fields)


def invalid(diagnostics: Sequence[Diagnostic]) -> Problem:
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]
    count = f"{len(errors)} error{'' if len(errors) == 1 else 's'}"
    first = f", first: {one_line(errors[0])}" if errors else ""
    return Problem(
        "KPS102", f"the policy has {count}{first}", "kpolicy lint shows them all", FINDINGS
    )


def one_line(diagnostic: Diagnostic) -> str:
    where = f"{diagnostic.place}: " if diagnostic.place is not None else ""
    return f"{where}{diagnostic.code} {diagnostic.message}"


def _fields(diagnostic: Diagnostic) -> dict[str, object]:
    place = str(diagnostic.place or "")
    known = {"place": place, "field": diagnostic.field, "hint": diagnostic.hint}
    return {"code": diagnostic.code, **{name: text for name, text in known.items() if text}}
