"""I5: a pod that can be placed is placed soon.

The time is that from the last change that made the pod feasible, by the reference, to its bind.
Only runs without trouble are checked, because an outage is not the queue's fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from tests.invariants.devices import wants_devices
from tests.invariants.history import SECOND_NS, History, Object, PolicyOffer, Violation
from tests.invariants.pods_and_nodes import (
    is_gated,
    is_terminal,
    node_of,
    priority_of,
    profile_of,
    requests,
)
from tests.invariants.reference import Forbids, covers, fits, repels
from tests.invariants.timeline import Timeline
from tests.invariants.volumes import leave

NAME = "I5"
NO_POLICY = PolicyOffer(0, "")


def starvation(history: History, timeline: Timeline) -> Iterator[Violation]:
    if not history.trouble_free:
        return
    limit_ns = round(history.terms.wait_s_max * SECOND_NS)
    offers = {offer.hash: offer for offer in history.policies if offer.hash}
    for uid, bind in timeline.bound_by.items():
        placed = timeline.placed.get(uid)
        if placed is None or _is_hampered(timeline.states_of(uid), history.terms.hampered):
            continue
        policy = offers.get(timeline.decision(bind).policy_hash, NO_POLICY)
        since_ns = placed.at_ns
        # Goes back in time, change by change, while the pod was feasible.
        for version in reversed(timeline.versions_between(0, placed.version - 1)):
            pod = timeline.pod(uid, version)
            if not feasible(timeline, pod, version, policy, policy.forbids):
                break
            since_ns = timeline.time_of(version)
        if placed.at_ns - since_ns > limit_ns:
            waited_s = (placed.at_ns - since_ns) / SECOND_NS
            yield Violation(NAME, placed.at_ns, f"{uid} could be placed for {waited_s:.1f} s")


def _is_hampered(states: Iterable[Object], label: tuple[str, str] | None) -> bool:
    return label is not None and any(
        (state["metadata"].get("labels") or {}).get(label[0]) == label[1] for state in states
    )


def feasible(
    timeline: Timeline, pod: Object | None, version: int, policy: PolicyOffer, forbids: Forbids
) -> bool:
    """Whether the pod was feasible by the reference; false for pods that the reference does not
    cover. `forbids`: what the policy forbids, as far as it counts."""
    if pod is None or is_gated(pod) or node_of(pod) or not covers(pod):
        return False
    if policy.cap_milli and is_held(timeline, pod, version, policy.cap_milli):
        return False
    if profile_of(pod) in timeline.terms.unjudged or wants_devices(pod):
        return False
    others = timeline.pods(version)
    if any(node_of(other) and repels(other) for other in others):
        return False
    claims = claims_before(pod, others)
    names = {node["metadata"]["name"]: node for node in timeline.nodes(version)}
    return any(
        leave(timeline, pod, node, version)
        and fits(pod, node, timeline.on_node(name, version), forbids)
        and fits(pod, node, [*timeline.on_node(name, version), *claims.get(name, ())], forbids)
        for name, node in names.items()
    )


def is_held(timeline: Timeline, pod: Object, version: int, cap_milli: int) -> bool:
    """Whether the pod is held: its namespace would have more cpu than the policy allows."""
    namespace = pod["metadata"].get("namespace")
    there = (
        other
        for other in timeline.pods(version)
        if node_of(other)
        and not is_terminal(other)
        and other["metadata"].get("namespace") == namespace
    )
    used = sum((requests(each).get("cpu", Fraction(0)) for each in (*there, pod)), Fraction(0))
    return used * 1000 > cap_milli


def claims_before(pod: Object, others: Iterable[Object]) -> dict[str, list[Object]]:
    """Nominated pods keep their resources against pods of equal or lower priority."""
    claims: dict[str, list[Object]] = {}
    for other in others:
        node = (other.get("status") or {}).get("nominatedNodeName")
        is_another = other["metadata"]["uid"] != pod["metadata"]["uid"]
        if node and is_another and not node_of(other) and priority_of(other) >= priority_of(pod):
            claims.setdefault(node, []).append(other)
    return claims
