"""Runs a scheduler through simulated days.

Everything that happens at one instant is told to the engine; then pods are tried until none can be,
as the live loop does. Decisions, binds and requests to the API server take no time.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from kpolicy.api_times import NANOSECONDS, api_time
from kpolicy.engine import Decision, Verdict
from kpolicy.offline.days.cluster_book import ClusterBook
from kpolicy.offline.days.course import (
    Course,
    NodeDrained,
    NodeGone,
    NodeIs,
    NodeUncordoned,
    Occurrence,
    OthersChange,
    PodComes,
)
from kpolicy.offline.days.figures import DaysResult
from kpolicy.offline.days.figures_over_time import FiguresOverTime
from kpolicy.offline.days.pods_there import Pod, PodsThere
from kpolicy.offline.days.simulated_scheduler import SimulatedScheduler
from kpolicy.offline.days.timers import Timer, Timers
from kpolicy.offline.snapshots.json_objects import DEFAULT_SCHEDULER
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import EVERY_POD
from kpolicy.scheduler.loop.decided_batch import Decided

# How far the days are, in seconds, and how long they last.
Progress = Callable[[int, int], None]

_CORDONED: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def run_days(
    course: Course, program: Program, *, seed: int = 0, progress: Progress | None = None
) -> DaysResult:
    """The same course, policy and seed give the same result. Raises `PolicyRefusedError`."""
    return VirtualDays(course, program, seed).run(progress)


class VirtualDays:
    def __init__(self, course: Course, program: Program, seed: int) -> None:
        self._course = course
        self._program = program
        self._seed = seed
        self._scheduler = SimulatedScheduler(program, seed)
        self._pods = PodsThere()
        self._nodes: dict[str, dict[str, Any]] = {}
        self._book = ClusterBook(course.resources)
        self._figures = FiguresOverTime(self._book, self._pods)
        self._counts = self._figures.counts
        self._now_ns = course.span.begins_ns
        self._numbers = itertools.count()
        self._timers = Timers(self._numbers)
        self._waits_for_time = False
        self._ready_ns = 0
        # Whether something came that may be tried. What goes only matters to pods that wait.
        self._has_news = False
        self._unwritten = 0

    def run(self, progress: Progress | None = None) -> DaysResult:
        span = self._course.span
        names = self._program.scheduler_names
        scheduler = DEFAULT_SCHEDULER if EVERY_POD in names else names[0]
        occurrences = self._course.occurrences(self._seed, scheduler)
        following = next(occurrences, None)
        sample_ns = span.begins_ns
        while True:
            at_ns = min(
                following.at_ns if following is not None else span.ends_ns + 1,
                span.ends_ns + 1 if (timer_ns := self._timers.next_ns) is None else timer_ns,
            )
            while sample_ns < at_ns and sample_ns <= span.ends_ns:
                self._figures.sample(sample_ns)
                if progress is not None:
                    done_ns, all_ns = sample_ns - span.begins_ns, span.ends_ns - span.begins_ns
                    progress(done_ns // NANOSECONDS, all_ns // NANOSECONDS)
                sample_ns += span.sample_ns
            if at_ns > span.ends_ns:
                break
            self._now_ns = at_ns
            for timer, uid in self._timers.due(at_ns):
                self._timer(timer, uid)
            while following is not None and following.at_ns <= at_ns:
                self._occurs(following)
                following = next(occurrences, None)
            self._settle_instant()
        return self._result()

    # --- what happens ----------------------------------------------------------------------------

    def _occurs(self, occurrence: Occurrence) -> None:
        match occurrence:
            case PodComes():
                self._pod_comes(occurrence)
            case NodeIs(node=node):
                name = str(node["metadata"]["name"])
                self._tell_node("MODIFIED" if name in self._nodes else "ADDED", dict(node))
            case NodeDrained(name=name) if name in self._nodes:
                self._cordon(name, is_cordoned=True)
                for pod in self._pods.on(name):
                    self._displace(pod)
            case NodeUncordoned(name=name) if name in self._nodes:
                self._cordon(name, is_cordoned=False)
            case NodeGone(name=name) if name in self._nodes:
                self._node_gone(name)
            case OthersChange(call=call):
                self._scheduler.others_change(call, self._now_ns)

    def _pod_comes(self, comes: PodComes) -> None:
        pod = Pod(
            comes.texts,
            comes.name,
            comes.uid,
            self._book.came(comes.texts),
            comes.at_ns,
            comes.lifetime_ns,
            comes.gone_ns,
        )
        self._counts.arrived += 1
        self._has_news = True
        if pod.gone_ns is not None:
            self._timers.later(pod.gone_ns, Timer.END, pod.uid)
        if comes.node:
            pod.bind(comes.node, comes.at_ns)
            self._scheduler.pod_changes(pod.texts.bound % pod.words)
            self._book.placed(pod.node, pod.vector)
            self._ends(pod)
        else:
            self._scheduler.pod_changes(pod.texts.added % pod.words)
        self._pods.add(pod)

    def _comes_again(self, pod: Pod) -> None:
        """Another pod comes in the place of this one."""
        number = next(self._numbers)
        uid = f"00000000-0000-4000-9000-{number:012d}"
        name = f"{pod.name.partition('-again-')[0]}-again-{number}"
        self._pod_comes(PodComes(self._now_ns, pod.texts, name, uid, pod.lifetime_ns, pod.gone_ns))
        self._counts.arrived -= 1  # it came once

    def _displace(self, pod: Pod) -> None:
        if self._evict(pod):
            self._counts.displaced += 1
            if self._course.evictions.recreates_displaced:
                self._comes_again(pod)

    def _evict(self, pod: Pod) -> bool:
        """The pod leaves its node after its grace period. False if it is leaving already."""
        if pod.is_leaving:
            return False
        pod.is_leaving = True
        gone_ns = self._now_ns + self._course.evictions.grace_ns
        words = {**pod.words, "deleted": api_time(gone_ns)}
        self._scheduler.pod_changes(pod.texts.leaving % words)
        self._timers.later(gone_ns, Timer.VANISH, pod.uid)
        return True

    def _leave(self, pod: Pod) -> None:
        """The pod is deleted."""
        if pod.node:
            self._book.left(pod.node, pod.vector)
            gone = pod.texts.deleted
        else:
            gone = pod.texts.added.replace('"ADDED"', '"DELETED"', 1)
        self._scheduler.pod_is_gone(gone % pod.words, pod.uid)
        self._pods.remove(pod)

    def _node_gone(self, name: str) -> None:
        for pod in self._pods.on(name):
            if not pod.is_leaving:
                self._counts.displaced += 1
                if self._course.evictions.recreates_displaced:
                    self._comes_again(pod)
            self._leave(pod)
        self._tell_node("DELETED", self._nodes[name])

    def _cordon(self, name: str, *, is_cordoned: bool) -> None:
        node = json.loads(json.dumps(self._nodes[name]))
        spec = node.setdefault("spec", {})
        taints = [each for each in spec.get("taints") or () if each.get("key") != _CORDONED["key"]]
        spec["taints"] = [*taints, _CORDONED] if is_cordoned else taints
        spec["unschedulable"] = is_cordoned
        self._tell_node("MODIFIED", node)

    def _tell_node(self, event: str, node: dict[str, Any]) -> None:
        name = str(node["metadata"]["name"])
        if event == "DELETED":
            del self._nodes[name]
            self._book.node_gone(name)
        else:
            self._nodes[name] = node
            self._book.node_is(node)
        self._scheduler.node_changes(event, node, self._now_ns)

    # --- time ------------------------------------------------------------------------------------

    def _timer(self, timer: Timer, uid: str) -> None:
        if timer is Timer.WAITING:
            self._waits_for_time = False
            self._scheduler.pass_time(self._now_ns)
        elif (pod := self._pods.get(uid)) is not None:
            if timer is Timer.VANISH:
                self._leave(pod)
            elif timer is Timer.END and not pod.is_leaving:
                self._counts.ended += 1
                self._leave(pod)

    def _ends(self, pod: Pod) -> None:
        if pod.lifetime_ns is not None:
            self._timers.later(self._now_ns + pod.lifetime_ns, Timer.END, pod.uid)

    # --- decisions -------------------------------------------------------------------------------

    def _settle_instant(self) -> None:
        scheduler, now_ns = self._scheduler, self._now_ns
        if not self._has_news and not scheduler.has_waiting:
            return  # nobody can be tried: the engine is told with what comes next
        self._has_news = False
        scheduler.flush(now_ns)
        while True:
            decided, may_go_on = scheduler.decide(now_ns)
            if not may_go_on:
                break
            if decided:
                self._act(decided)
            if not scheduler.has_waiting:
                return  # what binds change can only wake pods that wait
            scheduler.flush(now_ns)
        self._wait()

    def _wait(self) -> None:
        """If pods wait, time alone may let them be tried again."""
        if not self._scheduler.has_waiting:
            return
        if not self._waits_for_time:
            period_ns = self._scheduler.flush_period_ns
            self._waits_for_time = True
            self._timers.later((self._now_ns // period_ns + 1) * period_ns, Timer.WAITING)
        ready_ns = self._scheduler.next_ready_ns()
        if ready_ns is not None and not self._now_ns < self._ready_ns <= ready_ns:
            self._ready_ns = ready_ns
            self._timers.later(max(ready_ns, self._now_ns + 1), Timer.READY)

    def _act(self, batch: Sequence[Decided]) -> None:
        self._counts.attempts += len(batch)
        placed = [each.decision for each in batch if each.decision.verdict == Verdict.PLACED]
        for decision in placed:
            self._bind(decision)
        if placed:
            self._scheduler.settle([decision.uid for decision in placed], self._now_ns)
        for each in batch:
            if each.decision.victims:
                self._make_room(each.decision)

    def _bind(self, decision: Decision) -> None:
        pod = self._pods.get(decision.uid)
        assert pod is not None, "a pod that was decided is there"
        self._unwritten += bool(decision.writes)
        pod.bind(decision.node, self._now_ns)
        self._pods.bound(pod)
        self._book.placed(pod.node, pod.vector)
        self._scheduler.pod_is_bound(pod.texts.bound % pod.words)
        self._counts.placed += 1
        self._figures.waits_ns.append(self._now_ns - pod.came_ns)
        self._ends(pod)

    def _make_room(self, decision: Decision) -> None:
        """Evicts the victims, for which the pod waits, as the live scheduler does."""
        self._scheduler.give_up_claims(decision.displaced, self._now_ns)
        evicted = []
        for victim in decision.victims:
            pod = self._pods.get(victim.uid)
            if pod is None or victim.is_terminating or not self._evict(pod):
                continue
            evicted.append(victim.uid)
            self._counts.preempted += 1
            if self._course.evictions.recreates_preempted:
                self._comes_again(pod)
        self._scheduler.settle_room(decision.uid, evicted, self._now_ns)

    # --- in the end ------------------------------------------------------------------------------

    def _result(self) -> DaysResult:
        ends_ns = self._course.span.ends_ns
        ages = [ends_ns - pod.came_ns for pod in self._pods.waiting()]
        return DaysResult(
            name=self._course.name,
            policies=self._program.policies,
            seed=self._seed,
            begins_ns=self._course.span.begins_ns,
            ends_ns=ends_ns,
            samples=tuple(self._figures.samples),
            counts=self._counts,
            waits_ns=tuple(self._figures.waits_ns),
            pending=self._pods.pending,
            not_served=self._scheduler.not_served,
            oldest_pending_ns=max(ages, default=0),
            rejected_by=self._scheduler.rejected_by(),
            problems=tuple(self._problems()),
        )

    def _problems(self) -> Iterator[str]:
        yield from self._scheduler.problems()
        if self._unwritten:
            yield (
                f"{self._unwritten:,} pods have volumes or devices: what is written for them "
                "before the bind is not simulated"
            )
