"""An explanation as text: the verdict, nodes by reason, scores by rule, and what preemption
could do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kpolicy.offline.reports.columns import columns, counted, largest_first, listed
from kpolicy.offline.reports.devices_text import devices_text

Explanation = Mapping[str, Any]
TOP: Final = 5
WIDTH: Final = 120
_NAMES_SHOWN: Final = 3
_NODES_SHOWN: Final = 5


def verdict(explained: Explanation) -> str:
    """The one line that says it."""
    pod, nodes = explained["pod"], explained.get("nodes", [])
    if "preEnqueue" in explained:
        return f"{pod}: not tried: {reasons(explained['preEnqueue'])}"
    counts = explained.get("counts") or {
        "nodes": len(nodes),
        "feasible": sum("total" in node for node in nodes),
        "best": len(explained.get("best", ())),
    }
    every, best = counted(counts["nodes"], "node"), counts["best"]
    if "selected" not in explained:
        if not counts["nodes"]:
            return f"{pod}: fits nowhere: there are no nodes"
        return f"{pod}: fits none of {every}"
    line = f"{pod}: fits {counts['feasible']:,} of {every}; {explained['selected']}"
    return f"{line} is the best" if best == 1 else f"{line} is selected among the {best:,} best"


# The time of files that say none.
_UNTIMED: Final = {
    "1970-01-01T00:00:00Z": ", as the files do not say when they were recorded; --now says it"
}


def text(explained: Explanation, top: int = TOP, width: int = WIDTH) -> list[str]:
    """All there is to say, in lines."""
    nodes = explained.get("nodes", [])
    lines = [verdict(explained)]
    if "time" in explained:
        lines += ["", f"  as of {explained['time']}{_UNTIMED.get(explained['time'], '')}"]
    if "preFilter" in explained:
        lines += ["", f"  before any node was checked: {reasons(explained['preFilter'])}"]
    else:
        lines += rejections_text(nodes)
        lines += devices_text(explained)
    lines += scores_text(explained, top, width)
    lines += errors_text(nodes)
    lines += preemption_text(explained.get("preemption"))
    if explained.get("message"):
        lines += ["", f"  {explained['message']}"]
    lines += kept_back_text(explained)
    return lines + waits_text(explained.get("waitsFor", ()))


def kept_back_text(explained: Explanation) -> list[str]:
    """Whether autoscalers leave the pod alone."""
    rules = explained.get("keptBackBy", ())
    because = f"because of {listed(rules, _NAMES_SHOWN)}"
    return [f"  no new node would help, {because}"] if rules else []


# As the engine calls it.
_TIME: Final = "time passes"


def waits_text(waits: Sequence[Mapping[str, Any]]) -> list[str]:
    """The events that would wake the pod, each with the rules that wait for it."""
    rules: dict[str, list[str]] = {}
    for rule in waits:
        for words in rule["words"]:
            event = f"{words}, next at {rule['at']}" if words == _TIME and "at" in rule else words
            rules.setdefault(event, []).append(rule["plugin"])
    rows = [[words, ", ".join(filter(None, by))] for words, by in rules.items()]
    return ["", "  tried again when", *columns(rows, indent="    ")] if rows else []


def reasons(status: Mapping[str, Any]) -> str:
    return f"{', '.join(status['reasons'])} ({status['plugin']})"


def rejections_text(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """By the first rule that rejects, as kube-scheduler counts; then by all other rules."""
    names: dict[str, list[str]] = defaultdict(list)
    further: dict[str, int] = defaultdict(int)
    for node in nodes:
        if "filter" not in node:
            continue
        names[reasons(node["filter"])].append(node["name"])
        for status in node.get("allFilters", ()):
            if status["plugin"] != node["filter"]["plugin"]:
                further[reasons(status)] += 1
    lines = _nodes_by_reason("  rejected nodes, by the first rule that rejects", names)
    if further:
        rows = [[f"{count:,}", why] for why, count in largest_first(further)]
        lines.append("  also rejected by")
        lines += columns(rows, right=(0,), indent="    ")
    return lines


def _nodes_by_reason(title: str, names: Mapping[str, Sequence[str]]) -> list[str]:
    counts = largest_first({why: len(nodes) for why, nodes in names.items()})
    rows = [[f"{count:,}", why, listed(names[why], _NAMES_SHOWN)] for why, count in counts]
    return ["", title, *columns(rows, right=(0,), indent="    ")] if rows else []


def _scored(nodes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    scored = [node for node in nodes if "total" in node]
    return sorted(scored, key=lambda node: (-node["total"], node["name"]))


def scores_text(explained: Explanation, top: int, width: int = WIDTH) -> list[str]:
    scored = _scored(explained.get("nodes", []))
    if not scored:
        return []
    selected = explained.get("selected")
    shown = scored[:top]
    if selected not in {node["name"] for node in shown}:
        shown += [node for node in scored if node["name"] == selected]
    every = sorted({rule for node in shown for rule in node["weighted"]})
    rules = [rule for rule in every if any(_counts(node, rule) for node in shown)]
    lead = [["node", "total"]]
    marks = [""]
    for node in shown:
        lead.append([node["name"], str(node["total"])])
        marks.append("selected" if node["name"] == selected else "")
    parts = [[rule, *(_part(node, rule) for node in shown)] for rule in rules]
    title = f"  scores of {counted(len(scored), 'node')}, raw → weighted"
    if len(shown) < len(scored):
        title += f"; the first {len(shown):,}"
    table = _side_by_side(lead, parts, marks, width)
    if len(rules) < len(every):
        table.append(f"    0 on each: {', '.join(rule for rule in every if rule not in rules)}")
    return ["", title, *table]


def _side_by_side(
    lead: Sequence[Sequence[str]],
    parts: Sequence[Sequence[str]],
    marks: Sequence[str],
    width: int,
) -> list[str]:
    """The columns `parts` beside the columns `lead`, in as many tables as the width needs. `marks`
    end the rows of the first."""
    tables: list[list[str]] = []
    start = 0
    while start < len(parts) or not tables:
        count = len(parts) - start
        while True:
            rows = [
                [*cells, *(part[index] for part in parts[start : start + count])]
                + ([] if tables else [marks[index]])
                for index, cells in enumerate(lead)
            ]
            table = columns(rows, right=range(1, len(lead[0]) + count), indent="    ")
            if count <= 1 or max(map(len, table)) <= width:
                break
            count -= 1
        tables.append(table)
        start += max(count, 1)
    return [line for index, table in enumerate(tables) for line in [""] * (index > 0) + table]


def _counts(node: Mapping[str, Any], rule: str) -> bool:
    return bool(node["weighted"].get(rule) or node.get("raw", {}).get(rule))


def errors_text(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Priorities that could not be evaluated: they gave these nodes 0."""
    names: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        for error in node.get("errors", ()):
            why = f"rule {error['rule']} could not be evaluated: {error['message']}"
            names[f"{why} ({error['code']})"].append(node["name"])
    return _nodes_by_reason("  scored 0, by the rule that had an error", names)


def _part(node: Mapping[str, Any], rule: str) -> str:
    """A rule that had nothing to say of this pod has no raw score."""
    raw, weighted = node.get("raw", {}).get(rule), node["weighted"].get(rule, 0)
    return f"{raw:g} → {weighted}" if isinstance(raw, (int, float)) else f"{weighted}"


def preemption_text(preemption: Mapping[str, Any] | None) -> list[str]:
    if preemption is None:
        return []
    lines = []
    candidates = preemption.get("candidates", {})
    if preemption.get("node"):
        lines.append(f"  preemption would make room on {preemption['node']}")
    if preemption.get("message"):
        lines.append(f"  preemption: {preemption['message']}")
    budgets = preemption.get("pdbViolations", {})
    rows = [
        [
            node,
            listed(victims, _NAMES_SHOWN),
            f"against {counted(budgets[node], 'disruption budget')}" if budgets.get(node) else "",
        ]
        for node, victims in sorted(candidates.items())
    ]
    lines += columns([[node, f"evicts {who}", why] for node, who, why in rows], indent="    ")
    lines += _spared(preemption.get("spared", {}))
    return ["", *lines] if lines else []


def _spared(spared: Mapping[str, Sequence[str]]) -> list[str]:
    if not spared:
        return []
    ordered = sorted(spared.items())
    rows = [[node, f"keeps {listed(pods, _NAMES_SHOWN)}"] for node, pods in ordered[:_NODES_SHOWN]]
    lines = ["  pods that `preemption.victims` protects", *columns(rows, indent="    ")]
    more = len(ordered) - len(rows)
    return lines + ([f"    and {counted(more, 'node')} more"] if more else [])
