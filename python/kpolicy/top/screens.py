"""The screens of `kpolicy top` as lines: all pods, then one pod, one node, one rule.

A line that leads to another screen has what that screen is about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.offline.reports.columns import columns, counted
from kpolicy.offline.reports.explanation_text import verdict
from kpolicy.top.frames import Frame, Pending

_RULES_SHOWN: Final = 8
_NODES_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    leads_to: str = ""


@dataclass(frozen=True, slots=True)
class Screen:
    title: str
    lines: tuple[Line, ...]

    @property
    def choices(self) -> list[int]:
        """The lines that lead on."""
        return [position for position, line in enumerate(self.lines) if line.leads_to]


def overview(frame: Frame, where: str) -> Screen:
    cluster = frame.cluster
    queue = "  ".join(f"{name} {count:,}" for name, count in frame.queue.items())
    rates = "  ".join(f"{result} {rate:,.1f}" for result, rate in sorted(frame.decisions.items()))
    total = sum(frame.decisions.values())
    head = [
        "cluster    "
        + "  ".join(
            f"{cluster.get(name, 0):,} {words}"
            for name, words in (("nodes", "nodes"), ("pods", "pods"), ("assumed_pods", "assumed"))
        ),
        f"policy     {frame.policy}" if frame.policy else "policy     none in force",
        f"queue      {queue}",
        f"decisions  {total:,.1f}/s" + (f"  {rates}" if rates else ""),
    ]
    rules = [[name, f"{pods:,}", f"{rate:,.1f}"] for name, pods, rate in frame.rules[:_RULES_SHOWN]]
    table = columns([["REJECTED BY", "PODS", "ATTEMPTS/S"], *rules], right=(1, 2))
    if not rules:
        table = ["no rule keeps a pod pending"]
    more = len(frame.rules) - len(rules)
    further = [f"and {counted(more, 'rule')} more"] if more else []
    return Screen(
        f"kpolicy at {where}",
        (
            *map(Line, ["", *head, "", *table, *further, ""]),
            *_pending(frame),
        ),
    )


def _pending(frame: Frame) -> list[Line]:
    if not frame.pods:
        return [Line("no pod is pending")]
    rows = [
        [each.pod, duration(each.seconds), each.queue, f"{each.attempts:,}", _names(each)]
        for each in frame.pods
    ]
    head = ["PENDING LONGEST", "FOR", "QUEUE", "TRIES", "REJECTED BY"]
    first, *texts = columns([head, *rows], right=(1, 3))
    pods = zip(texts, frame.pods, strict=True)
    return [Line(first), *(Line(text, each.pod) for text, each in pods)]


def _names(each: Pending) -> str:
    return ", ".join(each.rejected_by)


def duration(seconds: float) -> str:
    """As kubectl writes ages."""
    whole = int(seconds)
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if whole >= 2 * length:
            return f"{whole // length}{unit}"
    return f"{whole}s"


def of_pod(explained: Mapping[str, Any]) -> Screen:
    """Nodes by the reason for which they reject the pod, one of each; then the best ones."""
    nodes = explained.get("nodes", [])
    groups: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        if "filter" in node:
            status = node["filter"]
            groups[f"{', '.join(status['reasons'])} ({status['plugin']})"].append(node["name"])
    order = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    rows = [[f"{len(names):,}", why, names[0]] for why, names in order[:_NODES_SHOWN]]
    lines = [Line(""), *_table(["NODES", "REJECT IT BECAUSE", "FOR EXAMPLE"], rows, 2, (0,))]
    fitting = sorted((node for node in nodes if "total" in node), key=_best_first)[:_NODES_SHOWN]
    scored = [[f"{node['total']:,}", node["name"]] for node in fitting]
    lines += _table(["SCORE", "FITTING NODE"], scored, 1, (0,)) if scored else []
    for key in ("preEnqueue", "preFilter"):
        if key in explained:
            lines.append(Line(", ".join(explained[key]["reasons"])))
    if explained.get("message"):
        lines.append(Line(str(explained["message"])))
    return Screen(verdict(explained), tuple(lines))


def _best_first(node: Mapping[str, Any]) -> tuple[int, str]:
    return -node["total"], node["name"]


def of_node(explained: Mapping[str, Any], name: str) -> Screen:
    """What each rule says of one node."""
    found: Mapping[str, Any] = next(
        (node for node in explained.get("nodes", []) if node["name"] == name), {}
    )
    if "filter" in found:
        statuses = {found["filter"]["plugin"]: found["filter"]}
        statuses |= {status["plugin"]: status for status in found.get("allFilters", ())}
        rows = [[rule, ", ".join(status["reasons"])] for rule, status in statuses.items()]
        table = _table(["RULE", "REJECTS THE NODE BECAUSE"], rows, 0)
        return Screen(f"{explained['pod']} on {name}: rejected", (Line(""), *table))
    raw, weighted = found.get("raw", {}), found.get("weighted", {})
    rows = [[rule, f"{raw.get(rule, 0):g}", f"{weighted[rule]:,}"] for rule in sorted(weighted)]
    table = _table(["RULE", "RAW", "WEIGHTED"], rows, 0, (1, 2))
    title = f"{explained['pod']} on {name}: fits, {found.get('total', 0):,} in total"
    return Screen(title, (Line(""), *table))


def of_rule(pod: str, node: str, rule: str, parts: str) -> Screen:
    """What each part of the rule's expression gave."""
    texts = ["", *parts.rstrip().splitlines()]
    return Screen(f"{rule} for {pod} on {node}", tuple(map(Line, texts)))


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], leads: int, right: Sequence[int] = ()
) -> list[Line]:
    """`leads`: the column that names what a row leads to."""
    if not rows:
        return []
    first, *texts = columns([head, *rows], right=right)
    shown = [Line(text, row[leads]) for text, row in zip(texts, rows, strict=True)]
    return [Line(first), *shown, Line("")]
