"""A second engine that is fed what the first one gets, and how its decisions differ.

It adopts every decision of the first, so that one difference does not cause the next. The scheduler
never waits for it: what does not fit into its backlog is dropped, counted, and listed anew. Its
extenders are never asked, since they may count their requests; pods that they could decide are
counted apart.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import Clock
from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.engine import (
    Decision,
    Engine,
    Opinion,
    Refusal,
    Verdict,
)
from kpolicy.engine.opinions import ACTED_ON, Result
from kpolicy.policy.assembly.assemble import Program
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.watched_resources import REQUIRED

_log = logging.getLogger(__name__)


# Results that are not logged.
QUIET: Final = frozenset({Result.SAME, Result.NOT_JUDGED, Result.EXTENDERS_NOT_ASKED})
# Extenders remove nodes and never add any: a pod that is rejected without them is rejected with
# them too.
_CERTAIN: Final = frozenset({Result.FAILED, Result.NOT_JUDGED, Result.WOULD_REJECT})


def without_extenders(opinion: Opinion) -> Result:
    """The comparison of a pod about which the shadow policy would have asked extenders."""
    is_rejected = opinion.result is Result.SAME and opinion.verdict == Verdict.PARKED
    is_certain = opinion.result in _CERTAIN or is_rejected
    return opinion.result if is_certain else Result.EXTENDERS_NOT_ASKED


_HINT: Final = (
    "decisions that they could change are counted as extenders_not_asked; "
    "leave them out of the shadow policy to compare its rules alone"
)


@dataclass(frozen=True, slots=True)
class Unasked:
    """`by_profile`: the resources that each extender manages, for extenders that filter or score.
    An extender without such resources is asked about every pod."""

    by_profile: Mapping[str, tuple[frozenset[str], ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program) -> Unasked:
        by_profile = {}
        for profile in program.profiles:
            managed = tuple(
                frozenset(resource.name for resource in extender.managed_resources)
                for extender in profile.extenders
                if extender.filter_verb or extender.prioritize_verb
            )
            if managed:
                by_profile[profile.scheduler_name] = managed
        return cls(by_profile)

    @property
    def managed(self) -> list[str]:
        """Extended resources that decide which extenders would be asked."""
        every = (names for own in self.by_profile.values() for names in own)
        return sorted(frozenset[str]().union(*every))

    def concern(self, profile: str, requested: frozenset[str]) -> bool:
        """Whether one of them would be asked about a pod that requests these of `managed`."""
        own = self.by_profile.get(profile, ())
        return any(not names or bool(names & requested) for names in own)

    def remarks(self) -> tuple[Diagnostic, ...]:
        if not self.by_profile:
            return ()
        served = ", ".join(sorted(self.by_profile))
        message = f"extenders of the shadow policy are not asked (profiles: {served})"
        return (Diagnostic("KPS106", Severity.WARNING, message, _HINT),)


@dataclass(frozen=True, slots=True)
class Loaded:
    """`resources` must be watched; those in `stale` must be listed again."""

    refusals: tuple[Refusal, ...]
    resources: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShadowStatistics:
    """`is_behind`: the shadow missed some changes, and waits for new lists."""

    results: dict[Result, int]
    backlog: int
    dropped: int
    resyncs: int
    is_behind: bool


# A decision, and the profile of its pod.
_Decided: TypeAlias = tuple[Decision, str]
# A call of the engine with its arguments, whose size in bytes is counted; decisions; or a policy.
_Work: TypeAlias = (
    "tuple[str, tuple[object, ...]] | list[_Decided] | tuple[bytes, Unasked, Future[Loaded]]"
)


class Shadow:
    """`on_behind` is called in any thread when a new engine needs new lists. Then follow
    `begin_anew` and the lists."""

    def __init__(
        self,
        make: Callable[[], Engine],
        clock: Clock,
        on_behind: Callable[[], None],
    ) -> None:
        self._make = make
        self._clock = clock
        self._on_behind = on_behind
        self._engine = make()
        self._program = b""
        self._unasked = Unasked()
        self._work: deque[tuple[_Work, int]] = deque()
        self._bytes = 0
        self._more = threading.Condition()
        self._is_stopped = False
        self._is_behind = False
        self._whole: set[str] = set()  # resources whose list it has read completely
        self._results: Counter[Result] = Counter()
        self._dropped = self._resyncs = 0
        self._lines_left, self._lines_since_ns = limits.SHADOW_LOG_LINES_MAX, 0
        self._thread = threading.Thread(target=self._run, name="kpolicy-shadow", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._more:
            self._is_stopped = True
            self._more.notify()

    def statistics(self) -> ShadowStatistics:
        return ShadowStatistics(
            dict(self._results), len(self._work), self._dropped, self._resyncs, self._is_behind
        )

    # --- from the thread of the engine in force: never waits --------------------------------------

    def saw(self, call: str, *arguments: object) -> None:
        """The engine in force was given this change."""
        size = sum(len(argument) for argument in arguments if isinstance(argument, bytes))
        with self._more:
            if self._is_behind:
                return
            too_many = len(self._work) >= limits.SHADOW_BACKLOG_MAX
            if too_many or self._bytes + size > limits.SHADOW_BACKLOG_BYTES_MAX:
                self._fall_behind()
                return
            self._put((call, arguments), size)

    def decided(self, decisions: Sequence[_Decided]) -> None:
        """The engine in force made these decisions, for pods of these profiles."""
        acted_on = [decision for decision in decisions if decision[0].verdict in ACTED_ON]
        with self._more:
            # Changes have precedence: without them, every later decision would be wrong.
            if self._is_behind or len(self._work) >= limits.SHADOW_BACKLOG_MAX // 2:
                self._dropped += len(acted_on)
            elif acted_on:
                self._put(acted_on, 0)

    # --- from the loop ----------------------------------------------------------------------------

    def load(self, program: bytes, unasked: Unasked) -> Future[Loaded]:
        """From now on, compares with this program. Its extenders are not asked."""
        loaded: Future[Loaded] = Future()
        with self._more:
            self._put((program, unasked, loaded), 0)
        return loaded

    def begin_anew(self) -> None:
        """Starts again with an empty engine; lists must follow. No other part waits for this."""
        while True:
            engine, program = self._make(), self._program
            if program:
                engine.load(program)
            with self._more:
                if program is self._program:
                    self._engine = engine
                    self._whole.clear()
                    self._is_behind = False
                    self._resyncs += 1
                    return

    # --- in its own thread ------------------------------------------------------------------------

    def _run(self) -> None:
        if sys.platform == "linux":  # decisions of the policy in force come first
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), limits.SHADOW_NICENESS)
        while True:
            with self._more:
                while not self._work and not self._is_stopped:
                    self._more.wait()
                if self._is_stopped:
                    return
                work, size = self._work.popleft()
                self._bytes -= size
                engine = self._engine
            try:
                self._do(work, engine)
            except Exception:
                _log.exception("the shadow policy's engine failed; it begins anew")
                with self._more:
                    self._fall_behind()

    def _do(self, work: _Work, engine: Engine) -> None:
        match work:
            case list() as decisions:
                self._compare(decisions, engine)
            case (bytes() as program, Unasked() as unasked, Future() as loaded):
                self._load(program, unasked, loaded, engine)
            case (str() as call, tuple() as arguments):
                getattr(engine, call)(*arguments)
                with self._more:
                    if call == "list_end" and engine is self._engine:
                        self._whole.add(str(arguments[0]))

    def _load(
        self, program: bytes, unasked: Unasked, loaded: Future[Loaded], engine: Engine
    ) -> None:
        try:
            refusals = tuple(engine.load(program))
            if refusals:
                loaded.set_result(Loaded(refusals))
                return
            self._program, self._unasked = program, unasked
            loaded.set_result(Loaded((), tuple(engine.resources()), tuple(engine.stale())))
        except BaseException as error:
            loaded.set_exception(error)
            raise

    def _compare(self, decided: list[_Decided], engine: Engine) -> None:
        # Other resources an older cluster may lack, and then no list of them ever ends.
        if not self._program or not self._whole >= REQUIRED:
            self._dropped += len(decided)
            return
        concerned = self._concerned(decided, engine)
        opinions = engine.second_opinions(
            [(decision.uid, decision.node) for decision, _ in decided], self._clock.now_ns()
        )
        for (decision, _), opinion in zip(decided, opinions, strict=True):
            is_concerned = decision.uid in concerned
            result = without_extenders(opinion) if is_concerned else opinion.result
            self._results[result] += 1
            if result not in QUIET:
                self._log_difference(decision, opinion, result)

    def _concerned(self, decided: list[_Decided], engine: Engine) -> set[str]:
        """The pods about which extenders would be asked if the shadow policy were in force."""
        own = [
            (decision.uid, name) for decision, name in decided if name in self._unasked.by_profile
        ]
        if not own:
            return set()
        requested = engine.requested([uid for uid, _ in own], self._unasked.managed)
        return {
            uid
            for (uid, profile), names in zip(own, requested, strict=True)
            if self._unasked.concern(profile, frozenset(names))
        }

    def _log_difference(self, decision: Decision, opinion: Opinion, result: Result) -> None:
        now_ns = self._clock.monotonic_ns()
        if now_ns - self._lines_since_ns >= limits.SHADOW_LOG_PERIOD_S * NANOSECONDS:
            self._lines_left, self._lines_since_ns = limits.SHADOW_LOG_LINES_MAX, now_ns
        if self._lines_left <= 0:
            return
        self._lines_left -= 1
        _log.info(
            "the shadow policy differs: %s",
            result.value,
            extra={
                "pod": f"{decision.namespace}/{decision.name}",
                "result": result.value,
                "node": decision.node,
                "shadow_node": opinion.node,
            },
        )

    # --- under the lock ---------------------------------------------------------------------------

    def _put(self, work: _Work, size: int) -> None:
        self._work.append((work, size))
        self._bytes += size
        self._more.notify()

    def _fall_behind(self) -> None:
        if self._is_behind:
            return
        self._is_behind = True
        kept = [
            waiting
            for waiting in self._work
            if isinstance(waiting[0], tuple) and isinstance(waiting[0][-1], Future)
        ]
        dropped = [len(work) for work, _ in self._work if isinstance(work, list)]
        self._dropped += sum(dropped)
        self._work = deque(kept)
        self._bytes = 0
        self._on_behind()
