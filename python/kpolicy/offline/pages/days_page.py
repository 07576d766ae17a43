"""The page of simulated days: how full the cluster is over time, how long pods wait, and what is
evicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kpolicy.api_times import time_of
from kpolicy.offline.limits import PAGE_BARS_MAX
from kpolicy.offline.pages.bar_chart import Bars, BarSeries
from kpolicy.offline.pages.data_table import Column, DataTable, Value
from kpolicy.offline.pages.page_frame import Figure, Page, Part, Section
from kpolicy.offline.pages.time_series import Line, TimeSeries

_NANOSECONDS_OF_MILLISECOND: Final = 1_000_000
_SHARES: Final = {
    "allocation": ("Allocation", "The part of the cluster that pods ask for."),
    "fragmentation": (
        "Fragmentation",
        "The part of what is free that lies on nodes where usual pods do not fit.",
    ),
    "imbalance": ("Imbalance", "The standard deviation of how full nodes are."),
}
_EVENTS: Final = ("arrived", "placed", "ended", "preempted", "displaced")

Sample = Mapping[str, Any]


def days_page(document: Mapping[str, Any], about: str = "") -> str:
    """`document` is what `simulate --scenario --output json` prints."""
    samples: Sequence[Sample] = document["samples"]
    summary: Mapping[str, Any] = document["summary"]
    times = [time_of(sample["time"]) / _NANOSECONDS_OF_MILLISECOND for sample in samples]
    sections = [
        Section("How full the cluster is", list(_shares(samples, times))),
        Section("Pods", list(_pods(samples, times))),
        Section("Waiting", list(_waiting(samples, summary, times))),
        Section("Sums", [_sums(summary["resources"])]),
    ]
    figures = [
        Figure("pods that came", f"{summary['arrived']:,}"),
        Figure("placed", f"{summary['placed']:,}"),
        Figure("pending at the end", f"{summary['pendingAtEnd']:,}"),
        Figure("preempted", f"{summary['preempted']:,}"),
        Figure("lost their node", f"{summary['displaced']:,}"),
    ]
    whose = f"{summary['name']}: {', '.join(summary['policies'])}, seed {summary['seed']}"
    return Page("Days of a cluster", sections, figures, about or whose).html()


def _shares(samples: Sequence[Sample], times: Sequence[float]) -> Iterator[Part]:
    names = list(dict.fromkeys(name for sample in samples for name in sample["resources"]))
    pending = Line(
        "pending pods", _points(times, [each["pending"] for each in samples]), True, True
    )
    for figure, (title, about) in _SHARES.items():
        lines = [
            Line(
                name,
                _points(
                    times, [sample["resources"].get(name, {}).get(figure) for sample in samples]
                ),
            )
            for name in names
        ]
        yield _over_time(title, [*lines, pending], about, ("percent", "number"))


def _pods(samples: Sequence[Sample], times: Sequence[float]) -> Iterator[Part]:
    there = [
        Line("on nodes", _points(times, [each["running"] for each in samples])),
        Line("pending", _points(times, [each["pending"] for each in samples])),
        Line("nodes", _points(times, [each["nodes"] for each in samples]), True, True),
    ]
    yield _over_time("Pods and nodes", there, "Nodes are on the axis on the right.")
    events = [
        Line(name, _points(times, [each[name] for each in samples]), is_step=True)
        for name in _EVENTS
    ]
    yield _over_time("What happens", events, "Pods since the sample before.")


def _waiting(
    samples: Sequence[Sample], summary: Mapping[str, Any], times: Sequence[float]
) -> Iterator[Part]:
    percentiles = list(dict.fromkeys(name for each in samples for name in each["waitSeconds"]))
    lines = [
        Line(name, _points(times, [each["waitSeconds"].get(name) for each in samples]))
        for name in percentiles
    ]
    if lines:
        about = "Of the pods that got a node since the sample before, percentiles of their wait."
        yield _over_time("Time until a pod has a node", lines, about, ("seconds", "number"))
    rules = list(summary["rejectedBy"].items())[:PAGE_BARS_MAX]
    if rules:
        series = [BarSeries("pods", [count for _, count in rules])]
        yield Bars("Pending at the end, by rule", [rule for rule, _ in rules], series)
    waits = summary["waitSeconds"]
    if waits:
        columns = [Column("wait of all pods"), Column("time", "seconds")]
        yield DataTable("Waits", columns, list(waits.items()))


def _sums(resources: Mapping[str, Mapping[str, float]]) -> DataTable:
    figures = ("allocation", "peak", "fragmentation", "imbalance")
    columns = [Column("resource"), *(Column(figure, "percent") for figure in figures)]
    rows: list[list[Value]] = [
        [name, *(each[figure] for figure in figures)] for name, each in resources.items()
    ]
    return DataTable("In the mean, and the peak of allocation", columns, rows)


def _points(
    times: Sequence[float], values: Sequence[float | None]
) -> list[tuple[float, float | None]]:
    return list(zip(times, values, strict=True))


def _over_time(
    title: str,
    lines: Sequence[Line],
    about: str,
    units: tuple[str, str] = ("number", "number"),
) -> TimeSeries:
    return TimeSeries(title, lines, about, time_unit="time", units=units)
