"""Simulations, differences between policies and benchmarks as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kpolicy.offline.bench.measure import Measured
from kpolicy.offline.decide.diff import Diff, Difference, Judged, Outscored, Rejection, Scored
from kpolicy.offline.decide.simulate import SimulatedPod, Summary
from kpolicy.offline.reports.columns import amount, columns, counted, largest_first, listed, percent

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


def simulation_text(summary: Summary) -> list[str]:
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
    ordered = largest_first(summary.by_reason)
    rows = [[f"{count:,}", why] for why, count in ordered[:_REASONS_SHOWN]]
    lines = ["", "what keeps pods pending", *columns(rows, right=(0,), indent="  ")]
    if len(ordered) > _REASONS_SHOWN:
        lines.append(f"  and {len(ordered) - _REASONS_SHOWN:,} further messages")
    return lines


_WORDS: Final = {
    "moved": "go to another node",
    "placedByOld": "are placed by the old policy only",
    "placedByNew": "are placed by the new policy only",
    "servedByOld": "are served by the old policy only",
    "servedByNew": "are served by the new policy only",
}


def difference_text(one: Difference) -> Iterator[str]:
    where = " (on a node)" if one.is_placed else ""
    yield f"{one.pod}: {_told(one.old)} → {_told(one.new)}{where}"
    match one.reason:
        case Rejection() as rejection:
            what = rejection.node or "the pod"
            why = ", ".join(rejection.reasons)
            yield f"  {rejection.rule} of the {rejection.policy} policy rejects {what}: {why}"
        case Outscored() as outscored if outscored.is_tie:
            yield "  both are as good as each other under either policy; the tie fell otherwise"
        case Outscored() as outscored:
            yield from columns(
                [_scored(scored, one) for scored in outscored.rules], right=(1,), indent="  "
            )


def _told(judged: Judged) -> str:
    if not judged.is_served:
        return "(not served)"
    return judged.node or "(pending)"


def _scored(scored: Scored, one: Difference) -> list[str]:
    def pair(name: str) -> str:
        before, after = scored.old.get(name), scored.new.get(name)
        told = ("–" if score is None else f"{score:,}" for score in (before, after))
        return f"{name} {' → '.join(told)}"

    return [scored.rule, f"{scored.shift:+,}", pair(one.old.node), pair(one.new.node)]


def diff_text(diff: Diff) -> list[str]:
    differ = len(diff.differences)
    summary = diff.line()["summary"]
    head = f"{differ:,} of {counted(diff.pods, 'pod')} would be decided otherwise"
    placed = f"placed: {diff.placed_by_old:,} by the old policy, {diff.placed_by_new:,} by the new"
    kinds = [[f"{summary[kind]:,}", words] for kind, words in _WORDS.items() if summary[kind]]
    rules = [[f"{count:,}", rule] for rule, count in summary["byRule"].items()]
    lines = [head, *columns(kinds, right=(0,), indent="  "), placed]
    if rules:
        lines += ["rules that made a difference", *columns(rules, right=(0,), indent="  ")]
    return lines


HEADINGS = (
    "workload",
    "nodes",
    "existing",
    "pods",
    "scheduled",
    "seconds",
    "pods/s",
    "p50 µs",
    "p99 µs",
)


def row(one: Measured) -> list[str]:
    size = one.size
    whole = (size.nodes, size.existing, size.pods, one.scheduled)
    return [
        one.workload,
        *(f"{number:,}" for number in whole),
        f"{one.seconds:.3f}",
        f"{one.pods_per_second:,.0f}",
        f"{one.p50_us:,.1f}",
        f"{one.p99_us:,.1f}",
    ]


def table(measured: Iterable[Measured]) -> list[str]:
    return columns([HEADINGS, *map(row, measured)], right=range(1, len(HEADINGS)))
