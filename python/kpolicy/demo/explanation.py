"""The demo's explanations: why a pod is where it is, or why it is nowhere.

Owns the short text made of one line of `explain` output. Must not decide anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

NODES_SHOWN = 3

Explanation = Mapping[str, Any]


def lines(explained: Explanation, node_now: str = "") -> list[str]:
    """What was rejected and why, then the best nodes with each rule's part of the total."""
    nodes = explained.get("nodes", [])
    text = [f"{explained['pod']}: " + (f"on {node_now}" if node_now else "pending")]
    text += [f"  {count:>5} nodes: {why}" for why, count in rejections(nodes)]
    scored = sorted(
        (node for node in nodes if "total" in node), key=lambda node: (-node["total"], node["name"])
    )
    if scored:
        text.append(f"  {len(scored):>5} nodes fit; the best of them:")
        text += [f"        {score(node)}" for node in scored[:NODES_SHOWN]]
    if explained.get("message"):
        text.append(f"  {explained['message']}")
    return text


def rejections(nodes: list[Mapping[str, Any]]) -> list[tuple[str, int]]:
    counted = Counter(
        f"{', '.join(node['filter']['reasons'])} ({node['filter']['plugin']})"
        for node in nodes
        if "filter" in node
    )
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))


def score(node: Mapping[str, Any]) -> str:
    parts = ", ".join(f"{rule} {points}" for rule, points in node["weighted"].items())
    return f"{node['name']}: {node['total']} = {parts}"
