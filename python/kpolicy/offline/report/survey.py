"""A survey as text, and as the JSON that `kpolicy snapshot info --output json` prints.

Owns both layouts. Must not count.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any, Final

from kpolicy.offline.inventory import State
from kpolicy.offline.report.amounts import amount, bytes_of, percent
from kpolicy.offline.report.columns import columns, counted
from kpolicy.offline.survey import Survey
from kpolicy.offline.utilisation import number

_NOTHING: Final = Fraction(0)


def survey_json(survey: Survey, size_bytes: int) -> dict[str, Any]:
    return {
        "bytes": size_bytes,
        "kinds": dict(sorted(survey.kinds.items())),
        "leftOut": dict(sorted(survey.left_out.items())),
        "nodes": {
            "total": survey.nodes,
            "unschedulable": survey.nodes_unschedulable,
            "versions": dict(sorted(survey.node_versions.items())),
        },
        "pods": {
            "total": survey.pods.total(),
            "onNodes": survey.pods[State.ON_NODE],
            "pending": survey.pods_pending,
            "gated": survey.pods[State.GATED],
            "ended": survey.pods[State.ENDED],
            "pendingByScheduler": dict(sorted(survey.pending_by_scheduler.items())),
        },
        "resources": {
            name: {
                "allocatable": number(has),
                "requested": number(survey.requested.get(name, _NOTHING)),
            }
            for name, has in sorted(survey.allocatable.items())
        },
        "problems": [
            {
                "code": problem.code,
                "source": problem.source,
                "object": problem.object,
                "message": problem.message,
            }
            for problem in survey.problems
        ],
    }


def survey_text(survey: Survey, size_bytes: int) -> list[str]:
    lines = [f"size      {bytes_of(size_bytes)}B of JSON"]
    lines.append(f"objects   {_tally(survey.kinds)}")
    if survey.left_out:
        lines.append(f"left out  {_tally(survey.left_out)} (no rule reads these kinds)")
    versions = _tally(survey.node_versions)
    cordoned = f", {survey.nodes_unschedulable:,} unschedulable" * bool(survey.nodes_unschedulable)
    lines.append(f"nodes     {survey.nodes:,}{cordoned}" + f"; {versions}" * bool(versions))
    ended = f", {survey.pods[State.ENDED]:,} ended" * bool(survey.pods[State.ENDED])
    lines.append(
        f"pods      {survey.pods.total():,}: {survey.pods[State.ON_NODE]:,} on nodes, "
        f"{survey.pods_pending:,} pending{ended}"
    )
    lines += _pending(survey)
    rows = [["resource", "allocatable", "requested", ""]]
    for name, has in sorted(survey.allocatable.items()):
        asked = survey.requested.get(name, _NOTHING)
        share = percent(float(asked / has)) if has else ""
        rows.append([name, amount(name, has), amount(name, asked), share])
    return lines + (["", *columns(rows, right=range(1, 4))] if len(rows) > 1 else [])


def _pending(survey: Survey) -> list[str]:
    schedulers = sorted(survey.pending_by_scheduler.items())
    lines = [f"pending   {count:,} for {name}" for name, count in schedulers]
    if survey.pods[State.GATED]:
        lines.append(f"          {counted(survey.pods[State.GATED], 'pod')} of these gated")
    return lines


def _tally(counts: Counter[str]) -> str:
    """The largest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count:,} {name}" for name, count in ordered) or "none"
