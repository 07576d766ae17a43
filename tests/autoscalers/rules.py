"""Random policies: holds and predicates, each as text and as what the text means in Python.

The meaning is written by hand and has nothing to do with the engine. Texts and meanings are of the
forms that the guides show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from tests.autoscalers.cluster import Cluster, Node, Pod
from tests.simulation.policies import PolicyText, policy_text

NAMESPACES: Final = ("red", "blue", "green")
TEAMS: Final = ("front", "back")
VIP_TEAM: Final = "vip"  # of pods that evict others
ZONES: Final = ("x", "y")
POOLS: Final = ("a", "b")
# Simulated days begin at midnight of January 1.
_OPEN: Final = "now.within('0 0 1 1 *', duration('23h'))"
_CLOSED: Final = "now.within('0 0 2 1 *', duration('23h'))"


@dataclass(frozen=True, slots=True)
class Hold:
    name: str
    when: str
    holds: Callable[[Pod, Cluster], bool]

    def text(self) -> str:
        return (
            f"    - name: {self.name}\n"
            f'      when: "{self.when}"\n'
            f"      message: {self.name} holds the pod\n"
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """`rejects` is of any node where `reads_node` is false. `helped_by`: what the policy says of
    the rule, if anything."""

    name: str
    expression: str
    rejects: Callable[[Pod, Node, Cluster], bool]
    reads_node: bool
    helped_by: str = ""

    @property
    def is_helped(self) -> bool:
        """Whether a new node may pass where the others do not."""
        return self.reads_node and self.helped_by != "other"

    def text(self) -> str:
        helped_by = f"      helpedBy: {self.helped_by}\n" if self.helped_by else ""
        return (
            f"    - name: {self.name}\n"
            f'      expression: "{self.expression}"\n'
            f"      message: rejected by {self.name}\n{helped_by}"
        )


@dataclass(frozen=True, slots=True)
class Policy:
    holds: tuple[Hold, ...]
    rules: tuple[Rule, ...]

    def text(self) -> PolicyText:
        predicates = "".join(rule.text() for rule in self.rules)
        holds = "".join(hold.text() for hold in self.holds)
        lines = [
            f"  predicates:\n{predicates}" if predicates else "",
            "  queue:\n    podInitialBackoff: 0.1\n    podMaxBackoff: 0.2\n",
            f"    holds:\n{holds}" if holds else "",
        ]
        return PolicyText("random", policy_text("random", "".join(lines)))


def policy_of(chance: Random) -> Policy:
    holds = [_cpu_quota, _pod_quota, _closed_hours]
    rules = [_team_quota, _own_pool, _few_on_a_node, _ban, _closed_zone, _open_hours]
    return Policy(
        tuple(make(chance) for make in holds if chance.random() < 0.4),
        tuple(make(chance) for make in rules if chance.random() < 0.35),
    )


# --- holds ---------------------------------------------------------------------------------------


def _cpu_quota(chance: Random) -> Hold:
    namespace, cap = chance.choice(NAMESPACES), chance.choice((0, 500, 1000, 2000))

    def holds(pod: Pod, cluster: Cluster) -> bool:
        if pod.namespace != namespace:
            return False
        used = sum(other.milli_cpu for other in cluster.of_namespace(namespace))
        return used + pod.milli_cpu > cap

    when = f"tenant.name == '{namespace}' && tenant.used('cpu') + pod.request('cpu') > {cap}"
    return Hold("cpu-quota", when, holds)


def _pod_quota(chance: Random) -> Hold:
    namespace, cap = chance.choice(NAMESPACES), chance.randint(1, 3)

    def holds(pod: Pod, cluster: Cluster) -> bool:
        return pod.namespace == namespace and len(cluster.of_namespace(namespace)) >= cap

    return Hold("pod-quota", f"tenant.name == '{namespace}' && tenant.pods >= {cap}", holds)


def _closed_hours(chance: Random) -> Hold:
    is_open = chance.random() < 0.3

    def holds(pod: Pod, cluster: Cluster) -> bool:
        return "batch" in pod.labels and not is_open

    when = f"'batch' in pod.labels && !{_OPEN if is_open else _CLOSED}"
    return Hold("closed-hours", when, holds)


# --- predicates ----------------------------------------------------------------------------------


def _team_quota(chance: Random) -> Rule:
    """Pods that evict others have a team of their own, so that no nominated pod counts here."""
    cap = chance.randint(1, 3)

    def rejects(pod: Pod, node: Node, cluster: Cluster) -> bool:
        team = pod.labels["team"]
        return sum(other.labels["team"] == team for other in cluster.placed) >= cap

    count = "cluster.pods.count(selector('team=' + label(pod, 'team')))"
    return Rule("team-quota", f"{count} < {cap}", rejects, reads_node=False)


def _own_pool(chance: Random) -> Rule:
    def rejects(pod: Pod, node: Node, cluster: Cluster) -> bool:
        return node.pool != pod.labels["pool"]

    expression = "label(node, 'pool') == label(pod, 'pool')"
    helped_by = chance.choice(("", "newNode"))
    return Rule("own-pool", expression, rejects, reads_node=True, helped_by=helped_by)


def _few_on_a_node(chance: Random) -> Rule:
    cap = chance.randint(1, 4)

    def rejects(pod: Pod, node: Node, cluster: Cluster) -> bool:
        return len(cluster.on(node)) >= cap

    helped_by = chance.choice(("", "newNode", "other"))
    expression = f"node.podCount < {cap}"
    return Rule("few-on-a-node", expression, rejects, reads_node=True, helped_by=helped_by)


def _ban(chance: Random) -> Rule:
    del chance

    def rejects(pod: Pod, node: Node, cluster: Cluster) -> bool:
        return "banned" in pod.labels

    return Rule("ban", "!('banned' in pod.labels)", rejects, reads_node=False)


def _closed_zone(chance: Random) -> Rule:
    zone = chance.choice(ZONES)

    def rejects(pod: Pod, node: Node, cluster: Cluster) -> bool:
        return node.zone == zone

    helped_by = chance.choice(("", "other", "other"))
    expression = f"label(node, 'zone') != '{zone}'"
    return Rule("closed-zone", expression, rejects, reads_node=True, helped_by=helped_by)


def _open_hours(chance: Random) -> Rule:
    is_open = chance.random() < 0.3

    def rejects(pod: Pod, node: Node, cluster: Cluster) -> bool:
        return "night" in pod.labels and not is_open

    expression = f"!('night' in pod.labels) || {_OPEN if is_open else _CLOSED}"
    return Rule("open-hours", expression, rejects, reads_node=False)
