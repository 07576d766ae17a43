"""I12: we write binds, statuses, events and leases; we delete only for a pod that is worth more.

Owns the list. Pure. Deletions are on it only where preemption is live, and each must name the uid
of a pod of lower priority than one of ours that waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.invariants.history import (
    BINDING,
    EVENT,
    LEASE,
    SECOND_NS,
    STATUS,
    History,
    Span,
    Violation,
    Write,
)
from tests.invariants.pods_and_nodes import node_of, priority_of, profile_of
from tests.invariants.timeline import Timeline

NAME = "I12"
DELETION: Final = ("delete", "pods")
# The pod for which room is made may be gone since: a silent watch is found out after 75 s, and the
# deletion is tried again for a while.
STALE_S: Final = 120.0

ALLOWED: Final = frozenset(
    {
        ("create", BINDING),
        ("patch", STATUS),
        ("create", EVENT),
        ("patch", EVENT),
        ("create", LEASE),
        ("update", LEASE),
    }
)

OF_VOLUMES: Final = frozenset({("patch", "persistentvolumes"), ("patch", "persistentvolumeclaims")})


def allow_list(history: History, timeline: Timeline) -> Iterator[Violation]:
    allowed = ALLOWED | OF_VOLUMES if history.terms.binds_volumes else ALLOWED
    for write in history.ours():
        act = (write.verb, write.what)
        who = f"{write.verb} {write.what} {write.namespace}/{write.name} by {write.user}"
        if act == DELETION and history.terms.evicts:
            why = unlawful(write, history, timeline)
            if why:
                yield Violation(NAME, write.received_ns, f"{who}: {why}")
        elif act not in allowed:
            yield Violation(NAME, write.received_ns, who)


def unlawful(deletion: Write, history: History, timeline: Timeline) -> str:
    uid = deletion.in_request("preconditions", "uid")
    if not uid:
        return "no uid is named"
    if not deletion.succeeded:
        return ""
    states = timeline.states_of(uid)
    if not states:
        return "nobody knows that pod"
    low = timeline.version_at(deletion.received_ns - round(STALE_S * SECOND_NS))
    high = timeline.version_at(deletion.received_ns)
    worth = [
        priority_of(pod)
        for pod in timeline.pods_within(Span(low, high))
        if not node_of(pod) and profile_of(pod) in history.profiles
    ]
    if max(worth, default=priority_of(states[0])) <= priority_of(states[0]):
        return f"no pod above its priority {priority_of(states[0])} waited"
    return ""
