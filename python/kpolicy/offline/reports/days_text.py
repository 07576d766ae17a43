"""Simulated days as text, and their samples as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from kpolicy.api_times import NANOSECONDS, api_time
from kpolicy.offline.days.durations import duration_text
from kpolicy.offline.days.figures import DaysResult, Sample, percentiles
from kpolicy.offline.reports.columns import columns, counted, largest_first, percent


def days_text(result: DaysResult) -> list[str]:
    counts = result.counts
    begins, ends = api_time(result.begins_ns), api_time(result.ends_ns)
    policies = " and ".join(result.policies) or "kube-scheduler-default"
    rows = [
        ["pods", f"{counts.arrived:,} came, {counts.placed:,} placed, {counts.ended:,} ended"],
        ["pending", f"{result.pending_mean:,.1f} in the mean, {result.pending:,} at the end"],
        ["evicted", f"{counts.preempted:,} preempted, {counts.displaced:,} because of nodes"],
        ["wait", _waits(result)],
        ["decisions", f"{counts.attempts:,}"],
    ]
    if result.not_served:
        rows.append(["not served", counted(result.not_served, "pod") + " of other schedulers"])
    lines = [f"{result.name}, {begins} to {ends}: {policies}, seed {result.seed}", ""]
    lines += columns(rows)
    lines += ["", *columns(list(_resources(result)), right=(1, 2, 3, 4))]
    if result.rejected_by:
        lines += ["", "pending at the end because of"]
        shown = largest_first(result.rejected_by)
        lines += columns([[f"{count:,}", rule] for rule, count in shown], right=(0,), indent="  ")
    return lines


def _waits(result: DaysResult) -> str:
    if not result.waits_ns:
        return "no pod got a node"
    found = percentiles(result.waits_ns)
    shown = {name: _seconds_text(value) for name, value in found.items()}
    longest = duration_text(max(result.waits_ns))
    return (
        f"{shown['p50']} for half of the pods, at most {shown['p90']} for 90%, {shown['p99']} for "
        f"99%, {longest} for all"
    )


def _seconds_text(value: float) -> str:
    return duration_text(round(value * NANOSECONDS))


def _resources(result: DaysResult) -> Iterator[list[str]]:
    yield ["", "allocated", "at most", "fragmented", "imbalance"]
    for name in result.resources:
        yield [
            name,
            percent(result.mean(name, "allocation")),
            percent(result.peak(name)),
            percent(result.mean(name, "fragmentation")),
            percent(result.mean(name, "imbalance")),
        ]


def samples_csv(samples: Sequence[Sample]) -> str:
    """A row for each sample."""
    rows = [dict(sample.cells()) for sample in samples]
    names = rows[0] if rows else {}
    out = io.StringIO()
    writer = csv.DictWriter(out, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
