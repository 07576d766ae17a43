"""A comparison of two policies as text: what matters first, then each pod that is decided
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from kpolicy.offline.answers.diff_overview import NO_VALUE, Overview
from kpolicy.offline.answers.differences import (
    Diff,
    Difference,
    Judged,
    Outscored,
    Rejection,
    Scored,
)
from kpolicy.offline.reports.columns import amount, columns, counted, percent

_WORKLOADS_SHOWN: Final = 10
_VALUES_SHOWN: Final = 10

_WORDS: Final = {
    "moved": "go to another node",
    "placedByOld": "are placed by the old policy only",
    "placedByNew": "are placed by the new policy only",
    "servedByOld": "are served by the old policy only",
    "servedByNew": "are served by the new policy only",
}


def difference_text(pair: Difference) -> Iterator[str]:
    where = " (on a node)" if pair.is_placed else ""
    yield f"{pair.pod}: {_node(pair.old)} → {_node(pair.new)}{where}"
    match pair.reason:
        case Rejection() as rejection:
            what = rejection.node or "the pod"
            why = ", ".join(rejection.reasons)
            yield f"  {rejection.rule} of the {rejection.policy} policy rejects {what}: {why}"
        case Outscored() as outscored if outscored.is_tie:
            yield "  both nodes have equal scores under each policy; another of them was chosen"
        case Outscored() as outscored:
            rows = [
                [
                    scored.rule,
                    f"{scored.shift:+,}",
                    _scores(scored, pair.old.node),
                    _scores(scored, pair.new.node),
                ]
                for scored in outscored.rules
            ]
            yield from columns(rows, right=(1,), indent="  ")


def _node(judged: Judged) -> str:
    return (judged.node or "(pending)") if judged.is_served else "(not served)"


def _scores(scored: Scored, node: str) -> str:
    scores = (side.get(node) for side in (scored.old, scored.new))
    return f"{node} {' → '.join('–' if score is None else f'{score:,}' for score in scores)}"


def overview_text(diff: Diff) -> list[str]:
    """How much differs and which rules make it; by workload, by labels, and how full nodes are."""
    differ = len(diff.differences)
    summary = diff.line()["summary"]
    head = f"{differ:,} of {counted(diff.pods, 'pod')} would be decided differently"
    placed = f"placed: {diff.placed_by_old:,} by the old policy, {diff.placed_by_new:,} by the new"
    kinds = [[f"{summary[kind]:,}", words] for kind, words in _WORDS.items() if summary[kind]]
    rules = [[f"{count:,}", rule] for rule, count in summary["byRule"].items()]
    lines = []
    if diff.is_of_two_releases:
        first, second = diff.releases
        lines.append(f"the old policy decides as Kubernetes {first}, the new one as {second}")
    lines += [head, *columns(kinds, right=(0,), indent="  "), placed]
    if rules:
        explained = sum(difference.reason is not None for difference in diff.differences)
        of = "" if explained == differ else f", of the first {explained:,}"
        lines += [f"rules that made a difference{of}", *columns(rules, right=(0,), indent="  ")]
    if differ:
        lines += [*_workloads(diff.overview), *_shares(diff.overview), *_fullness(diff.overview)]
    return lines


def _workloads(overview: Overview) -> list[str]:
    changed = [(name, each) for name, each in overview.workloads.items() if each.changed]
    rows = [
        [
            name,
            f"{each.pods:,}",
            _change(each.placed_by_old, each.placed_by_new),
            _change(each.pods - each.placed_by_old, each.pods - each.placed_by_new),
            f"{each.moved:,}",
        ]
        for name, each in changed[:_WORKLOADS_SHOWN]
    ]
    if not rows:
        return []
    head = ["pending pods of", "pods", "placed", "parked", "moved"]
    lines = ["", *columns([head, *rows], right=range(1, 5))]
    more = len(changed) - len(rows)
    return lines + ([f"and {counted(more, 'workload')} more"] if more else [])


def _change(old: int, new: int) -> str:
    return f"{old:,}" if old == new else f"{old:,} → {new:,}"


def _shares(overview: Overview) -> list[str]:
    lines: list[str] = []
    for label, counts in overview.shares.items():
        if any(old != new for old, new in counts.values()):
            lines += ["", *_share(label, counts)]
    return lines


def _share(label: str, counts: Mapping[str, tuple[int, int]]) -> list[str]:
    """The values that change most."""
    totals = [sum(pair[side] for pair in counts.values()) for side in (0, 1)]
    order = sorted(counts.items(), key=lambda item: (-abs(item[1][1] - item[1][0]), item[0]))
    rows = [["placed on nodes with", "old", "", "new", ""]]
    for value, pair in order[:_VALUES_SHOWN]:
        name = f"{label}={value}" if value != NO_VALUE else f"no {label}"
        shares = [
            (f"{count:,}", percent(count / whole) if whole else "")
            for count, whole in zip(pair, totals, strict=True)
        ]
        rows.append([name, *(cell for share in shares for cell in share)])
    more = len(order) - len(rows) + 1
    lines = columns(rows, right=range(1, 5))
    return lines + ([f"and {counted(more, 'value')} more"] if more else [])


def _fullness(overview: Overview) -> list[str]:
    rows = [["resource", "allocatable", "before", "", "old", "", "new", ""]]
    for name, each in overview.fullness.items():
        parts = (each.before, each.old, each.new)
        if each.old == each.before and each.new == each.before:
            continue
        cells = [(amount(name, part), _part(part, each.allocatable)) for part in parts]
        rows.append(
            [name, amount(name, each.allocatable), *(cell for two in cells for cell in two)]
        )
    if len(rows) == 1:
        return []
    empty = [cell for count in overview.empty_nodes for cell in (f"{count:,}", "")]
    rows.append(["nodes without a pod", "", *empty])
    return ["", *columns(rows, right=range(1, 8))]


def _part(part: Fraction, of: Fraction) -> str:
    return percent(float(part / of)) if of else ""
