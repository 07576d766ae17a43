"""A replay of a journal as text: whether every decision is the same, or what another policy would
have decided.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kpolicy.api_times import api_micro_time, api_time
from kpolicy.engine.opinions import Result
from kpolicy.offline.journal_replay.other_policy import Compared, DecidedOtherwise, most_changed
from kpolicy.offline.journal_replay.same_decisions import Different, Kept, ReplayedEpoch
from kpolicy.offline.reports.columns import columns, counted, listed
from kpolicy.offline.snapshots.snapshot_problem import Problem

_WORKLOADS_SHOWN: Final = 10
_PODS_SHOWN: Final = 10
_ABSENT_SHOWN: Final = 5
_VALUE_CHARACTERS_MAX: Final = 200
_WORDS: Final = {
    Result.SAME: "would be the same",
    Result.DIFFERENT_NODE: "would be for another node",
    Result.WOULD_REJECT: "would not be for this node: the policy rejects it",
    Result.WOULD_PLACE: "parked a pod that the policy would place",
    Result.FAILED: "cannot be judged: a rule of the policy failed",
    Result.NOT_JUDGED: "are about pods that the policy does not serve",
}


def same_text(epochs: Sequence[ReplayedEpoch]) -> list[str]:
    """The sum in the first line."""
    decisions = sum(epoch.decisions for epoch in epochs)
    different = sum(epoch.different for epoch in epochs)
    lines = [f"{counted(decisions, 'decision')}, {_equal(different)}"]
    for epoch in epochs:
        head = f"epoch {epoch.epoch} of {epoch.run}"
        times = f"{api_time(epoch.from_ns)} to {api_time(epoch.to_ns)}"
        made = f"{counted(epoch.calls, 'call')}, {counted(epoch.decisions, 'decision')}"
        lines += ["", f"{head}, {times}: {made}", *_compared(epoch)]
        if epoch.first is not None:
            lines += _first(epoch.first)
        lines += [f"  {problem_text(problem)}" for problem in epoch.problems]
    return lines


def _equal(different: int) -> str:
    return "all the same" if not different else f"{different:,} or more of them another one"


def _compared(epoch: ReplayedEpoch) -> Iterator[str]:
    if epoch.kept is Kept.JUDGEMENT:
        why = "names are replaced" if epoch.is_redacted else "it began while pods were being placed"
        yield f"  {why}: compared is whether each decision is one of the best"
    if not epoch.decisions and epoch.kept is not Kept.NOTHING:
        yield "  kpolicy decided nothing here; `--policy P` compares what others placed"


def _first(different: Different) -> list[str]:
    where = f"  first difference: record {different.record:,} of {different.segment}"
    pod = f" about {different.pod}" if different.pod else ""
    rows = [
        ["recorded", _value(different.recorded)],
        ["replayed", _value(different.replayed)],
    ]
    what = f", {different.field}" if different.field else ""
    head = f"{where}, {api_micro_time(different.at_ns)}, {different.call}{pod}{what}"
    return [head, *columns(rows, indent="    ")]


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _VALUE_CHARACTERS_MAX else f"{text[:_VALUE_CHARACTERS_MAX]}…"


def compared_text(found: Compared) -> list[str]:
    """How much would have been decided otherwise, of which workloads, and the first pods."""
    share = f"{found.different:,} of {counted(found.decisions, 'decision')}"
    rows = [
        [f"{found.results[result]:,}", words]
        for result, words in _WORDS.items()
        if found.results[result]
    ]
    lines = [f"{share} would have been another one", *columns(rows, right=(0,), indent="  ")]
    if found.binds:
        lines.append(f"{counted(found.binds, 'pod')} of these were placed by other schedulers")
    lines += [*_workloads(found), *_pods(found.differences, found.different)]
    if found.absent:
        names = listed(sorted(found.absent), _ABSENT_SHOWN)
        lines += ["", f"not in the journal, so decided as if there were none: {names}"]
    return lines + [problem_text(problem) for problem in found.problems]


def _workloads(found: Compared) -> list[str]:
    changed = most_changed(found.workloads)
    if not changed:
        return []
    head = ["pods of", "other node", "rejected", "placed", "failed"]
    kinds = (Result.DIFFERENT_NODE, Result.WOULD_REJECT, Result.WOULD_PLACE, Result.FAILED)
    rows = [
        [name, *(f"{counts[kind]:,}" for kind in kinds)]
        for name, counts in changed[:_WORKLOADS_SHOWN]
    ]
    more = len(changed) - len(rows)
    lines = ["", *columns([head, *rows], right=range(1, 5))]
    return lines + ([f"and {counted(more, 'workload')} more"] if more else [])


def _pods(differences: Sequence[DecidedOtherwise], count: int) -> list[str]:
    if not differences:
        return []
    rows = [
        [
            api_time(each.at_ns),
            each.pod,
            f"{each.node or '(parked)'} → {each.other_node or _otherwise(each)}",
        ]
        for each in differences[:_PODS_SHOWN]
    ]
    more = count - len(rows)
    lines = ["", *columns(rows)]
    return lines + ([f"and {counted(more, 'decision')} more"] if more > 0 else [])


def _otherwise(each: DecidedOtherwise) -> str:
    return "(failed)" if each.result is Result.FAILED else "(parked)"


def problem_text(problem: Problem) -> str:
    return f"{problem.code}: {problem}"
