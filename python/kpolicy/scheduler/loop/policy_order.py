"""Pods whose turn the engine tells, because the policy in force orders the queue or holds pods.

The engine is told of changes only: who came or changed, and who left, since it was asked last.
"""

from __future__ import annotations

from kpolicy.engine import WaitingPod
from kpolicy.scheduler.loop.queued_pod import QueuedPod


class PolicyOrder:
    """`ready` may be tried; `held` are held back. The engine knows both."""

    def __init__(self) -> None:
        self.ready: dict[str, QueuedPod] = {}
        self.held: dict[str, QueuedPod] = {}
        self._entered: dict[str, QueuedPod] = {}
        self._left: dict[str, None] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self.ready or uid in self.held

    @property
    def is_to_ask(self) -> bool:
        return bool(self.ready or self.held or self._left)

    def enter(self, pod: QueuedPod) -> None:
        self.ready[pod.uid] = pod
        self.changed(pod)

    def changed(self, pod: QueuedPod) -> None:
        """The engine looks at it again."""
        self._left.pop(pod.uid, None)
        self._entered[pod.uid] = pod

    def leave(self, uid: str) -> None:
        """It waits no longer, or its attempt is over without a node."""
        self.ready.pop(uid, None)
        self.held.pop(uid, None)
        self._entered.pop(uid, None)
        self._left[uid] = None

    def take(self, uid: str) -> QueuedPod | None:
        """The engine says that it is next. None: it left meanwhile."""
        pod = self.ready.pop(uid, None) or self.held.pop(uid, None)
        if pod is None:
            self._left[uid] = None
        else:
            self._entered.pop(uid, None)
        return pod

    def hold(self, uid: str) -> QueuedPod | None:
        """The engine says that it is held. None: it left meanwhile."""
        pod = self.ready.pop(uid, None) or self.held.get(uid)
        if pod is not None:
            self.held[uid] = pod
        return pod

    def news(self) -> tuple[list[WaitingPod], list[str]]:
        """Who came or changed, and who left, since this was asked last."""
        entered = [
            WaitingPod(
                pod.uid,
                pod.timestamp_ns,
                pod.first_active_ns,
                pod.attempts,
                pod.is_set_aside,
            )
            for pod in self._entered.values()
        ]
        left = list(self._left)
        self._entered, self._left = {}, {}
        return entered, left
