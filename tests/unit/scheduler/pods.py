"""pending pods as the engine tells of them, for tests."""

from __future__ import annotations

from kpolicy.engine import PodChange, PodState

SECOND = 1_000_000_000


def pending(
    uid: str,
    *,
    namespace: str = "default",
    name: str = "",
    priority: int = 0,
    scheduler_name: str = "kpolicy",
    gated: bool = False,
    created_ns: int = 0,
) -> PodChange:
    place = (namespace, name, priority, scheduler_name, gated, "", "", created_ns)
    return PodChange(PodState.PENDING, uid, *place)
