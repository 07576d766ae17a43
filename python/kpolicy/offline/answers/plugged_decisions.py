"""Decisions with plugins, offline: PreEnqueue, QueueSort, Reserve and Permit are asked, about one
pod after the other. The other points act on a cluster, and are not asked.

No time passes: a pod that waits on Permit goes on when plugins allow it, and its time is over when
no pod is left to try. Each pod is tried once.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.clock import SystemClock, first_of
from kpolicy.engine import Decision, Engine, Outcome, PodChange, Verdict
from kpolicy.offline.snapshots.cluster_snapshot import Progress, has_ended, node_of
from kpolicy.offline.snapshots.json_objects import uid_of
from kpolicy.plugins import stages
from kpolicy.plugins.handle import ApiAnswer, Handle
from kpolicy.plugins.limits import CALL_S
from kpolicy.plugins.loading import PluginClass, not_made
from kpolicy.plugins.order import LoadedPlugin, PluginsByProfile, ProfilePlugins
from kpolicy.plugins.pods import Pod, PodStore
from kpolicy.plugins.points import Point
from kpolicy.plugins.runner import PluginRunner
from kpolicy.plugins.thread import Failed, Work
from kpolicy.plugins.waiting import Rejected, WaitingPod, WaitingPods
from kpolicy.policy.assembly.assemble import Program

_log = logging.getLogger(__name__)

_NO_SERVER: Final = ApiAnswer(0, b"offline, there is no API server")


class PluginNotMadeError(ValueError):
    """The constructor of a plugin failed."""


@dataclass(frozen=True, slots=True)
class _Wait:
    decision: Decision
    plugins: ProfilePlugins
    waiting: WaitingPod


class PluggedDecisions:
    """Decides the pods of an engine. `plugged_decisions` makes it, and ends its thread."""

    def __init__(self, engine: Engine, now_ns: int, plugins: Sequence[PluginClass]) -> None:
        self._engine = engine
        self._now_ns = now_ns
        self._store = PodStore(keeps_bound=any(kind.reads_bound_pods for kind in plugins))
        self._registry = WaitingPods()
        self._keys = itertools.count()
        # By uid, in the order in which they began to wait.
        self._waits: dict[str, _Wait] = {}
        self._loop = asyncio.Runner()
        self._runner = PluginRunner(SystemClock(), CALL_S, lambda _: None)
        self._profiles: PluginsByProfile | None = None

    def load(self, program: Program, plugins: Sequence[PluginClass]) -> None:
        """Makes the plugins. Raises `PluginNotMadeError`."""
        handle, loaded = Handle(self._store, self._registry, _unanswered, _at_once), []
        for kind in plugins:
            made = self._ask("", stages.make(kind, handle))
            if isinstance(made, Failed):
                raise PluginNotMadeError(not_made(kind, made.message))
            loaded.append(LoadedPlugin(kind, made))
        self._profiles = PluginsByProfile(loaded, program)

    def see(self, items: Iterable[Mapping[str, Any]]) -> None:
        """The objects of the cluster; plugins know of its pods."""
        for item in items:
            pod, metadata = dict(item), item.get("metadata")
            if item.get("kind") != "Pod" or not isinstance(metadata, dict) or has_ended(pod):
                continue
            namespace, name = str(metadata.get("namespace") or "default"), str(metadata.get("name"))
            seen = Pod(namespace, name, uid_of(item), json.dumps(item).encode())
            self._store.keep(seen, is_on_node=bool(node_of(pod)))

    def decide(
        self, pods: Iterable[PodChange], progress: Progress | None = None
    ) -> Iterator[Decision]:
        """What became of each pod, when it is certain."""
        ordered = self._in_order(pods)
        for done, (pod, held) in enumerate(ordered, 1):
            decision = held or self._tried(pod)
            if decision is not None:
                yield decision
            yield from self._ended_waits()
            if progress is not None:
                progress(done, len(ordered))
        while self._waits:
            waiting = (wait.waiting for wait in self._waits.values())
            first = min(waiting, key=WaitingPod.first_end_ns)
            first.time_out(first.first_end_ns())
            yield from self._ended_waits()

    def decide_now(self, pod: PodChange) -> Decision:
        """What becomes of one pod before others come. If it waits, it keeps its place."""
        [(_, held)] = self._in_order([pod])
        decision = held or self._tried(pod)
        ended = {over.uid: over for over in self._ended_waits()}
        decision = decision or ended.get(pod.uid)
        if decision is None:
            wait = self._waits[pod.uid]
            message = f"waits on Permit: {', '.join(wait.waiting.pending_plugins())}"
            decision = _unplaced(wait.decision, Verdict.PARKED, message)
        return decision

    def close(self) -> None:
        self._runner.stop()
        self._loop.close()

    # --- inside ----------------------------------------------------------------------------------

    def _in_order(self, pods: Iterable[PodChange]) -> list[tuple[PodChange, Decision | None]]:
        """As the queue would try them; and the decision about those that are held."""
        keyed: list[tuple[tuple[Any, ...], PodChange, Decision | None]] = []
        for place, pod in enumerate(pods):
            of_plugins, plugins = self._known(pod), self._of(pod.scheduler_name)
            answer = self._ask(of_plugins.key, stages.admit(of_plugins, plugins))
            key: tuple[float, ...] | None = None
            held: Decision | None = None
            match answer:
                case Rejected(plugin=plugin, message=message):
                    held = _held(pod, Verdict.GATED, message, plugin)
                case Failed(message=message):
                    held = _held(pod, Verdict.FAILED, message)
                case stages.Admitted(key=found, trouble=trouble):
                    key = found
                    _tell(of_plugins.key, trouble)
            keyed.append(((key is None, key or (), place), pod, held))
        return [(pod, held) for _, pod, held in sorted(keyed, key=lambda each: each[0])]

    def _tried(self, pod: PodChange) -> Decision | None:
        """None: it waits on Permit."""
        [decision] = self._engine.schedule([pod.uid], self._now_ns).decisions
        if decision.verdict != Verdict.PLACED:
            return decision
        of_plugins, plugins = self._known(pod), self._of(pod.scheduler_name)

        def begin_wait(seconds: dict[str, float]) -> None:
            waiting = WaitingPod(of_plugins, decision.node, seconds, 0, next(self._keys))
            self._registry.add(waiting)
            self._waits[pod.uid] = _Wait(decision, plugins, waiting)

        work = stages.reserve_and_permit(of_plugins, decision.node, plugins, begin_wait)
        answer = self._ask(of_plugins.key, work)
        return None if answer is True else self._end(decision, plugins, answer)

    def _ended_waits(self) -> Iterator[Decision]:
        """The end of one wait may end others."""
        while True:
            over = [wait for wait in self._waits.values() if wait.waiting.outcome() is not False]
            if not over:
                return
            for wait in over:
                uid = wait.decision.uid
                self._registry.remove(uid, wait.waiting.key)
                del self._waits[uid]
                yield self._end(wait.decision, wait.plugins, wait.waiting.outcome())

    def _end(self, decision: Decision, plugins: ProfilePlugins, answer: object) -> Decision:
        match answer:
            case Rejected(plugin=plugin, of_the_node=message):
                ended = _unplaced(decision, Verdict.PARKED, message, plugin)
            case Failed(message=message):
                ended = _unplaced(decision, Verdict.FAILED, message)
            case _:  # it would be bound
                self._store.just_bound(decision.uid, decision.node)
                return decision
        pod = self._store.of(decision.namespace, decision.name, decision.uid)
        for reserving in reversed(plugins.at(Point.RESERVE)):
            undone = self._ask(pod.key, stages.unreserve(pod, decision.node, reserving))
            _tell(pod.key, undone.message if isinstance(undone, Failed) else "")
        self._engine.settle([(decision.uid, Outcome.FAILED)], self._now_ns)
        return ended

    def _known(self, pod: PodChange) -> Pod:
        return self._store.of(pod.namespace, pod.name, pod.uid)

    def _of(self, profile: str) -> ProfilePlugins:
        assert self._profiles is not None, "`load` comes first"
        return self._profiles.of(profile)

    def _ask(self, pod: str, work: Work) -> Any:
        async def answer() -> Any:
            return await self._runner.answer(self._runner.begin(pod, work))

        return self._loop.run(first_of(answer(), self._runner.run()))


@contextmanager
def plugged_decisions(
    engine: Engine,
    program: Program,
    plugins: Sequence[PluginClass],
    items: Iterable[Mapping[str, Any]],
    *,
    now_ns: int,
) -> Iterator[PluggedDecisions]:
    """Decisions about the pods of a cluster of these objects. Raises `PluginNotMadeError`."""
    made = PluggedDecisions(engine, now_ns, plugins)
    try:
        made.see(items)
        made.load(program, plugins)
        yield made
    finally:
        made.close()


def _unplaced(decision: Decision, verdict: Verdict, message: str, *rejected_by: str) -> Decision:
    return decision._replace(
        verdict=verdict, node="", message=message, rejected_by=list(rejected_by), writes=[]
    )


def _held(pod: PodChange, verdict: Verdict, message: str, *rejected_by: str) -> Decision:
    """It is not tried."""
    return Decision(
        verdict=verdict,
        uid=pod.uid,
        namespace=pod.namespace,
        name=pod.name,
        node="",
        message=message,
        score=0,
        nodes_total=0,
        nodes_feasible=0,
        filter_ns=0,
        score_ns=0,
        post_filter_ns=0,
        nominated_node="",
        victims=[],
        rejected_by=list(rejected_by),
        displaced=[],
        writes=[],
    )


def _tell(pod: str, trouble: str) -> None:
    if trouble:
        _log.warning("%s: %s", pod, trouble)


async def _unanswered(method: str, path: str, body: bytes, content_type: str) -> ApiAnswer:
    return _NO_SERVER


def _at_once(work: Callable[[], Awaitable[None]]) -> None:
    """Runs work that awaits nothing, as `_unanswered` does not."""
    next(work().__await__(), None)
