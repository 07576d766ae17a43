"""A simulation as text: where each pod goes, what keeps the rest, how full the nodes are.

Owns the layout for people. Must not compute what is not in the summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kpolicy.offline.report.amounts import amount, percent
from kpolicy.offline.report.columns import columns, counted, listed
from kpolicy.offline.simulate import SimulatedPod, Summary

_REASONS_SHOWN: Final = 10
_VICTIMS_SHOWN: Final = 3


def pods_text(pods: Sequence[SimulatedPod]) -> list[str]:
    return columns([["POD", "NODE"], *([pod.pod, _where(pod)] for pod in pods)]) if pods else []


def _where(pod: SimulatedPod) -> str:
    if pod.node:
        return pod.node
    if pod.nominated_node:
        who = listed(pod.victims, _VICTIMS_SHOWN)
        return f"(pending: would go to {pod.nominated_node} in place of {who})"
    return "(pending)"


def summary_text(summary: Summary) -> list[str]:
    total = summary.placed + summary.pending
    placed = f"{summary.placed:,} of {counted(total, 'pod')} placed"
    lines = [f"{placed} on {counted(summary.nodes, 'node')}, {summary.pending:,} pending"]
    if summary.not_served:
        lines.append(f"{counted(summary.not_served, 'pod')} more of schedulers that are not served")
    lines += _reasons(summary)
    if summary.utilisation:
        rows = [["resource", "allocatable", "before", "", "after", ""]]
        for name, one in summary.utilisation.items():
            rows.append(
                [
                    name,
                    amount(name, one.allocatable),
                    amount(name, one.before),
                    percent(one.share(one.before)),
                    amount(name, one.after),
                    percent(one.share(one.after)),
                ]
            )
        lines += ["", *columns(rows, right=range(1, 6))]
    return lines


def _reasons(summary: Summary) -> list[str]:
    if not summary.by_reason:
        return []
    ordered = sorted(summary.by_reason.items(), key=lambda item: (-item[1], item[0]))
    rows = [[f"{count:,}", why] for why, count in ordered[:_REASONS_SHOWN]]
    lines = ["", "what keeps pods pending", *columns(rows, right=(0,), indent="  ")]
    if len(ordered) > _REASONS_SHOWN:
        lines.append(f"  and {len(ordered) - _REASONS_SHOWN:,} further messages")
    return lines
