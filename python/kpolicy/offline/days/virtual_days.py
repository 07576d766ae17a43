"""Runs the queue and the engine through simulated days.

Everything that happens at one instant is told to the engine; then pods are tried until none can be,
as the live loop does. Decisions, binds and requests to the API server take no time.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from kpolicy.api_times import NANOSECONDS, api_time, whole_minute
from kpolicy.engine import Applied, Decision, Outcome, PodState, Verdict, Wake
from kpolicy.journal.engine_calls import made_again
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
from kpolicy.offline.days.figures import Counts, DaysResult, Sample, percentiles
from kpolicy.offline.days.pods_there import Pod, PodsThere
from kpolicy.offline.journal_replay.engine_state import ENGINE_ERRORS
from kpolicy.offline.limits import BATCH_PODS, UNREADABLE_KEPT_MAX
from kpolicy.offline.snapshots.cluster_snapshot import loaded_engine
from kpolicy.offline.snapshots.json_objects import DEFAULT_SCHEDULER
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import EVERY_POD
from kpolicy.scheduler.loop.decided_batch import Decided, into_lanes
from kpolicy.scheduler.loop.queue import KUBE_SCHEDULERS, Queue

# How far the days are, in seconds, and how long they last.
Progress = Callable[[int, int], None]

# A claim to a node that is given up counts as a pod deleted from it, as in kube-scheduler.
_CLAIM_GONE: Final = "AssignedPodDelete"
_CORDONED: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_MINUTE_NS: Final = 60 * NANOSECONDS
_PENDING: Final = int(PodState.PENDING)
# Kinds of timers, in the order in which they are looked at.
_END, _VANISH, _WAITING, _READY = range(4)


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
        self._served = frozenset(program.scheduler_names)
        # Sweeps have a process for each processor, and small clusters gain nothing from threads.
        self._engine = loaded_engine(program, seed, threads=1)
        self._queue = Queue()
        self._queue.follow_policy(is_ordered=self._engine.orders_queue())
        self._pods = PodsThere()
        self._nodes: dict[str, dict[str, Any]] = {}
        self._book = ClusterBook(course.resources)
        self._now_ns = course.span.begins_ns
        self._numbers = itertools.count()
        self._timers: list[tuple[int, int, int, str]] = []
        self._waits_for_time = False
        self._ready_ns = 0
        # Watch events of pods that the engine does not know yet, and how many are of binds.
        self._lines: list[str] = []
        self._unconfirmed = 0
        # Whether something came that may be tried. What goes only matters to pods that wait.
        self._has_news = False
        self._not_served: set[str] = set()
        self._unreadable: Counter[str] = Counter()
        self._unwritten = 0
        self._samples: list[Sample] = []
        self._counts = Counts()
        self._sampled = Counts()
        self._waits_ns: list[int] = []
        self._waits_sampled = 0

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
                self._timers[0][0] if self._timers else span.ends_ns + 1,
            )
            while sample_ns < at_ns and sample_ns <= span.ends_ns:
                self._sample(sample_ns)
                if progress is not None:
                    done_ns, all_ns = sample_ns - span.begins_ns, span.ends_ns - span.begins_ns
                    progress(done_ns // NANOSECONDS, all_ns // NANOSECONDS)
                sample_ns += span.sample_ns
            if at_ns > span.ends_ns:
                break
            self._now_ns = at_ns
            while self._timers and self._timers[0][0] <= at_ns:
                self._timer(*heapq.heappop(self._timers)[2:])
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
                self._flush()
                with suppress(*ENGINE_ERRORS):  # as it was when this was recorded
                    answer = made_again(self._engine, call)
                    if isinstance(answer, Applied):
                        self._take(answer)

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
            self._later(pod.gone_ns, _END, pod.uid)
        self._lines.append(pod.texts.added % pod.words)
        if comes.node:
            pod.bind(comes.node, comes.at_ns)
            self._lines[-1] = pod.texts.bound % pod.words
            self._book.placed(pod.node, pod.vector)
            self._ends(pod)
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
        self._lines.append(pod.texts.leaving % {**pod.words, "deleted": api_time(gone_ns)})
        self._later(gone_ns, _VANISH, pod.uid)
        return True

    def _leave(self, pod: Pod) -> None:
        """The pod is deleted."""
        if pod.node:
            self._book.left(pod.node, pod.vector)
            self._lines.append(pod.texts.deleted % pod.words)
        else:
            gone = pod.texts.added.replace('"ADDED"', '"DELETED"', 1)
            self._lines.append(gone % pod.words)
        self._pods.remove(pod)
        self._not_served.discard(pod.uid)

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
        self._flush()
        name = str(node["metadata"]["name"])
        if event == "DELETED":
            del self._nodes[name]
            self._book.node_gone(name)
        else:
            self._nodes[name] = node
            self._book.node_is(node)
        line = json.dumps({"type": event, "object": node}).encode() + b"\n"
        self._take(self._engine.watch("nodes", line, self._now_ns))

    # --- time ------------------------------------------------------------------------------------

    def _later(self, at_ns: int, kind: int, uid: str = "") -> None:
        heapq.heappush(self._timers, (at_ns, next(self._numbers), kind, uid))

    def _timer(self, kind: int, uid: str) -> None:
        if kind == _WAITING:
            self._waits_for_time = False
            self._pass_time()
        elif (pod := self._pods.get(uid)) is not None:
            if kind == _VANISH:
                self._leave(pod)
            elif kind == _END and not pod.is_leaving:
                self._counts.ended += 1
                self._leave(pod)

    def _pass_time(self) -> None:
        """As the live scheduler does: the flush each 30 s, and the engine's time each minute."""
        while self._queue.flush(BATCH_PODS, self._now_ns):
            pass
        if self._now_ns == whole_minute(self._now_ns):
            self._wake(self._engine.pass_time(self._now_ns).wakes)

    def _ends(self, pod: Pod) -> None:
        if pod.lifetime_ns is not None:
            self._later(self._now_ns + pod.lifetime_ns, _END, pod.uid)

    # --- decisions -------------------------------------------------------------------------------

    def _settle_instant(self) -> None:
        if not self._has_news and len(self._queue) <= self._unconfirmed:
            return  # nobody can be tried: the engine is told with what comes next
        self._has_news = False
        self._flush()
        while self._tick():
            if len(self._queue) <= self._unconfirmed:
                return  # what binds change can only wake pods that wait
            self._flush()
        self._wait()

    def _wait(self) -> None:
        """If pods wait, time alone may let them be tried again."""
        if len(self._queue) <= self._unconfirmed:
            return
        if not self._waits_for_time:
            period_ns = KUBE_SCHEDULERS.flush_period_ns
            self._waits_for_time = True
            self._later((self._now_ns // period_ns + 1) * period_ns, _WAITING)
        ready_ns = self._queue.next_ready_ns()
        if ready_ns is not None and not self._now_ns < self._ready_ns <= ready_ns:
            self._ready_ns = ready_ns
            self._later(max(ready_ns, self._now_ns + 1), _READY)

    def _tick(self) -> bool:
        """Tries the next pods. False: there are none."""
        queue, now_ns = self._queue, self._now_ns
        batch, others = queue.pop_batch(BATCH_PODS, now_ns), False
        order = queue.by_policy
        if order is not None and order.is_to_ask and len(batch) < BATCH_PODS:
            entered, left = order.news()
            limit = BATCH_PODS - len(batch)
            following = self._engine.next_pods(entered, left, limit, now_ns, now_ns)
            batch += queue.pop_told(following.picked, now_ns)
            for held in following.held:
                queue.hold_by_policy(held.uid, held.hold, now_ns)
            others = bool(following.held) or following.is_more
        if batch:
            uids = [pod.uid for pod in batch]
            decisions = self._engine.schedule(uids, now_ns).decisions
            self._act(into_lanes(queue, batch, decisions, now_ns))
        return bool(batch) or others

    def _act(self, batch: Sequence[Decided]) -> None:
        self._counts.attempts += len(batch)
        placed = [each.decision for each in batch if each.decision.verdict == Verdict.PLACED]
        for decision in placed:
            self._bind(decision)
        if placed:
            outcomes = [(decision.uid, int(Outcome.BOUND)) for decision in placed]
            self._wake(self._engine.settle(outcomes, self._now_ns))
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
        self._lines.append(pod.texts.bound % pod.words)
        self._unconfirmed += 1
        self._counts.placed += 1
        self._waits_ns.append(self._now_ns - pod.came_ns)
        self._ends(pod)

    def _make_room(self, decision: Decision) -> None:
        """Evicts the victims, for which the pod waits, as the live scheduler does."""
        for uid in decision.displaced:
            self._queue.wake(uid, _CLAIM_GONE, self._now_ns)
        evicted = []
        for victim in decision.victims:
            pod = self._pods.get(victim.uid)
            if pod is None or victim.is_terminating or not self._evict(pod):
                continue
            evicted.append(victim.uid)
            self._counts.preempted += 1
            if self._course.evictions.recreates_preempted:
                self._comes_again(pod)
        self._wake(self._engine.settle_room(decision.uid, evicted, self._now_ns, is_made=True))
        self._queue.release(decision.uid, self._now_ns)

    # --- the engine and the queue ----------------------------------------------------------------

    def _flush(self) -> None:
        """Tells the engine of the pods that changed."""
        if self._lines:
            body = "".join(self._lines).encode()
            self._lines.clear()
            self._unconfirmed = 0
            self._take(self._engine.watch("pods", body, self._now_ns))

    def _take(self, applied: Applied) -> None:
        for unreadable in applied.unreadable:
            self._unreadable[f"{unreadable.object}: {unreadable.message}"] += 1
        for change in applied.pods:
            is_pending = change.change == _PENDING
            if is_pending and self._serves(change.scheduler_name):
                self._queue.changed(change, self._now_ns)
                continue
            if is_pending:
                self._not_served.add(change.uid)
            self._queue.gone(change.uid)
        self._wake(applied.wakes)

    def _wake(self, wakes: Sequence[Wake]) -> None:
        for wake in wakes:
            self._queue.wake(wake.uid, wake.event, self._now_ns)

    def _serves(self, scheduler_name: str) -> bool:
        return EVERY_POD in self._served or scheduler_name in self._served

    # --- figures ---------------------------------------------------------------------------------

    def _sample(self, at_ns: int) -> None:
        counts, before = self._counts.line(), self._sampled.line()
        self._samples.append(
            Sample(
                at_ns,
                self._book.nodes,
                self._pods.running,
                self._pods.pending,
                {name: count - before[name] for name, count in counts.items()},
                percentiles(self._waits_ns[self._waits_sampled :]),
                self._book.fullness(),
            )
        )
        self._sampled = Counts(**counts)
        self._waits_sampled = len(self._waits_ns)

    def _result(self) -> DaysResult:
        ends_ns = self._course.span.ends_ns
        ages = [ends_ns - pod.came_ns for pod in self._pods.waiting()]
        rejected: Counter[str] = Counter()
        for (rule, _), count in self._queue.statistics().rejected.items():
            rejected[rule] += int(count)
        return DaysResult(
            name=self._course.name,
            policies=self._program.policies,
            seed=self._seed,
            begins_ns=self._course.span.begins_ns,
            ends_ns=ends_ns,
            samples=tuple(self._samples),
            counts=self._counts,
            waits_ns=tuple(self._waits_ns),
            pending=self._pods.pending,
            not_served=len(self._not_served),
            oldest_pending_ns=max(ages, default=0),
            rejected_by=dict(sorted(rejected.items(), key=lambda item: (-item[1], item[0]))),
            problems=tuple(self._problems()),
        )

    def _problems(self) -> Iterator[str]:
        shown = list(self._unreadable)[:UNREADABLE_KEPT_MAX]
        yield from (f"cannot be read, and is left out: {each}" for each in shown)
        if len(self._unreadable) > len(shown):
            yield f"and {len(self._unreadable) - len(shown):,} further objects cannot be read"
        if self._unwritten:
            yield (
                f"{self._unwritten:,} pods have volumes or devices: what is written for them "
                "before the bind is not simulated"
            )
