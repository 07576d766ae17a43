"""The objects of the recorded cluster with which the corpus is linted."""

from __future__ import annotations

from typing import Any

from kpolicy.testing import node, pod

NODES = 12
PODS = 7


def objects() -> list[dict[str, Any]]:
    """Nine nodes in three zones, three without a zone and one of them tainted; seven pods."""
    items: list[dict[str, Any]] = []
    for number in range(NODES):
        labels = {"zone": f"z{number % 3}"} if number < 9 else {"disk": "ssd", "rack": "r1"}
        taints = ["dedicated=gpu:NoSchedule"] if number == 11 else []
        items.append(node(f"n{number}", str(4 + number), "8Gi", labels=labels, taints=taints))
    for number in range(PODS):
        labels = {"zone": "z1", "app": f"a{number}"}
        namespace = "kube-system" if number == 6 else "default"
        items.append(
            pod(f"p{number}", namespace=namespace, cpu="1", labels=labels, scheduler_name="kpolicy")
        )
    return items
