"""Snapshots, simulations, benchmarks and values as text and JSON.

Texts from a recorded file are made printable, one line each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from kpolicy.offline.answers.evaluate import Evaluated
from kpolicy.offline.answers.expression_values import written
from kpolicy.offline.answers.pod_decisions import SimulatedPod, Summary
from kpolicy.offline.bench.measure import Measured
from kpolicy.offline.reports.columns import (
    amount,
    bytes_of,
    columns,
    counted,
    largest_first,
    listed,
    percent,
)
from kpolicy.offline.snapshot_file.reader import Header, header_json
from kpolicy.offline.snapshots.cluster_snapshot import Recorded
from kpolicy.offline.snapshots.inventory import (
    State,
)
from kpolicy.offline.snapshots.survey import Survey, number

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
        more = counted(summary.not_served, "pod")
        lines.append(
            f"{more} more with a schedulerName that is not served; `--every-pod` includes them"
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


def table(measured: Sequence[Measured]) -> list[str]:
    rows = [[*HEADINGS], *map(row, measured)]
    if any(each.threads is not None for each in measured):
        threads = ["threads", *(str(each.threads) for each in measured)]
        rows = [[*cells, count] for cells, count in zip(rows, threads, strict=True)]
    return columns(rows, right=range(1, len(rows[0])))


def value_text(evaluated: Evaluated) -> str:
    """The value as CEL writes it, and its type."""
    return f"{written(evaluated.exact)} : {evaluated.type}"


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
    return ", ".join(f"{count:,} {name}" for name, count in largest_first(counts)) or "none"


def recordings_json(recordings: Sequence[Recorded]) -> dict[str, Any]:
    """Nothing where no file is a recorded snapshot."""
    if not recordings:
        return {}
    return {
        "recordings": [
            {"source": recorded.source} | header_json(recorded.header) for recorded in recordings
        ]
    }


def recordings_text(recordings: Sequence[Recorded]) -> list[str]:
    lines: list[str] = []
    for recorded in recordings:
        if len(recordings) > 1:
            lines.append(f"file      {recorded.source}")
        lines += _lines(recorded.header)
    return lines


def _lines(header: Header) -> list[str]:
    origin, content = header.origin, header.content
    when = _one_line(origin.recorded) or "at an unknown time"
    cluster = f" from Kubernetes {_one_line(origin.cluster_version)}" * bool(origin.cluster_version)
    lines = [f"recorded  {when}{cluster} by kpolicy {_one_line(header.kpolicy_version)}"]
    lines.append(f"content   sha256:{_one_line(content.sha256)}")
    lines += _versions(header)
    for why, kinds in sorted(_by_value(origin.left_out).items()):
        lines.append(f"missing   {', '.join(kinds)} ({why})")
    if origin.redaction is not None:
        kept = (*origin.redaction.kept_labels, *origin.redaction.kept_namespaces)
        but = f" but {', '.join(map(_one_line, kept))}" * bool(kept)
        lines.append(f"redacted  names and label values are replaced{but}")
    return lines


def _versions(header: Header) -> list[str]:
    """One line where all kinds are of one version."""
    by_version = _by_value(header.origin.resource_versions)
    if len(by_version) == 1:
        return [f"version   {version} for every kind" for version in by_version]
    return [f"version   {version} of {', '.join(kinds)}" for version, kinds in by_version.items()]


def _by_value(of_kinds: Any) -> dict[str, list[str]]:
    gathered: defaultdict[str, list[str]] = defaultdict(list)
    for kind, value in sorted(of_kinds.items()):
        gathered[_one_line(value)].append(_one_line(kind))
    return dict(gathered)


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)
