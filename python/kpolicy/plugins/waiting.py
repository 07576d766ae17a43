"""Pods that wait on Permit: which plugins they wait for, until when, and what became of them.

Plugins allow and reject in their thread; the scheduler's loop waits and watches the time. A lock
guards each change, and is held for a few steps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kpolicy.api_times import NANOSECONDS
from kpolicy.plugins.messages import duration, one_line
from kpolicy.plugins.pods import Pod


@dataclass(frozen=True, slots=True)
class Rejected:
    """A plugin refused the pod: its name, and what it said."""

    plugin: str
    message: str

    @property
    def of_the_node(self) -> str:
        """As kube-scheduler's condition says it of a pod that had a node."""
        return f"0/1 nodes are available: 1 {self.message}."


class WaitingPod:
    """A pod that has a place on `node` and may not be bound yet."""

    def __init__(
        self, pod: Pod, node: str, seconds: Mapping[str, float], now_ns: int, key: int
    ) -> None:
        """`seconds`: by plugin, how long it may let the pod wait. `key` is of this attempt."""
        self.pod = pod
        self.node = node
        self.since_ns = now_ns
        self.key = key
        self._seconds = dict(seconds)
        self._lock = threading.Lock()
        self._pending = {name: now_ns + round(s * NANOSECONDS) for name, s in seconds.items()}
        self._rejected: Rejected | None = None
        self._is_over = False
        self._on_change: Callable[[], None] | None = None

    def pending_plugins(self) -> tuple[str, ...]:
        """The plugins that have not allowed it yet."""
        with self._lock:
            return tuple(self._pending)

    def allow(self, plugin: str) -> None:
        """This plugin waits no longer. The pod goes on when no plugin waits."""
        with self._lock:
            self._pending.pop(plugin, None)
            is_over = not self._pending
        if is_over:
            self._changed()

    def reject(self, plugin: str, message: str) -> None:
        """`plugin` is named as the one that refuses the pod. The first word counts."""
        with self._lock:
            if self._pending and self._rejected is None:
                self._rejected = Rejected(plugin, one_line(message))
        self._changed()

    def subscribe(self, on_change: Callable[[], None]) -> None:
        """Calls it, from any thread, when the wait may be over."""
        self._on_change = on_change

    def outcome(self) -> Rejected | bool:
        """True: it is allowed. False: it still waits."""
        with self._lock:
            return self._rejected or not self._pending

    def first_end_ns(self) -> int:
        """When the first of the pending plugins has waited for too long; 0 if none is pending."""
        with self._lock:
            return min(self._pending.values(), default=0)

    def time_out(self, now_ns: int) -> None:
        """Rejects it for the first plugin whose time is over."""
        with self._lock:
            late = [(end_ns, name) for name, end_ns in self._pending.items() if end_ns <= now_ns]
            if late and self._rejected is None:
                plugin = min(late)[1]
                waited = duration(self._seconds[plugin])
                message = f"rejected due to timeout after waiting {waited} at plugin {plugin}"
                self._rejected = Rejected(plugin, message)

    def shown(self, now_ns: int) -> dict[str, object]:
        with self._lock:
            left = {n: round((end - now_ns) / NANOSECONDS, 1) for n, end in self._pending.items()}
        return {
            "pod": self.pod.key,
            "node": self.node,
            "waitsForSeconds": round((now_ns - self.since_ns) / NANOSECONDS, 1),
            "plugins": [{"name": name, "secondsLeft": max(0.0, s)} for name, s in left.items()],
        }

    def _changed(self) -> None:
        if self._on_change is not None:
            self._on_change()


class WaitingPods:
    """All pods that wait now, by uid."""

    def __init__(self) -> None:
        self._by_uid: dict[str, WaitingPod] = {}

    def add(self, waiting: WaitingPod) -> None:
        self._by_uid[waiting.pod.uid] = waiting

    def remove(self, uid: str, key: int) -> None:
        """Only if it is still the wait of this attempt."""
        found = self._by_uid.get(uid)
        if found is not None and found.key == key:
            del self._by_uid[uid]

    def get(self, uid: str) -> WaitingPod | None:
        return self._by_uid.get(uid)

    def all(self) -> tuple[WaitingPod, ...]:
        return tuple(self._by_uid.values())

    def __len__(self) -> int:
        return len(self._by_uid)
