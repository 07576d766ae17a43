"""The scheduling queue: which pod is tried next, and when.

Pods wait in the lanes active, backoff, parked and gated, in the order of PrioritySort: higher
priority first, then the longer wait. They are keyed by uid. The queue has no clock: time is an
argument; the engine says which event wakes which pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kpolicy.engine import PodChange
from kpolicy.policy.assembly.queue_periods import NOTHING_WRITTEN, WrittenPeriods
from kpolicy.release_table import RELEASE_NAMES, RELEASES, ReleaseNames
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.lanes import Admission, Lanes
from kpolicy.scheduler.loop.policy_order import PolicyOrder
from kpolicy.scheduler.loop.queued_pod import ASKING, Attempt, Lane, QueuedPod, QueuePeriods
from kpolicy.telemetry.attempt import TraceContext

# Events of the queue's own making, by the names kube-scheduler's metrics have for them.
ATTEMPT_FAILED = "ScheduleAttemptFailure"
PARKED_TIMEOUT = "UnschedulableTimeout"
# Something changed while a plugin was asked, or the pod that it holds.
POD_UPDATED = "PodUpdate"
# An event of kpolicy: a call of the engine ended before it came to the pod.
UNDECIDED = "EngineCallEnded"
# An event of kpolicy: plugins have let the pod be tried.
ADMITTED = "PluginsAdmitted"

KUBE_SCHEDULERS: Final = QueuePeriods()
# For `QueuedPod.news_seen`: the pod itself has changed since plugins were asked.
_BEFORE_ANY_NEWS: Final = -1


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    active: int
    backoff: int
    parked: int
    gated: int
    attempts_under_way: int
    incoming: dict[tuple[str, ...], float]  # (lane, event) → how many entered
    rejected: dict[tuple[str, ...], float]  # (rule, profile) → pods it keeps from being placed now
    flushed: int
    refused: int


def _nobody_told(_uid: str) -> None:
    pass


class Queue:
    """`on_left` is called with the uid of each pod that leaves the queue, because it is gone, on a
    node, or no longer served."""

    def __init__(
        self,
        pods_max: int = limits.QUEUE_PODS_MAX,
        periods: QueuePeriods = KUBE_SCHEDULERS,
        *,
        on_left: Callable[[str], None] = _nobody_told,
        admission: Admission | None = None,
    ) -> None:
        # The names of the release that is followed.
        self.names: ReleaseNames = RELEASE_NAMES[RELEASES[-1]]
        self._of_process = periods
        self._pods_max = pods_max
        self._on_left = on_left
        self._lanes = Lanes(periods, admission)
        self._pods: dict[str, QueuedPod] = {}
        self._rejected: Counter[tuple[str, ...]] = Counter()
        self._flushed = 0
        self._refused = 0

    def __len__(self) -> int:
        return len(self._pods)

    @property
    def periods(self) -> QueuePeriods:
        return self._lanes.periods

    @property
    def active(self) -> int:
        return self._lanes.active_pods

    @property
    def asks_plugins(self) -> bool:
        """Whether plugins are being asked about a pod that it may be tried."""
        return any(pod.held_by == ASKING for pod in self._lanes.gated.values())

    def get(self, uid: str) -> QueuedPod | None:
        return self._pods.get(uid)

    @property
    def room(self) -> int:
        return self._pods_max - len(self._pods)

    # --- pods come, change and go ----------------------------------------------------------------

    def changed(self, pending: PodChange, now_ns: int) -> bool:
        """A pending pod is new, or has changed. Returns False if the queue is full and refuses
        it."""
        pod = self._pods.get(pending.uid)
        if pod is not None:
            self._update(pod, pending, now_ns)
            return True
        if len(self._pods) >= self._pods_max:
            self._refused += 1
            return False
        pod = self._pods[pending.uid] = QueuedPod.of(pending, now_ns)
        if pending.gated:
            self._lanes.enter(pod, Lane.GATED, self.names.pod_added)
        else:
            pod.first_active_ns = now_ns
            self._lanes.enter(pod, Lane.ACTIVE, self.names.pod_added)
        return True

    def gone(self, uid: str) -> QueuedPod | None:
        """The pod is deleted, on a node, or no longer served."""
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self._lanes.leave(pod)
            self._uncount(pod)
            self._on_left(uid)
        return pod

    def wake(self, uid: str, event: str, now_ns: int) -> None:
        """Something happened that may let this pod be placed."""
        pod = self._pods.get(uid)
        if pod is None:
            return
        if pod.lane is Lane.ATTEMPT or pod.held:
            pod.woken_by = pod.woken_by or event
        elif pod.lane is Lane.PARKED or uid in self._lanes.refused:
            self._lanes.retry(pod, event, now_ns)

    def wake_refused(self, event: str, now_ns: int) -> int:
        """Something happened: wakes every pod that a plugin refused, also those that are refused
        now because of what was before. Returns how many."""
        self._lanes.news += 1
        woken = tuple(self._lanes.refused)
        for uid in woken:
            self.wake(uid, event, now_ns)
        return len(woken)

    # --- attempts --------------------------------------------------------------------------------

    def pop_batch(self, limit: int, now_ns: int) -> list[Attempt]:
        """The next pods to try, in order. They are under way until one of the calls below."""
        self._lanes.end_backoffs(limit, now_ns)
        batch: list[Attempt] = []
        while len(batch) < limit and (pod := self._lanes.active.pop()) is not None:
            batch.append(self._begun(pod, now_ns))
        return batch

    def _begun(self, pod: QueuedPod, now_ns: int) -> Attempt:
        pod.lane = Lane.ATTEMPT
        pod.attempts += 1
        pod.waited_ns = now_ns - pod.timestamp_ns
        pod.woken_by = ""
        pod.is_admitted = pod.is_refused = False
        pod.news_seen = self._lanes.news
        self._uncount(pod)
        return pod.attempt()

    def is_under_way(self, attempt: Attempt) -> bool:
        """Whether this attempt is still the pod's: it may be gone, or have come back meanwhile."""
        pod = self._under_way(attempt.uid)
        return pod is not None and pod.attempts == attempt.attempts

    def traced(self, uid: str, trace: TraceContext) -> None:
        """The trace of the last attempt is exported; the trace of the next attempt will link to
        it."""
        pod = self._pods.get(uid)
        if pod is not None:
            pod.traced = trace

    def parked(
        self, uid: str, rejected_by: Sequence[str], now_ns: int, *, held: bool = False
    ) -> None:
        """The attempt found no node. If no rule rejected the pod, no event would wake it, so it
        backs off. `held`: it waits for `release` or `fail_held`, whatever happens meanwhile."""
        pod = self._under_way(uid)
        if pod is None:
            return
        if not rejected_by:
            self._fail(pod, now_ns)
            return
        pod.rejections += 1
        pod.is_set_aside = False
        pod.errors = 0
        pod.timestamp_ns = now_ns
        pod.flushed = False
        pod.rejected_by = tuple(rejected_by)
        for rule in pod.rejected_by:
            self._rejected[rule, pod.profile] += 1
        if pod.woken_by and not held:
            self._lanes.retry(pod, pod.woken_by, now_ns)
        else:
            pod.held = held
            self._lanes.enter(pod, Lane.PARKED, ATTEMPT_FAILED)

    def release(self, uid: str, now_ns: int) -> None:
        """Room was made for a held pod. It waits for its victims to leave, or is tried if one has
        left already."""
        pod = self._of_held(uid)
        if pod is None:
            return
        if pod.woken_by:
            self._lanes.retry(pod, pod.woken_by, now_ns)
        else:
            self._lanes.rest(pod)

    def fail_held(self, uid: str, now_ns: int) -> None:
        """No room could be made for a held pod, through no fault of its own, so it backs off. If an
        event woke it since its attempt began, it is tried again instead: another pod's claim that
        blocked it may be gone. Two pods that always claim at the same time would otherwise block
        each other for ever."""
        pod = self._of_held(uid)
        if pod is None:
            return
        if pod.woken_by:
            self._lanes.retry(pod, pod.woken_by, now_ns)
        else:
            self._lanes.leave(pod)
            self._fail(pod, now_ns)

    def failed(self, uid: str, now_ns: int) -> None:
        """The attempt failed through no fault of the pod: a rule could not be evaluated, or a bind
        failed."""
        pod = self._under_way(uid)
        if pod is not None:
            self._fail(pod, now_ns)

    def set_aside(self, uid: str, now_ns: int) -> None:
        """To judge the pod takes more work than one decision may. It is tried less and less
        often."""
        pod = self._under_way(uid)
        if pod is not None:
            pod.is_set_aside = True
            self._fail(pod, now_ns)

    def undecided(self, uid: str) -> None:
        """The engine did not come to this pod. It is tried next, as if it had not been taken from
        the queue."""
        pod = self._under_way(uid)
        if pod is not None:
            pod.attempts -= 1
            pod.is_admitted = True
            self._lanes.again(pod, UNDECIDED)

    def gated(self, uid: str, now_ns: int) -> None:
        """The attempt found scheduling gates."""
        pod = self._under_way(uid)
        if pod is not None:
            pod.timestamp_ns = now_ns
            self._lanes.enter(pod, Lane.GATED, ATTEMPT_FAILED)

    # --- the policy's order and holds -------------------------------------------------------------

    def follow_policy(
        self,
        *,
        is_ordered: bool,
        holds_pods: bool,
        periods: WrittenPeriods = NOTHING_WRITTEN,
    ) -> None:
        """There is another program. `is_ordered`: it orders the queue or holds pods, so that
        `pop_batch` has only pods that were handed out before, and the engine tells the others.
        `holds_pods`: it holds pods, also parked ones and those that back off. `periods`: those that
        it says; a pod that backs off already does so until its time is up."""
        self._lanes.periods = self._of_process.changed(periods)
        self._lanes.follow_policy(is_ordered=is_ordered, holds_pods=holds_pods)

    @property
    def by_policy(self) -> PolicyOrder | None:
        """What the engine is to be told and asked; None: nothing."""
        return self._lanes.by_policy

    @property
    def held_by(self) -> Mapping[str, int]:
        """How many pods each hold of the policy holds."""
        return self.by_policy.held_by if self.by_policy is not None else {}

    def pop_told(self, uids: Sequence[str], now_ns: int) -> list[Attempt]:
        """The pods that the engine says are next, as far as they still wait."""
        pods = (self._lanes.take(uid) for uid in uids)
        return [self._begun(pod, now_ns) for pod in pods if pod is not None]

    def hold_by_policy(self, uid: str, hold: str, now_ns: int) -> Attempt | None:
        """A hold of the policy holds this pod, which may be parked, until the engine hands it out.
        None: it left meanwhile."""
        pod = self._lanes.hold(uid, hold)
        if pod is None:
            return None
        self._uncount(pod)
        pod.rejected_by = (hold,)
        self._rejected[hold, pod.profile] += 1
        return pod.attempt()

    # --- plugins ---------------------------------------------------------------------------------

    def admit(self, uid: str, key: tuple[float, ...] | None, now_ns: int) -> None:
        """Plugins let this pod be tried. `key`: its place in the order, from a plugin."""
        pod = self._asked(uid)
        if pod is not None:
            self._lanes.leave(pod)
            pod.is_admitted, pod.sort_key = True, key
            pod.first_active_ns = pod.first_active_ns or now_ns
            self._lanes.enter(pod, Lane.ACTIVE, ADMITTED)

    def hold(self, uid: str, plugin: str, now_ns: int) -> None:
        """A plugin holds this pod back, until an event lets the plugin be asked again."""
        pod = self._asked(uid)
        if pod is not None:
            pod.held_by = plugin
            self._refuse(pod, plugin, POD_UPDATED, now_ns)

    def fail_admission(self, uid: str, now_ns: int) -> None:
        """A plugin could not be asked about this pod."""
        pod = self._asked(uid)
        if pod is not None:
            self._lanes.leave(pod)
            self._fail(pod, now_ns)

    def refuse(self, uid: str, plugin: str, now_ns: int) -> None:
        """A plugin refused the placement of this pod, which was under way."""
        pod = self._under_way(uid)
        if pod is not None:
            self._lanes.enter(pod, Lane.PARKED, ATTEMPT_FAILED)
            self._refuse(pod, plugin, pod.woken_by or POD_UPDATED, now_ns)

    # --- time ------------------------------------------------------------------------------------

    def flush(self, limit: int, now_ns: int) -> int:
        """Retries pods that have been parked for too long. Returns how many, at most `limit`."""
        old = self._lanes.older_than(now_ns - self.periods.parked_ns_max, limit)
        for pod in old:
            pod.flushed = True
            self._flushed += 1
            self._lanes.retry(pod, PARKED_TIMEOUT, now_ns)
        return len(old)

    def wake_all(self, event: str, limit: int, now_ns: int) -> int:
        """Retries parked pods, whichever rule rejected them, because the rules changed. Returns how
        many, at most `limit`.

        They keep their counts and their back-off, so that a reload each second does not become a
        hot loop."""
        woken: list[str] = []
        for pod in self._lanes.parked.values():
            if pod.held:
                pod.woken_by = pod.woken_by or event
            elif len(woken) < limit:
                woken.append(pod.uid)
        for uid in woken:
            self.wake(uid, event, now_ns)
        return len(woken)

    def unserved(self, serves: Callable[[str], bool]) -> list[str]:
        """Waiting pods whose profile is no longer served. Those under way end by themselves."""
        return [
            pod.uid
            for pod in self._pods.values()
            if pod.lane is not Lane.ATTEMPT and not serves(pod.profile)
        ]

    def next_ready_ns(self) -> int | None:
        """When the back-off of the next failed pod ends; None if no failed pod waits."""
        return self._lanes.next_ready_ns()

    def entries(self) -> list[QueuedPod]:
        """All pods, for inspection."""
        return list(self._pods.values())

    def statistics(self) -> QueueStatistics:
        waiting = self._lanes.sizes()
        return QueueStatistics(
            *waiting,
            attempts_under_way=len(self._pods) - sum(waiting),
            incoming=dict[tuple[str, ...], float](self._lanes.incoming),
            rejected=dict[tuple[str, ...], float](self._rejected),
            flushed=self._flushed,
            refused=self._refused,
        )

    # --- inside ----------------------------------------------------------------------------------

    def _update(self, pod: QueuedPod, pending: PodChange, now_ns: int) -> None:
        pod.generation = pending.generation
        if pod.lane is Lane.GATED and pod.held_by:
            if pod.held_by == ASKING:
                pod.news_seen = _BEFORE_ANY_NEWS
            else:
                self.wake(pod.uid, POD_UPDATED, now_ns)
        elif pod.lane is Lane.GATED and not pending.gated:
            self._lanes.leave(pod)
            pod.first_active_ns = pod.first_active_ns or now_ns
            self._lanes.enter(pod, Lane.ACTIVE, self.names.gates_gone)
        if pod.priority != pending.priority:
            pod.priority = pending.priority
            if pod.lane is Lane.ACTIVE:
                self._lanes.reorder(pod)
        if self.by_policy is not None and pod.uid in self.by_policy:
            self.by_policy.changed(pod)

    def _asked(self, uid: str) -> QueuedPod | None:
        """The pod, if plugins are being asked about it."""
        pod = self._pods.get(uid)
        return pod if pod is not None and pod.held_by == ASKING else None

    def _refuse(self, pod: QueuedPod, plugin: str, event: str, now_ns: int) -> None:
        """`event` wakes the pod at once if something happened since plugins were asked."""
        pod.rejections += 1
        pod.errors = 0
        pod.is_refused, pod.flushed = True, False
        pod.timestamp_ns = now_ns
        self._uncount(pod)
        pod.rejected_by = (plugin,)
        self._rejected[plugin, pod.profile] += 1
        self._lanes.refused[pod.uid] = pod
        if pod.news_seen != self._lanes.news:
            self.wake(pod.uid, event, now_ns)

    def _under_way(self, uid: str) -> QueuedPod | None:
        """The pod, if it is being tried. It may have left, and an answer may come twice."""
        pod = self._pods.get(uid)
        return pod if pod is not None and pod.lane is Lane.ATTEMPT else None

    def _of_held(self, uid: str) -> QueuedPod | None:
        """The pod, which is held no longer; None if it left meanwhile."""
        pod = self._pods.get(uid)
        if pod is None or not pod.held:
            return None
        pod.held = False
        return pod

    def _fail(self, pod: QueuedPod, now_ns: int) -> None:
        pod.errors += 1
        pod.timestamp_ns = now_ns
        pod.flushed = False
        self._lanes.enter(pod, Lane.BACKOFF, ATTEMPT_FAILED)

    def _uncount(self, pod: QueuedPod) -> None:
        for rule in pod.rejected_by:
            self._rejected[rule, pod.profile] -= 1
            # Nothing is kept of rules that were renamed.
            if not self._rejected[rule, pod.profile]:
                del self._rejected[rule, pod.profile]
        pod.rejected_by = ()
