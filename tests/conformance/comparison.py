"""Compares two answers, by the rules in the README of the golden folder.

Reasons are sets, because kube-scheduler reports several insufficient resources in random order.
Messages must be equal. If nodes are equal even by preemption's last criterion, each of them is
right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

Json = Mapping[str, Any]
PRIORITY_OFFSET = 2**31


def differences(got: Json, want: Json, cluster: Json) -> Iterator[str]:
    """One line for each difference; empty if all agree."""
    for stage in ("preEnqueue", "preFilter"):
        yield from _differ(stage, status(got.get(stage)), status(want.get(stage)))
    nodes_got = {node["name"]: node for node in got.get("nodes") or ()}
    nodes_want = {node["name"]: node for node in want.get("nodes") or ()}
    yield from _differ("nodes", sorted(nodes_got), sorted(nodes_want))
    for name in nodes_want.keys() & nodes_got.keys():
        yield from _node_differences(name, nodes_got[name], nodes_want[name])
    yield from _differ("best", got.get("best") or [], want.get("best") or [])
    if want.get("best"):
        # A nominated node that fits is chosen before other nodes are examined (semantics §2.5).
        right = {*want["best"], _nominated(got["pod"], cluster)}
        yield from _differ("selected is right", got.get("selected") in right, True)
    yield from _differ("message", got.get("message"), want.get("message"))
    if "fullMessage" in want:
        yield from _differ("fullMessage", got.get("fullMessage"), want["fullMessage"])
    yield from _preemption_differences(
        got.get("preemption") or {}, want.get("preemption") or {}, cluster
    )


def _nominated(pod: str, cluster: Json) -> str:
    namespace, name = pod.split("/")
    for item in cluster["items"]:
        meta = item["metadata"]
        if item["kind"] == "Pod" and (meta["namespace"], meta["name"]) == (namespace, name):
            return str(item.get("status", {}).get("nominatedNodeName", ""))
    return ""


def status(value: Json | None) -> tuple[str, str, tuple[str, ...]] | None:
    if value is None:
        return None
    return value["plugin"], value["code"], tuple(sorted(set(value["reasons"])))


def _node_differences(name: str, got: Json, want: Json) -> Iterator[str]:
    yield from _differ(f"{name} filter", status(got.get("filter")), status(want.get("filter")))
    yield from _differ(
        f"{name} allFilters",
        sorted(map(repr, map(status, got.get("allFilters") or ()))),
        sorted(map(repr, map(status, want.get("allFilters") or ()))),
    )
    for part in ("raw", "weighted", "total"):
        yield from _differ(f"{name} {part}", got.get(part), want.get(part))


def _preemption_differences(got: Json, want: Json, cluster: Json) -> Iterator[str]:
    for part in ("candidates", "pdbViolations", "message"):
        yield from _differ(f"preemption {part}", got.get(part) or None, want.get(part) or None)
    if want.get("node") and got.get("candidates") == want.get("candidates"):
        tied = [
            node
            for node in want["candidates"]
            if _key(node, want, cluster) == _key(want["node"], want, cluster)
        ]
        if got.get("node") not in tied:
            yield f"preemption node: got {got.get('node')}, want one of {tied}"
    elif got.get("node") != want.get("node"):
        yield f"preemption node: got {got.get('node')}, want {want.get('node')}"


def _key(node: str, preemption: Json, cluster: Json) -> tuple[object, ...]:
    """The criteria by which kube-scheduler picks a node, in order; equal keys tie."""
    pods = {
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod
        for pod in cluster["items"]
        if pod["kind"] == "Pod"
    }
    victims = [pods[name] for name in preemption["candidates"][node]]
    priorities = [pod["spec"].get("priority") or 0 for pod in victims]
    earliest = min(
        (
            pod["status"].get("startTime", "9999-01-01T00:00:00Z")
            for pod, priority in zip(victims, priorities, strict=True)
            if priority == max(priorities)
        ),
        default="",
    )
    return (
        (preemption.get("pdbViolations") or {}).get(node, 0),
        max(priorities, default=0),
        sum(priority + PRIORITY_OFFSET for priority in priorities),
        len(victims),
        datetime.fromisoformat(earliest) if earliest else None,
    )


def _differ(what: str, got: object, want: object) -> Iterator[str]:
    if got != want:
        yield f"{what}: got {got!r}, want {want!r}"
