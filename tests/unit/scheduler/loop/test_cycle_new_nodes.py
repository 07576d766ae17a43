"""Which pods make cluster-autoscaler add a node: over random clusters, none that a rule keeps back
which no new node helps, and every one that is short of room or of a fitting node.

The filter of cluster-autoscaler is written here as it is in its `utils/kubernetes/listers.go`
(`isUnschedulable`), because the module proxy does not have its Go module. What the rules say of
each node is worked out here again, without the engine.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from kpolicy import Source, compile_policy
from kpolicy.cluster.writes.pod_status import PodCondition, condition_body
from kpolicy.engine import Engine
from kpolicy.scheduler.loop.consequences import take
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.testing import node, pod

SCENARIOS = 1_000
TEAMS = ("a", "b")
POOLS = ("x", "y")


def triggers_scale_up(pod: Mapping[str, Any]) -> bool:
    """cluster-autoscaler's `isUnschedulable`: neither on a node nor deleted, and the condition
    PodScheduled is False with the reason Unschedulable."""
    if pod["spec"].get("nodeName") or pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = pod["status"].get("conditions", [])
    found = next((each for each in conditions if each["type"] == "PodScheduled"), None)
    return found is not None and (found["status"], found["reason"]) == ("False", "Unschedulable")


@dataclass
class Node:
    name: str
    cpu: int
    pool: str
    pods: list[tuple[str, int]] = field(default_factory=list)  # team and cpu


@dataclass(frozen=True)
class Waiting:
    team: str
    pool: str
    cpu: int
    priority: int


@dataclass(frozen=True)
class Rule:
    """`rejects` of a node, or of any where there is none."""

    predicate: Mapping[str, Any]
    is_helped: bool
    rejects: Callable[[Waiting, Node | None, Sequence[Node]], bool]


def rules(random: Random) -> list[Rule]:
    most, crowd, least = random.randrange(4), random.randrange(1, 4), random.choice((0, 0, 5))
    counted = "cluster.pods.count(selector({'team': 'a'}))"
    quota = Rule(
        {"name": "quota", "expression": f"label(pod, 'team') != 'a' || {counted} < {most}"},
        False,
        lambda waiting, _, nodes: (
            waiting.team == "a"
            and sum(team == "a" for each in nodes for team, _ in each.pods) >= most
        ),
    )
    window = Rule(
        {"name": "important", "expression": f"pod.priority >= {least}"},
        False,
        lambda waiting, _, __: waiting.priority < least,
    )
    pool = Rule(
        {"name": "pool", "expression": "label(node, 'pool') == label(pod, 'pool')"},
        True,
        lambda waiting, on, _: on is not None and on.pool != waiting.pool,
    )
    is_helped = random.random() < 0.5
    crowded = Rule(
        {
            "name": "crowded",
            "expression": f"node.podCount < {crowd}",
            **({} if is_helped else {"helpedBy": "other"}),
        },
        is_helped,
        lambda _, on, __: on is not None and len(on.pods) >= crowd,
    )
    chosen = [rule for rule in (quota, window, pool, crowded) if random.random() < 0.6]
    room = Rule(
        {"builtin": "NodeResourcesFit"},
        True,
        lambda waiting, on, _: (
            on is not None and sum(cpu for _, cpu in on.pods) + waiting.cpu > on.cpu
        ),
    )
    random.shuffle(chosen)
    chosen.insert(random.randrange(len(chosen) + 1), room)
    return chosen


def cluster(random: Random) -> list[Node]:
    nodes = []
    for number in range(random.choice((0, 1, 1, 2, 3, 4))):
        on = Node(f"n{number}", random.randrange(1, 5), random.choice(POOLS))
        free = on.cpu
        while free and random.random() < 0.7:
            on.pods.append((random.choice(TEAMS), 1))
            free -= 1
        nodes.append(on)
    return nodes


def engine_with(chosen: Sequence[Rule], nodes: Sequence[Node], waiting: Waiting) -> Engine:
    spec = {
        "profiles": [{"schedulerName": "kpolicy"}],
        "base": "none",
        "predicateOrder": "asWritten",
        "predicates": [dict(rule.predicate) for rule in chosen],
    }
    head = {"apiVersion": "kpolicy.dev/v1alpha1", "kind": "SchedulingPolicy"}
    document = {**head, "metadata": {"name": "p"}, "spec": spec}
    compiled = compile_policy([Source("policy.yaml", json.dumps(document))])
    assert compiled.program is not None, compiled.diagnostics
    engine = Engine()
    assert engine.load(compiled.program.bytes) == []
    objects = [node(on.name, cpu=str(on.cpu), labels={"pool": on.pool}) for on in nodes]
    for on in nodes:
        for number, (team, cpu) in enumerate(on.pods):
            name = f"{on.name}-{number}"
            objects.append(pod(name, cpu=str(cpu), labels={"team": team}, node_name=on.name))
    labels = {"team": waiting.team, "pool": waiting.pool}
    objects.append(pod("p", cpu=str(waiting.cpu), labels=labels, priority=waiting.priority))
    for each in objects:
        each["metadata"]["uid"] = each["metadata"]["name"]
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    assert engine.load_objects(json.dumps(listed).encode(), "") == []
    return engine


def as_written(engine: Engine) -> dict[str, Any]:
    """The pod as the API server has it after it was tried once."""
    queue = Queue()
    [change] = engine.pending()
    queue.changed(change, 0)
    batch = queue.pop_batch(1, 0)
    outcome = take(queue, batch, engine.schedule(["p"], 0).decisions, 0)
    if outcome.placements:
        return {"metadata": {}, "spec": {"nodeName": outcome.placements[0].decision.node}}
    [rejection] = outcome.rejections
    condition = PodCondition(
        "default", "p", "p", rejection.reason, rejection.decision.message, None
    )
    status = json.loads(condition_body(condition, 0))["status"]
    return {"metadata": {}, "spec": {}, "status": status}


def test_who_makes_cluster_autoscaler_add_a_node() -> None:
    random = Random(20)
    seen: Counter[tuple[str, bool]] = Counter()
    for _ in range(SCENARIOS):
        chosen, nodes = rules(random), cluster(random)
        pool, priority = random.choice(POOLS), random.randrange(10)
        waiting = Waiting(random.choice(TEAMS), pool, random.randrange(1, 4), priority)
        written = as_written(engine_with(chosen, nodes, waiting))
        fits = any(not any(rule.rejects(waiting, on, nodes) for rule in chosen) for on in nodes)
        others = [rule for rule in chosen if not rule.is_helped]
        everywhere: Sequence[Node | None] = nodes or [None]
        is_kept_back = all(
            any(rule.rejects(waiting, on, nodes) for rule in others) for on in everywhere
        )
        case = "fits" if fits else "kept back" if is_kept_back else "needs a node"
        seen[case, bool(nodes)] += 1
        assert triggers_scale_up(written) == (case == "needs a node"), (case, written)
    assert min(seen.values()) > 20, seen
    assert len(seen) == 5


def default_engine(*objects: dict[str, Any]) -> Engine:
    engine = Engine()
    compiled = compile_policy(every_pod=True)
    assert compiled.program is not None
    assert engine.load(compiled.program.bytes) == []
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    assert engine.load_objects(json.dumps(listed).encode(), "") == []
    return engine


def waiting_pod(**spec: Any) -> dict[str, Any]:
    made = pod("p", scheduler_name="default-scheduler", **spec)
    made["metadata"]["uid"] = "p"
    return made


def test_the_default_is_kube_schedulers() -> None:
    """Without a rule of one's own, every pod that fits nowhere makes it add a node."""
    engine = default_engine(node("n1", cpu="1"), waiting_pod(cpu="2"))
    assert triggers_scale_up(as_written(engine))


def test_no_node_is_added_for_a_pod_that_takes_too_much_work() -> None:
    nodes = [node(f"n{index}") for index in range(100)]
    hostile = waiting_pod(node_selector={f"k{index}": "x" for index in range(8_000)})
    written = as_written(default_engine(*nodes, hostile))
    [condition] = written["status"]["conditions"]
    assert condition["reason"] == "TooMuchWork"
    assert not triggers_scale_up(written)
