"""I13: when trouble and changes have ended, every pod that can be placed is placed, no pod that a
hold holds asks autoscalers for a node, and then nothing changes. Needs `calm_since_ns`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.invariants.history import (
    EVENT,
    LEASE,
    SECOND_NS,
    STATUS,
    History,
    Object,
    PolicyOffer,
    Violation,
    Write,
)
from tests.invariants.lost_pods import pending
from tests.invariants.pods_and_nodes import is_deleting, name_of, priority_of
from tests.invariants.starvation import NO_POLICY, feasible, is_held
from tests.invariants.timeline import Timeline

NAME = "I13"


def rest(history: History, timeline: Timeline) -> Iterator[Violation]:
    if history.calm_since_ns is None:
        return
    converged_ns = history.calm_since_ns + round(history.terms.converge_s * SECOND_NS)
    rested_ns = converged_ns + round(history.terms.rest_s * SECOND_NS)
    if history.ended_ns < rested_ns:
        yield Violation(NAME, history.ended_ns, "the run ended before it could have rested")
        return
    if history.at_rest is None and any(write.what == LEASE for write in history.ours()):
        yield Violation(NAME, history.ended_ns, "nobody leads")
    policy = _in_force(history)
    forbids = (*policy.forbids, *(policy.shuns if history.terms.shuns else ()))
    waiting = list(pending(history, timeline))
    # A nomination that cannot be written is not to be seen here, and is made again and again: it
    # takes the room that a pod of lower priority would fit in.
    highest = max(map(priority_of, waiting), default=0) if STATUS in history.terms.broken else None
    for pod in waiting:
        if highest is not None and priority_of(pod) < highest:
            continue
        if not is_deleting(pod) and feasible(timeline, pod, timeline.last, policy, forbids):
            yield Violation(NAME, history.ended_ns, f"{name_of(pod)} waits, and would fit")
    yield from _misled(history, timeline, waiting, policy)
    reported: set[tuple[str, str]] = set()
    for write in history.ours():
        # The lease is renewed for ever, and the count of a repeated event rises.
        lively = write.what == LEASE or (write.what == EVENT and write.verb == "patch")
        lively = lively or write.what in history.terms.broken
        if write.received_ns <= converged_ns or lively:
            continue
        if history.terms.retells and _first_again(write, reported):
            continue
        text = f"{write.verb} {write.what} {write.namespace}/{write.name} though all is at rest"
        yield Violation(NAME, write.received_ns, text)


def _misled(
    history: History, timeline: Timeline, waiting: list[Object], policy: PolicyOffer
) -> Iterator[Violation]:
    """Autoscalers take the reason `Unschedulable` as the wish for a node."""
    if not policy.cap_milli or STATUS in history.terms.broken:
        return
    for pod in waiting:
        is_wish = _reason(pod) == "Unschedulable" and not is_deleting(pod)
        if is_wish and is_held(timeline, pod, timeline.last, policy.cap_milli):
            text = f"{name_of(pod)} has the reason Unschedulable, and is held"
            yield Violation(NAME, history.ended_ns, text)


def _reason(pod: Object) -> str:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    reasons = (each.get("reason") for each in conditions if each.get("type") == "PodScheduled")
    return str(next(reasons, ""))


def _in_force(history: History) -> PolicyOffer:
    """The policy in force, which need not be the newest good one."""
    in_force = history.at_rest.policy_hash if history.at_rest is not None else ""
    offers = [
        policy for policy in history.policies if policy.hash and in_force in ("", policy.hash)
    ]
    return offers[-1] if offers else NO_POLICY


def _first_again(write: Write, keys_seen: set[tuple[str, str]]) -> bool:
    """Parked pods are tried again every five minutes, and may then get another reason. It is
    written once, to the status and as an event."""
    if write.what not in (STATUS, EVENT):
        return False
    about = write.in_request("regarding", "uid") or f"{write.namespace}/{write.name}"
    key = (write.what, about)
    again = key not in keys_seen
    keys_seen.add(key)
    return again
