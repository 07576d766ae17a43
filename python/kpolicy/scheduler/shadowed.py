"""The engine in force, with a shadow that hears of everything it is told and decides.

Owns the tee, in the one thread that calls the engine: so the shadow sees the same in the same
order. Remembers the profiles of pending pods, which decisions do not name. Decides as the engine
does, and adds microseconds. Must not know what the shadow makes of it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kpolicy.engine import Applied, Decision, LeftRoom, PodState, Scheduled, Wake
from kpolicy.scheduler.engine_port import EnginePort
from kpolicy.scheduler.shadow import Shadow


class ShadowedEngine:
    """Whatever else the engine can do, it does unseen."""

    def __init__(self, engine: EnginePort, shadow: Shadow) -> None:
        self._engine: Any = engine
        self._shadow = shadow
        self._profiles: dict[str, str] = {}  # by uid

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def list_begin(self, resource: str) -> None:
        self._engine.list_begin(resource)
        self._shadow.saw("list_begin", resource)

    def list_page(self, resource: str, body: bytes, now_ns: int) -> Applied:
        applied: Applied = self._engine.list_page(resource, body, now_ns)
        self._shadow.saw("list_page", resource, body, now_ns)
        self._remember(applied)
        return applied

    def list_end(self, resource: str, now_ns: int) -> Applied:
        applied: Applied = self._engine.list_end(resource, now_ns)
        self._shadow.saw("list_end", resource, now_ns)
        self._remember(applied)
        return applied

    def watch(self, resource: str, lines: bytes, now_ns: int) -> Applied:
        applied: Applied = self._engine.watch(resource, lines, now_ns)
        self._shadow.saw("watch", resource, lines, now_ns)
        self._remember(applied)
        return applied

    def schedule(self, uids: Sequence[str], now_ns: int) -> Scheduled:
        scheduled: Scheduled = self._engine.schedule(uids, now_ns)
        self._decided(scheduled.decisions)
        return scheduled

    def choose(self, *arguments: Any) -> Decision:
        decision: Decision = self._engine.choose(*arguments)
        self._decided([decision])
        return decision

    def preempt(self, *arguments: Any, left: LeftRoom) -> Decision:
        decision: Decision = self._engine.preempt(*arguments, left=left)
        self._decided([decision])
        return decision

    def settle(self, outcomes: Sequence[tuple[str, int]], now_ns: int) -> list[Wake]:
        wakes: list[Wake] = self._engine.settle(outcomes, now_ns)
        self._shadow.saw("settle", list(outcomes), now_ns)
        return wakes

    def _decided(self, decisions: Sequence[Decision]) -> None:
        self._shadow.decided([(one, self._profiles.get(one.uid, "")) for one in decisions])

    def _remember(self, applied: Applied) -> None:
        for pod in applied.pods:
            if pod.change == PodState.PENDING:
                self._profiles[pod.uid] = sys.intern(pod.scheduler_name)
            else:
                self._profiles.pop(pod.uid, None)
