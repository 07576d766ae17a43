"""Advice as text: the nodes nearest to fitting, what would place the pod, and what decided where it
is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kpolicy.offline.answers.advice import Sums
from kpolicy.offline.reports.columns import columns, counted, listed

_PODS_SHOWN: Final = 3
_RULES_SHOWN: Final = 3
SITUATIONS: Final = {
    "fitsNowhere": "fit nowhere",
    "fits": "would fit now",
    "held": "are held before any node is looked at",
    "noNodes": "wait for nodes: there are none",
    "setAside": "ask for too much work to be decided",
}
_CHANGES: Final = {
    "request": "request {to} {resource} instead of {from}",
    "toleration": "tolerate {taint}",
    "nodeSelector": "drop {key}={value} from spec.nodeSelector",
    "nodeAffinity": "drop `{requirement}` from the node affinity",
    "topologySpread": "drop the spread constraint on {topologyKey}",
    "podAffinity": "drop the pod affinity on {topologyKey}",
    "podAntiAffinity": "drop the pod anti-affinity on {topologyKey}",
    "podLabel": "label the pod {key}={value}",
    "taint": "take the taint {taint} off {node}",
    "cordon": "uncordon {node}",
    "nodeLabel": "label {node} {key}={value}",
    "nodeLabelGone": "take the label {key} off {node}",
    "room": "remove {pod} from {node}",
    "rule": "disable the rule {rule}",
    "constant": "rule {rule}: {to} instead of {from}{where}",
}


def advice_text(advice: Mapping[str, Any]) -> list[str]:
    """Empty where there is nothing to say beyond the explanation."""
    return [
        *_nearest(advice.get("nearest", ())),
        *_suggestions(advice),
        *_decided(advice),
    ]


def _nearest(nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    if not nodes:
        return []
    rows = [[node["node"], "; ".join(_against(node))] for node in nodes]
    return ["", "  nearest to taking it", *columns(rows, indent="    ")]


def _against(node: Mapping[str, Any]) -> Iterator[str]:
    for rule in node["rules"]:
        yield f"{against_text(node, rule)} [{rule['rule']}]"


def against_text(node: Mapping[str, Any], rule: Mapping[str, Any]) -> str:
    """What a rule says of one of the nearest nodes, with the amounts that are short."""
    reasons = ", ".join(rule["reasons"]) or "rejected"
    short = node.get("short", ()) if rule["rule"] == "NodeResourcesFit" else ()
    amounts = ", ".join(
        f"{each['free']} of {each['asked']} {each['resource']} free" for each in short
    )
    return f"{reasons} ({amounts})" if amounts else reasons


def _suggestions(advice: Mapping[str, Any]) -> list[str]:
    if "suggestions" not in advice:
        return []
    rows = [
        [f"{number}.", changes_text(each), f"→ {each['node']}"]
        for number, each in enumerate(advice["suggestions"], start=1)
    ]
    lines = ["", "  would place it, the smallest change first", *columns(rows, indent="    ")]
    if not rows:
        lines = ["", "  no small change of the pod, of a node or of the policy would place it"]
    if not advice["isComplete"]:
        lines.append(f"    the search ended after {advice['decisions']} decisions")
    return lines


def changes_text(suggestion: Mapping[str, Any]) -> str:
    return "; ".join(map(_change_text, suggestion["changes"]))


def _change_text(change: Mapping[str, Any]) -> str:
    """A change as an order to whoever makes it."""
    sort = change["change"]
    if sort == "nodeLabel" and change["value"] is None:
        sort = "nodeLabelGone"
    values = ", ".join(change.get("values") or ())
    shown = {
        **change,
        "requirement": f"{change.get('key')} {change.get('operator')}"
        + (f" ({values})" if values else ""),
        "taint": "".join(
            (
                str(change.get("key")),
                f"={change['value']}" if change.get("value") else "",
                f":{change.get('effect')}",
            )
        ),
        "where": f" in {change['text']}" if change.get("text") else "",
    }
    return _CHANGES.get(sort, "{change}").format_map(shown)


def _decided(advice: Mapping[str, Any]) -> list[str]:
    """Against each of the best other nodes: by how much, and because of which rules."""
    others = advice.get("runnersUp", ())
    if not others:
        return []
    rows = []
    for other in others:
        rules = [f"{rule['rule']} {rule['by']:+,}" for rule in other["rules"]]
        rows.append([other["node"], ahead_text(other["by"]), listed(rules, _RULES_SHOWN)])
    return ["", f"  {advice['node']} beside the best others", *columns(rows, indent="    ")]


def ahead_text(by: int) -> str:
    """How a node stands beside another one that scores `by` less."""
    if by == 0:
        return "equal"
    return f"{by:,} ahead" if by > 0 else f"{-by:,} behind"


def sums_text(sums: Sums) -> list[str]:
    placed = sums.pods - sums.pending
    lines = [f"{sums.scope}: {counted(sums.pods, 'pod')}, {placed:,} on nodes"]
    if not sums.pending:
        return [*lines, "no pod is pending"]
    judged = ["", f"judged by {sums.judge}"] if sums.judge else []
    rows = [[f"{pods:,}", SITUATIONS.get(name, name)] for name, pods in sums.situations.items()]
    lines += ["", "  pending pods", *columns(rows, right=(0,), indent="    ")]
    if sums.by_rule:
        rows = [[f"{pods:,}", rule] for rule, pods in sums.by_rule.items()]
        lines += ["", "  kept from some node by", *columns(rows, right=(0,), indent="    ")]
    if sums.suggestions:
        rows = [[f"{each['pods']:,}", f"{each['of']}: {each['kind']}"] for each in sums.suggestions]
        lines += ["", "  each placed by one change of", *columns(rows, right=(0,), indent="    ")]
    for each in sums.advice:
        if each.get("suggestions"):
            lines += ["", f"  {listed(each['pods'], _PODS_SHOWN)}"]
            first = each["suggestions"][0]
            text = changes_text(first)
            lines.append(f"    {text} → {first['node']}")
    if sums.left_out:
        lines += ["", f"  {counted(sums.left_out, 'more pod')} without advice: too many kinds"]
    return [*lines, *judged]
