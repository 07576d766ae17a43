"""Pods whose turn the engine tells, because the policy in force orders the queue or holds pods.

The engine is told of changes only: who came or changed, and who left, since it was asked last.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kpolicy.engine import QueueFault, WaitingPod
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.queued_pod import QueuedPod


@dataclass(frozen=True, slots=True)
class FailedRule:
    """The order or a hold, which failed for a pod and for those that are like it. `told_ns`: when
    the log said so last."""

    fault: QueueFault
    pod: str
    at_ns: int
    told_ns: int


class PolicyOrder:
    """`ready` may be tried; `held` are held back, so many by each hold; `resting` were tried and
    are parked or back off. The engine knows all of them, but those that rest only if the policy
    `holds_pods`. `failed`: the last pods for which a rule failed, by rule and message."""

    def __init__(self, *, holds_pods: bool) -> None:
        self._holds_pods = holds_pods
        self.ready: dict[str, QueuedPod] = {}
        self.held: dict[str, QueuedPod] = {}
        self.resting: dict[str, QueuedPod] = {}
        self.held_by: Counter[str] = Counter()
        self.failed: dict[tuple[str, str], FailedRule] = {}
        self._entered: dict[str, QueuedPod] = {}
        self._left: dict[str, None] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self.ready or uid in self.held or uid in self.resting

    @property
    def is_to_ask(self) -> bool:
        return bool(self.ready or self.held or self.resting or self._left)

    def enter(self, pod: QueuedPod) -> None:
        """It waits to be tried."""
        self.resting.pop(pod.uid, None)
        self.ready[pod.uid] = pod
        self.changed(pod)

    def rest(self, pod: QueuedPod) -> None:
        """It is parked or backs off, and a hold may begin to hold it."""
        if not self._holds_pods:
            self.leave(pod.uid)
            return
        self.resting[pod.uid] = pod
        self.changed(pod)

    def changed(self, pod: QueuedPod) -> None:
        """The engine looks at it again."""
        self._left.pop(pod.uid, None)
        self._entered[pod.uid] = pod

    def leave(self, uid: str) -> None:
        """It waits no longer, or its attempt is over without a node."""
        self._find(uid)
        self._entered.pop(uid, None)
        self._left[uid] = None

    def take(self, uid: str) -> QueuedPod | None:
        """The engine says that it is next. None: it left meanwhile."""
        pod = self._find(uid)
        if pod is None:
            self._left[uid] = None
        else:
            self._entered.pop(uid, None)
        return pod

    def hold(self, uid: str, hold: str) -> QueuedPod | None:
        """The engine says that it is held. None: it left meanwhile."""
        pod = self._find(uid)
        if pod is not None:
            pod.held_by = hold
            self.held[uid] = pod
            self.held_by[hold] += 1
        return pod

    def _find(self, uid: str) -> QueuedPod | None:
        """Takes the pod out of where it is."""
        return self.ready.pop(uid, None) or self._release(uid) or self.resting.pop(uid, None)

    def _release(self, uid: str) -> QueuedPod | None:
        pod = self.held.pop(uid, None)
        if pod is not None:
            self.held_by[pod.held_by] -= 1
            if not self.held_by[pod.held_by]:
                del self.held_by[pod.held_by]
        return pod

    def note(self, fault: QueueFault, now_ns: int) -> FailedRule | None:
        """The engine says that a rule failed. None: the log need not say so, as it has just said
        the same, or the pod left meanwhile."""
        uid = fault.uid
        pod = self.ready.get(uid) or self.held.get(uid) or self.resting.get(uid)
        if pod is None:
            return None
        key = (fault.rule, fault.message)
        before = self.failed.pop(key, None)
        if len(self.failed) == limits.FAILED_RULES_MAX:
            del self.failed[next(iter(self.failed))]
        is_told = before is not None and now_ns - before.told_ns < limits.FAILED_RULE_TOLD_NS
        told_ns = before.told_ns if before is not None and is_told else now_ns
        failed = self.failed[key] = FailedRule(fault, pod.key, now_ns, told_ns)
        return None if is_told else failed

    def news(self) -> tuple[list[WaitingPod], list[str]]:
        """Who came or changed, and who left, since this was asked last."""
        entered = [
            WaitingPod(
                pod.uid,
                pod.timestamp_ns,
                pod.first_active_ns,
                pod.attempts,
                pod.is_set_aside,
                pod.uid in self.resting,
            )
            for pod in self._entered.values()
        ]
        left = list(self._left)
        self._entered, self._left = {}, {}
        return entered, left
