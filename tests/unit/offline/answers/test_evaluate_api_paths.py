"""Facts by API path, from the text of a policy to the verdict of the engine.

Each expression is asked twice: node by node, as explain does, and for all nodes at once, as the
cycle does.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from kpolicy.engine import Engine
from kpolicy.offline.answers.evaluate import Evaluating
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source

STARTED = "2026-01-02T03:04:05Z"


def _node(name: str, status: dict[str, Any], **more: Any) -> dict[str, Any]:
    offered = {"cpu": 4, "memory": "8Gi", "pods": "10"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"disk": "ssd"} if name == "a" else {}},
        "spec": {"unschedulable": False, **more},
        "status": {"capacity": offered, "allocatable": offered, **status},
    }


NODES = [
    _node(
        "a",
        {
            "nodeInfo": {"kernelVersion": "6.1.0", "kubeletVersion": "v1.36.2", "bootID": "1"},
            "addresses": [{"type": "InternalIP", "address": "10.1.2.3"}],
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": STARTED},
                {"type": "Bad", "status": "False", "lastHeartbeatTime": STARTED},
            ],
        },
        providerID="cloud:///a",
        podCIDR="10.244.0.0/24",
    ),
    _node(
        "b",
        {
            "nodeInfo": {"kernelVersion": "5.15.0", "kubeletVersion": "v1.35.0", "bootID": "2"},
            "addresses": [{"type": "InternalIP", "address": "192.168.0.7"}],
            "runtimeHandlers": [{"name": "runc", "features": {"userNamespaces": True}}],
        },
        taints=[{"key": "k", "effect": "PreferNoSchedule", "timeAdded": STARTED}],
    ),
    _node("c", {}),
]
NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "d", "labels": {"team": "t"}, "creationTimestamp": STARTED},
    "status": {"phase": "Active"},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "d",
        "uid": "p",
        "labels": {"app": "web"},
        "creationTimestamp": STARTED,
        "generateName": "p-",
    },
    "spec": {
        "runtimeClassName": "gvisor",
        "nodeSelector": {},
        "overhead": {"cpu": "10m"},
        "securityContext": {"runAsUser": 1000},
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
        "containers": [
            {
                "name": "c",
                "image": "i",
                "env": [{"name": "SECRET", "value": "x"}],
                "securityContext": {"privileged": True},
                "resources": {"requests": {"cpu": 1, "memory": "1Gi"}},
            }
        ],
    },
}

ALL = frozenset("abc")
NONE = frozenset("")
# An expression, and the nodes that it lets pass. One that errs lets none.
CASES: dict[str, frozenset[str]] = {
    "node.status.nodeInfo.kernelVersion.startsWith('6.')": frozenset("a"),
    "node.status.nodeInfo.kernelVersion == '5.15.0'": frozenset("b"),
    "has(node.status.nodeInfo.kernelVersion)": frozenset("ab"),
    "has(node.status.nodeInfo)": frozenset("ab"),
    "!has(node.status.nodeInfo.kernelVersion)": frozenset("c"),
    "node.status.?nodeInfo.?kernelVersion.orValue('0') < '6'": frozenset("bc"),
    "has(node.status.nodeInfo) && semver(node.status.nodeInfo.kubeletVersion, true)"
    ".isGreaterThan(semver('1.35.9'))": frozenset("a"),
    "node.status.addresses.exists(a, cidr('10.0.0.0/8').containsIP(a.address))": frozenset("a"),
    "has(node.spec.podCIDR) && cidr(node.spec.podCIDR).prefixLength() == 24": frozenset("a"),
    "node.status.capacity['cpu'] == '4'": ALL,
    "quantity(node.status.capacity['memory']).isGreaterThan(quantity('7Gi'))": ALL,
    "'memory' in node.status.allocatable": ALL,
    "'example.com/gpu' in node.status.capacity": NONE,
    "node.status.capacity['example.com/gpu'] == '1'": NONE,
    "node.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')": frozenset("a"),
    "node.status.conditions[0].lastTransitionTime < timestamp('2026-01-03T00:00:00Z')": frozenset(
        "a"
    ),
    "has(node.spec.taints) && node.spec.taints[0].timeAdded.getFullYear() == 2026": frozenset("b"),
    "has(node.status.runtimeHandlers) && node.status.runtimeHandlers.exists(h, h.name == 'runc' "
    "&& has(h.features.userNamespaces))": frozenset("b"),
    "node.spec.unschedulable == false": ALL,
    "node.metadata.name in ['a', 'c']": frozenset("ac"),
    "node.metadata.labels['disk'] == 'ssd'": frozenset("a"),
    "has(node.metadata.labels)": frozenset("a"),
    "has(node.metadata.annotations)": NONE,
    "pod.spec.runtimeClassName == 'gvisor'": ALL,
    "has(pod.spec.hostPID)": NONE,
    "pod.spec.containers.all(c, has(c.securityContext) && c.securityContext.privileged)": ALL,
    "pod.spec.containers[0].resources.requests['cpu'] == '1'": ALL,
    "pod.spec.securityContext.runAsUser >= 1000": ALL,
    "quantity(pod.spec.volumes[0].emptyDir.sizeLimit) == quantity('1024Mi')": ALL,
    "pod.spec.overhead['cpu'] == '10m'": ALL,
    "pod.spec.nodeSelector.size() == 0": ALL,
    "pod.metadata.creationTimestamp == timestamp('2026-01-02T03:04:05Z')": ALL,
    "pod.metadata.generateName + 'x' == 'p-x'": ALL,
    "pod.metadata.labels['app'] == 'web' && pod.metadata.namespace == 'd'": ALL,
    "has(pod.metadata.annotations)": NONE,
    "namespaceObject.metadata.labels['team'] == 't'": ALL,
    "namespaceObject.status.phase == 'Active'": ALL,
    "namespaceObject.metadata.creationTimestamp.getFullYear() == 2026": ALL,
    "(has(node.status.nodeInfo) ? node.status.nodeInfo.bootID : pod.spec.runtimeClassName) == '2'": frozenset(  # noqa: E501
        "b"
    ),
}


def _program(expression: str) -> Program:
    text = json.dumps(
        {
            "apiVersion": "kpolicy.dev/v1alpha1",
            "kind": "SchedulingPolicy",
            "metadata": {"name": "p"},
            "spec": {
                "profiles": [{"schedulerName": "default-scheduler"}],
                "predicates": [{"name": "x", "expression": expression}],
            },
        }
    )
    compiled = compile_policy([Source("p.yaml", text)], every_pod=True)
    assert compiled.program is not None, [diagnostic.message for diagnostic in compiled.diagnostics]
    return compiled.program


def _passing(engine: Engine) -> frozenset[str]:
    (line,) = engine.explain(b'{"pods": null}', 0).splitlines()
    return frozenset(
        node["name"] for node in json.loads(line)["nodes"] if not node.get("allFilters")
    )


@pytest.mark.parametrize("expression", CASES)
def test_the_nodes_that_pass(expression: str) -> None:
    engine = Snapshot.of([*NODES, NAMESPACE, POD]).engine(_program(expression))
    assert engine.stale() == []
    assert _passing(engine) == CASES[expression]
    decision = engine.schedule(["p"], 0).decisions[0]
    assert decision.nodes_feasible == len(CASES[expression])


def test_what_was_read_for_another_program_is_stale_and_never_taken_for_absent() -> None:
    absent = "!has(node.status.nodeInfo.kernelVersion)"
    snapshot = Snapshot.of([*NODES, NAMESPACE, POD])
    engine = snapshot.engine(_program("node.name != ''"))
    assert engine.load(_program(absent).bytes) == []
    assert engine.stale() == ["nodes"]
    assert _passing(engine) == NONE, "the expression errs, because the value is not known yet"
    for text in snapshot.texts:
        assert engine.load_objects(text.body, "") == []
    assert engine.stale() == []
    assert _passing(engine) == frozenset("c")


def test_a_pod_is_judged_by_its_own_values() -> None:
    """Pods that differ in nothing but what is read by API path have different shapes."""
    program = _program("pod.spec.restartPolicy == 'Never' || node.name == 'a'")
    pods = [
        {
            **POD,
            "metadata": {"name": name, "namespace": "d", "uid": name},
            "spec": {"containers": [{"name": "c"}], "restartPolicy": policy},
        }
        for name, policy in (("p1", "Always"), ("p2", "Never"), ("p3", "Always"))
    ]
    engine = Snapshot.of([*NODES, *pods]).engine(program)
    decisions = engine.schedule(["p1", "p2", "p3"], 0).decisions
    assert [decision.nodes_feasible for decision in decisions] == [1, 3, 1]


def test_a_change_of_what_is_read_wakes_the_pod_and_counts_at_once() -> None:
    engine = Snapshot.of([*NODES, NAMESPACE, POD]).engine(
        _program("node.status.nodeInfo.kernelVersion == '7.0'")
    )
    assert engine.schedule(["p"], 0).decisions[0].nodes_feasible == 0
    for kernel, woken in (("6.9", []), ("7.0", [("p", "NodeUpdate")])):
        node = {**NODES[0], "status": {**NODES[0]["status"], "nodeInfo": {"kernelVersion": kernel}}}
        line = json.dumps({"type": "MODIFIED", "object": node}).encode()
        assert [tuple(wake) for wake in engine.watch("nodes", line, 0).wakes] == woken
    heartbeat = json.loads(json.dumps(node))
    heartbeat["status"]["conditions"][1]["lastHeartbeatTime"] = "2026-01-02T03:14:05Z"
    line = json.dumps({"type": "MODIFIED", "object": heartbeat}).encode()
    assert engine.watch("nodes", line, 0).wakes == []
    decision = engine.schedule(["p"], 0).decisions[0]
    assert (decision.nodes_feasible, decision.node) == (1, "a")


def test_one_expression_by_itself_reads_what_no_program_reads() -> None:
    work = Evaluating(Snapshot.of([*NODES, NAMESPACE, POD]))
    for expression, value in (
        ("node.status.nodeInfo.kernelVersion", "6.1.0"),
        ("pod.spec.runtimeClassName + ' on ' + node.spec.providerID", "gvisor on cloud:///a"),
        ("node.status.nodeInfo.kernelVersion", "6.1.0"),
    ):
        answer = work.evaluate(expression, pod="d/p", node="a")
        assert (answer.value, answer.error) == (value, None)


def test_there_are_cases_for_every_root() -> None:
    assert len(CASES) > 35
    for root in ("pod.spec", "pod.metadata", "node.spec", "node.status", "namespaceObject.status"):
        assert any(root in expression for expression in CASES), root
