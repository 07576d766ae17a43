"""Small clusters and a small policy, for tests of what is done offline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from kpolicy import Program, compile_policy
from kpolicy.testing import node, pod

Object = dict[str, Any]

POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata:
  name: small
spec:
  profiles:
    - schedulerName: kpolicy
  tieBreak: name
  predicates:
    - builtin: NodeUnschedulable
    - builtin: TaintToleration
    - builtin: NodeResourcesFit
  priorities:
    - {builtin: NodeResourcesFit, weight: 1}
    - name: prefer-ssd
      weight: 2
      expression: "label(node, 'disk') == 'ssd' ? 100 : 0"
  preemption:
    policy: Never
  base: none  # kpolicy: ignore[KP325]
"""
CREATED = "2026-01-01T00:00:00Z"


PREEMPTING = POLICY.replace("policy: Never", "policy: LowerPriority")


def program() -> Program:
    compiled = compile_policy(POLICY)
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program


def cluster() -> list[Object]:
    """Four nodes and four pods: one on a node, one that fits, one too large, one of another's."""
    return [
        node("n1", cpu="4", memory="8Gi", labels={"disk": "ssd"}),
        node("n2", cpu="4", memory="8Gi", labels={"disk": "hdd"}),
        node("n3", cpu="4", memory="8Gi", taints=["gpu=yes:NoSchedule"]),
        node("n4", cpu="4", memory="8Gi", unschedulable=True),
        pod("there", cpu="3", memory="1Gi", node_name="n1"),
        pod("fits", cpu="2", memory="1Gi"),
        pod("giant", cpu="64"),
        pod("others", cpu="1", scheduler_name="default-scheduler"),
    ]


def crowded() -> list[Object]:
    """Two full nodes, and a pod that is worth more than those on them."""
    return [
        node("n1", cpu="2"),
        node("n2", cpu="2"),
        pod("low1", cpu="2", node_name="n1", priority=5),
        pod("low2", cpu="1", node_name="n2"),
        pod("low3", cpu="1", node_name="n2", priority=1),
        pod("high", cpu="2", priority=100),
    ]


def listed(items: Iterable[Mapping[str, Any]]) -> str:
    """As `kubectl get -o json` prints it."""
    return json.dumps({"apiVersion": "v1", "items": list(items), "kind": "List"}, indent=4)


def aged(item: Object, created: str = CREATED, **spec: Any) -> Object:
    item["metadata"]["creationTimestamp"] = created
    item["spec"] |= spec
    return item
