"""Simulations, differences between policies, benchmarks and values of expressions as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kpolicy.offline.answers.evaluate import Evaluated
from kpolicy.offline.answers.expression_values import written
from kpolicy.offline.answers.pod_decisions import SimulatedPod, Summary
from kpolicy.offline.answers.policy_diff import (
    Diff,
    Difference,
    Judged,
    Outscored,
    Rejection,
    Scored,
)
from kpolicy.offline.answers.subexpressions import Outcome, Step
from kpolicy.offline.bench.measure import Measured
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
        lines.append(
            f"{counted(summary.not_served, 'pod')} more with a schedulerName that is not served"
        )
    lines += _reasons(summary)
    if summary.utilisation:
        rows = [
            [
                name,
                amount(name, used.allocatable),
                amount(name, used.before),
                percent(used.share(used.before)),
                amount(name, used.after),
                percent(used.share(used.after)),
            ]
            for name, used in summary.utilisation.items()
        ]
        head = ["resource", "allocatable", "before", "", "after", ""]
        lines += ["", *columns([head, *rows], right=range(1, 6))]
    return lines


def _reasons(summary: Summary) -> list[str]:
    ordered = largest_first(summary.by_reason)
    rows = [[f"{count:,}", why] for why, count in ordered[:_REASONS_SHOWN]]
    more = len(ordered) - len(rows)
    lines = [*columns(rows, right=(0,), indent="  "), f"  and {more:,} further messages"]
    return ["", "what keeps pods pending", *(lines if more else lines[:-1])] if rows else []


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


def diff_text(diff: Diff) -> list[str]:
    differ = len(diff.differences)
    summary = diff.line()["summary"]
    head = f"{differ:,} of {counted(diff.pods, 'pod')} would be decided differently"
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


def row(measured: Measured) -> list[str]:
    size = measured.size
    return [
        measured.workload,
        *(f"{count:,}" for count in (size.nodes, size.existing, size.pods, measured.scheduled)),
        f"{measured.seconds:.3f}",
        f"{measured.pods_per_second:,.0f}",
        f"{measured.p50_us:,.1f}",
        f"{measured.p99_us:,.1f}",
    ]


def table(measured: Iterable[Measured]) -> list[str]:
    return columns([HEADINGS, *map(row, measured)], right=range(1, len(HEADINGS)))


_TEXT_MAX: Final = 72
_VALUE_MAX: Final = 96
_RESULTS_MAX: Final = 5


def value_text(evaluated: Evaluated) -> str:
    """The value as CEL writes it, and its type."""
    return f"{written(evaluated.exact)} : {evaluated.type}"


def steps_text(step: Step) -> list[str]:
    """A line for each part, its value in a column of its own."""
    rows = list(_rows(step, "", ""))
    width = min(max(len(left) for left, _ in rows), _TEXT_MAX)
    return [f"{left:<{width}}  {right}" for left, right in rows]


def _rows(step: Step, lead: str, below: str) -> Iterator[tuple[str, str]]:
    shown = _cut(" ".join(step.text.split()), _TEXT_MAX - len(lead))
    yield lead + shown, _outcomes_text(step)
    for position, child in enumerate(step.children):
        is_last = position == len(step.children) - 1
        mark, bar = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield from _rows(child, below + mark, below + bar)


def _outcomes_text(step: Step) -> str:
    if step.count == 0:
        return "(not evaluated)"
    if step.count == 1:
        return _outcome(step.outcomes[0])
    shown = ", ".join(map(_outcome, step.outcomes[:_RESULTS_MAX]))
    more = ", …" if step.count > _RESULTS_MAX else ""
    return f"{_cut(shown + more, _VALUE_MAX)} ({step.count:,} times)"


def _outcome(outcome: Outcome) -> str:
    if outcome.code:
        return f"error: {outcome.message} ({outcome.code})"
    return _cut(written(outcome.exact), _VALUE_MAX)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: max(1, length - 1)] + "…"
