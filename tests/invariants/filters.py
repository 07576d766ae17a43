"""I3: every filter holds for a pod and its node, by what could be known at the time of the
decision.

Compares with the reference, which is independent of the engine. The new engine of the comparer (I6)
covers the filters that the reference does not have.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.invariants.capacity import accountable
from tests.invariants.history import History, Violation
from tests.invariants.pods_and_nodes import host_ports, ports_meet
from tests.invariants.reference import why_not
from tests.invariants.timeline import Timeline

NAME = "I3"


def filters(history: History, timeline: Timeline) -> Iterator[Violation]:
    forbids = {offer.hash: offer.forbids for offer in history.policies if offer.hash}
    for uid, bind in timeline.bound_by.items():
        placed = timeline.placed.get(uid)
        if placed is None:
            continue
        decision = timeline.decision(bind)
        pods = timeline.pod_within(uid, decision.pods)
        nodes = timeline.node_within(placed.node, decision.nodes)
        if not nodes:
            text = f"{uid} was bound to {placed.node}, which was not there"
            yield Violation(NAME, placed.at_ns, text)
            continue
        reasons = [
            why_not(pod, node, forbids.get(decision.policy_hash, ()))
            for pod in pods
            for node in nodes
        ]
        if reasons and all(reasons):
            yield Violation(NAME, placed.at_ns, f"{uid} on {placed.node}: {reasons[-1]}")
        there = accountable(timeline, bind, placed)
        ports = [(pod["metadata"]["uid"], host_ports(pod)) for pod in there]
        ours = next((wanted for other, wanted in ports if other == uid), set())
        for other, wanted in ports:
            if other != uid and ports_meet(ours, wanted):
                text = f"{uid} on {placed.node} wants a host port that {other} has"
                yield Violation(NAME, placed.at_ns, text)
