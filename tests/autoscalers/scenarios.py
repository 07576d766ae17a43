"""Random scenarios: nodes, pods that run, and waves in which pods come and go."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from tests.autoscalers.cluster import Node, Pod
from tests.autoscalers.rules import NAMESPACES, POOLS, TEAMS, VIP_TEAM, ZONES, Policy

NODES_MAX: Final = 4
VIP_PRIORITY: Final = 1000


@dataclass(frozen=True, slots=True)
class Wave:
    """What changes at one moment. `ended`: pods that were running."""

    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    ended: tuple[Pod, ...] = ()
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Scenario:
    waves: tuple[Wave, ...]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(node for wave in self.waves for node in wave.nodes)

    @property
    def pods(self) -> tuple[Pod, ...]:
        return tuple(pod for wave in self.waves for pod in wave.pods)


def scenario_of(chance: Random, policy: Policy) -> Scenario:
    nodes = [_node(chance, number) for number in range(chance.randint(0, NODES_MAX))]
    first = nodes[: len(nodes) - (len(nodes) > 1 and chance.random() < 0.3)]
    running = _running(chance, first)
    come = [_pod(chance, f"pod-{number}") for number in range(chance.randint(3, 9))]
    cut = chance.randint(0, len(come))
    ended = tuple(pod for pod in running if chance.random() < 0.2)
    last = [*come[cut:]]
    if chance.random() < 0.4 and _may_evict(policy):
        last.append(_vip(chance))
    return Scenario(
        (
            Wave((*running, *come[:cut]), tuple(first), pause_s=chance.choice((0.0, 0.02, 1.0))),
            Wave(nodes=tuple(nodes[len(first) :]), ended=ended, pause_s=chance.random()),
            Wave(tuple(last)),
        )
    )


def _may_evict(policy: Policy) -> bool:
    """Whether a nominated pod counts for a rule that no new node helps depends on the rules before
    it. The naive model knows no order of rules, so no pod evicts others under such a rule."""
    return all(rule.is_helped for rule in policy.rules if rule.name == "few-on-a-node")


def _node(chance: Random, number: int) -> Node:
    return Node(
        f"node-{number}",
        milli_cpu=chance.choice((1000, 2000, 4000)),
        mebibytes=chance.choice((1024, 2048, 4096)),
        pods=chance.choice((1, 2, 3, 5)),
        pool=chance.choice(POOLS),
        zone=chance.choice(ZONES),
        is_cordoned=chance.random() < 0.1,
    )


def _running(chance: Random, nodes: list[Node]) -> list[Pod]:
    """One at most on each node, and never more than it has."""
    pods = []
    for number, node in enumerate(nodes):
        if chance.random() < 0.6:
            pods.append(_pod(chance, f"running-{number}", runs_on=node))
    return pods


def _pod(chance: Random, name: str, runs_on: Node | None = None) -> Pod:
    labels = {"team": chance.choice(TEAMS), "pool": chance.choice(POOLS)}
    labels |= {label: "yes" for label in ("batch", "night", "banned") if chance.random() < 0.12}
    milli_cpu = chance.choice((0, 250, 500, 1000, 3000))
    mebibytes = chance.choice((0, 256, 512, 1024, 3072))
    return Pod(
        name,
        chance.choice(NAMESPACES),
        milli_cpu=milli_cpu if runs_on is None else min(milli_cpu, runs_on.milli_cpu),
        mebibytes=mebibytes if runs_on is None else min(mebibytes, runs_on.mebibytes),
        labels=labels,
        is_gated=runs_on is None and chance.random() < 0.08,
        runs_on=runs_on.name if runs_on is not None else "",
    )


def _vip(chance: Random) -> Pod:
    return Pod(
        "vip",
        chance.choice(NAMESPACES),
        milli_cpu=chance.choice((500, 1000, 3000)),
        mebibytes=chance.choice((256, 1024, 3072)),
        labels={"team": VIP_TEAM, "pool": chance.choice(POOLS)},
        priority=VIP_PRIORITY,
    )
