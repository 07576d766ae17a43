"""What a pending pod waits for, worked out naively from the rules of the policy and from the nodes
on which the other pods are. Nothing here reads a condition or asks the engine.
"""

from __future__ import annotations

from enum import Enum

from tests.autoscalers.cluster import Cluster, Node, Pod
from tests.autoscalers.rules import Policy


class Fate(Enum):
    GATED = "has a scheduling gate"
    HELD = "held by the policy"
    KEPT_BACK = "rejected by rules that no new node helps"
    PREEMPTING = "waits for pods that are evicted for it"
    SHORT = "a new node could help"
    PLACEABLE = "fits on a node"


def fate_of(pod: Pod, policy: Policy, cluster: Cluster) -> Fate:
    if pod.is_gated:
        return Fate.GATED
    if any(hold.holds(pod, cluster) for hold in policy.holds):
        return Fate.HELD
    if _is_kept_back(pod, policy, cluster):
        return Fate.KEPT_BACK
    seen = cluster.as_seen_by(pod)
    if any(_passes(pod, node, policy, seen) for node in cluster.nodes):
        return Fate.PLACEABLE
    emptied = seen.without(lambda other: other.priority < pod.priority)
    if any(_passes(pod, node, policy, emptied) for node in cluster.nodes):
        return Fate.PREEMPTING
    return Fate.SHORT


def lacking(pod: Pod, cluster: Cluster) -> set[str]:
    """The resources that keep the pod from some node."""
    seen = cluster.as_seen_by(pod)
    return {resource for node in cluster.nodes for resource in _lacking_on(node, pod, seen)}


def _is_kept_back(pod: Pod, policy: Policy, cluster: Cluster) -> bool:
    beyond = [rule for rule in policy.rules if not rule.is_helped]
    if not cluster.nodes:
        # Nothing is known of a node that is not there.
        anywhere = Node("", 0, 0, 0, "", "")
        return any(not rule.reads_node and rule.rejects(pod, anywhere, cluster) for rule in beyond)
    return all(any(rule.rejects(pod, node, cluster) for rule in beyond) for node in cluster.nodes)


def _passes(pod: Pod, node: Node, policy: Policy, cluster: Cluster) -> bool:
    is_rejected = any(rule.rejects(pod, node, cluster) for rule in policy.rules)
    return not (node.is_cordoned or is_rejected or _lacking_on(node, pod, cluster))


def _lacking_on(node: Node, pod: Pod, cluster: Cluster) -> set[str]:
    there = [*cluster.on(node), pod]
    asked = {
        "cpu": (sum(each.milli_cpu for each in there), node.milli_cpu, pod.milli_cpu),
        "memory": (sum(each.mebibytes for each in there), node.mebibytes, pod.mebibytes),
        "pods": (len(there), node.pods, 1),
    }
    return {name for name, (wanted, there_is, own) in asked.items() if own and wanted > there_is}
