"""A run under the eyes of the invariants' checker: what was recorded while a stage played.

Owns what a single stage can be judged by. Who led when (I8) needs a recording that began before the
instances did: tests of replicas make one themselves.
"""

from __future__ import annotations

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.stage import WITHIN_S, Stage
from tests.invariants.check import violations
from tests.invariants.history import AtRest, Terms, Violation
from tests.invariants.recording import Recording

LEADER = "I8"
# How much others may have written that we had not seen yet: watches that are silenced, and machines
# that are busy. Our own binds have no such excuse.
TERMS = Terms(lag_s=60.0)


def recording(plane: ControlPlane, profile: str) -> Recording:
    return Recording(plane, users=(NORMAL,), profiles=(profile, f"{profile}-plug"), terms=TERMS)


def judge(stage: Stage, recorded: Recording) -> int:
    """No invariant is broken at the end; how many binds were looked at.

    What was once unsafe stays so; only what waits (I4) may take a moment until all is said."""
    found: list[Violation] = []

    def held() -> bool:
        history = recorded.history(at_rest=at_rest(stage))
        found[:] = [one for one in violations(history) if one.invariant != LEADER]
        return not found

    try:
        wait_for(held, "the invariants to hold", timeout_s=WITHIN_S, every_s=0.5)
    finally:
        for one in found:
            print(one)
    return len(recorded.history().binds())


def at_rest(stage: Stage) -> AtRest:
    """The scheduler's own view, from its metrics."""
    metric = stage.scheduler.metric
    return AtRest(
        at_ns=0,
        pending=int(metric("scheduler_pending_pods")),
        assumed=int(metric("scheduler_cache_size", type="assumed_pods")),
        binds_in_flight=int(metric("kpolicy_reservations_open")),
    )
