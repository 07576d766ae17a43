"""I10: the scheduler sends no bind for a pod that is gated, terminating, another scheduler's, or on
a node.

All binds that were sent are checked, not only successful ones. A pod may have changed after the
decision: it must have been eligible at some version that the decision could be based on.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.invariants.history import History, Object, Violation
from tests.invariants.pods_and_nodes import is_deleting, is_gated, node_of, profile_of
from tests.invariants.timeline import Timeline

NAME = "I10"


def eligible(history: History, timeline: Timeline) -> Iterator[Violation]:
    for bind in history.binds():
        if bind.request is None and not bind.succeeded:
            continue  # refused or broken off before its body was read, so there is nothing to check
        uid = bind.in_request("metadata", "uid")
        who = f"{bind.namespace}/{bind.name} {uid}"
        if not uid:
            yield Violation(NAME, bind.received_ns, f"a bind of {who} names no uid")
            continue
        states = timeline.pod_within(uid, timeline.decision(bind).pods)
        reasons = [ineligible(pod, history.profiles) for pod in states]
        if all(reasons):
            why = reasons[-1] if reasons else "is not there"
            yield Violation(NAME, bind.received_ns, f"a bind of {who}, which {why}")


def ineligible(pod: Object, profiles: frozenset[str]) -> str:
    if profile_of(pod) not in profiles:
        return f"is of {profile_of(pod)}"
    if is_gated(pod):
        return "is gated"
    if is_deleting(pod):
        return "is being deleted"
    return f"is on {node_of(pod)}" if node_of(pod) else ""
