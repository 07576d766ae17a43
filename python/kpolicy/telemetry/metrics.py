"""Counters, gauges and histograms, their text exposition (Prometheus 0.0.4), and process metrics.

A registry is a value: nothing is global. Used by one thread. Numbers of the process come from
/proc; what cannot be read there is left out.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, repeat
from math import isfinite, isnan
from operator import mul
from pathlib import Path
from typing import Final, Protocol

from kpolicy.telemetry.limits import SERIES_MAX

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[str, ...]


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return bucket bounds as Prometheus' ExponentialBuckets does."""
    return tuple(accumulate(repeat(factor, count - 1), mul, initial=start))


@dataclass(frozen=True, slots=True)
class Description:
    name: str
    kind: str
    help: str
    labels: Labels = ()


class Metric(Protocol):
    @property
    def description(self) -> Description: ...
    def lines(self) -> Iterator[str]: ...


class Counter:
    """A number for each label set, which only grows."""

    def __init__(self, name: str, text: str, labels: Labels = (), kind: str = "counter") -> None:
        self.description = Description(name, kind, text, labels)
        self._values: dict[Labels, float] = {} if labels else {(): 0}

    def add(self, labels: Labels = (), by: float = 1) -> None:
        values = self._values
        if labels not in values:
            labels = _admitted(labels, len(values))
        values[labels] = values.get(labels, 0) + by

    def value(self, labels: Labels = ()) -> float:
        return self._values.get(labels, 0)

    def lines(self) -> Iterator[str]:
        yield from _samples(self.description, self._values)


class Gauge(Counter):
    def __init__(self, name: str, text: str, labels: Labels = ()) -> None:
        super().__init__(name, text, labels, kind="gauge")

    def set(self, value: float, labels: Labels = ()) -> None:
        if labels not in self._values:
            labels = _admitted(labels, len(self._values))
        self._values[labels] = value

    def replace(self, values: Mapping[Labels, float]) -> None:
        """Replace all label sets: those that are missing in `values` disappear."""
        self._values = dict(values)


class Computed:
    """A counter or gauge whose numbers are kept elsewhere; `read` is called at each scrape."""

    def __init__(
        self,
        description: Description,
        read: Callable[[], Mapping[Labels, float]],
    ) -> None:
        self.description = description
        self._read = read

    def lines(self) -> Iterator[str]:
        yield from _samples(self.description, self._read())


# the count of each bucket (not cumulative), the last for +Inf; and the sum
Buckets = tuple[Sequence[int], float]


class Histogram:
    def __init__(self, name: str, text: str, bounds: Sequence[float], labels: Labels = ()) -> None:
        self.description = Description(name, "histogram", text, labels)
        self._bounds = tuple(bounds)
        self._read: Callable[[], Mapping[Labels, Buckets]] = dict
        # by label set: the count of each bucket (not cumulative), the last for +Inf; and the sum
        self._series: dict[Labels, tuple[list[int], list[float]]] = {}
        if not labels:
            self._series[()] = self._empty()

    def observe(self, value: float, labels: Labels = (), times: int = 1) -> None:
        if (series := self._series.get(labels)) is None:
            labels = _admitted(labels, len(self._series))
            series = self._series.setdefault(labels, self._empty())
        series[0][bisect_left(self._bounds, value)] += times
        series[1][0] += value * times

    def count(self, labels: Labels = ()) -> int:
        return sum(self._series[labels][0]) if labels in self._series else 0

    def join(self, read: Callable[[], Mapping[Labels, Buckets]]) -> None:
        """Add series that are kept elsewhere; `read` is called at each scrape."""
        self._read = read

    def lines(self) -> Iterator[str]:
        name, names = self.description.name, self.description.labels
        own = {labels: (counts, sums[0]) for labels, (counts, sums) in self._series.items()}
        series: dict[Labels, Buckets] = {**self._read(), **own}
        for labels, (counts, total) in sorted(series.items()):
            cumulated = 0
            for bound, count in zip((*map(_number, self._bounds), "+Inf"), counts, strict=True):
                cumulated += count
                inside = _inside((*names, "le"), (*labels, bound))
                yield f"{name}_bucket{inside} {cumulated}"
            inside = _inside(names, labels)
            yield f"{name}_sum{inside} {_number(total)}"
            yield f"{name}_count{inside} {cumulated}"

    def _empty(self) -> tuple[list[int], list[float]]:
        return [0] * (len(self._bounds) + 1), [0.0]


class Registry:
    def __init__(self, metrics: Iterable[Metric] = ()) -> None:
        self._metrics: dict[str, Metric] = {}
        self.register(*metrics)

    def register(self, *metrics: Metric) -> None:
        for metric in metrics:
            name = metric.description.name
            assert name not in self._metrics, f"{name} is registered twice"
            self._metrics[name] = metric

    def descriptions(self) -> tuple[Description, ...]:
        """Return the descriptions in the order of their names."""
        return tuple(metric.description for _, metric in sorted(self._metrics.items()))

    def render(self) -> str:
        parts: list[str] = []
        for name, metric in sorted(self._metrics.items()):
            text = metric.description.help.replace("\\", r"\\").replace("\n", r"\n")
            parts.append(f"# HELP {name} {text}\n# TYPE {name} {metric.description.kind}")
            parts.extend(metric.lines())
        return "\n".join(parts) + "\n"


def _admitted(labels: Labels, series: int) -> Labels:
    return labels if series < SERIES_MAX else ("other",) * len(labels)


def _samples(description: Description, values: Mapping[Labels, float]) -> Iterator[str]:
    return (
        f"{description.name}{_inside(description.labels, labels)} {_number(value)}"
        for labels, value in sorted(values.items())
    )


def _inside(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    pairs = (f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return "{" + ",".join(pairs) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if not isfinite(value):
        return "NaN" if isnan(value) else ("+Inf" if value > 0 else "-Inf")
    return str(int(value)) if value == int(value) else repr(float(value))


_STAT_START_TICKS = 19  # the 22nd field of /proc/self/stat, counted after the name in brackets


def register(registry: Registry) -> None:
    """Add the metrics of this process."""
    reads: tuple[tuple[str, str, str, Callable[[], Mapping[Labels, float]]], ...] = (
        (
            "process_cpu_seconds_total",
            "counter",
            "CPU time used.",
            lambda: {(): sum(os.times()[:2])},
        ),
        ("process_resident_memory_bytes", "gauge", "Resident memory.", _resident),
        ("process_open_fds", "gauge", "Open file descriptors.", _open_files),
        (
            "process_max_fds",
            "gauge",
            "Maximum number of open file descriptors.",
            lambda: {(): resource.getrlimit(resource.RLIMIT_NOFILE)[0]},
        ),
        (
            "python_allocated_blocks",
            "gauge",
            "Blocks of memory that Python has allocated for objects.",
            # Counted by pool, in a fraction of a millisecond; counting objects would take ten.
            lambda: {(): sys.getallocatedblocks()},
        ),
    )
    for name, kind, text, read in reads:
        registry.register(Computed(Description(name, kind, text), read))
    registry.register(process_start("Start time of the process since the epoch."))


def process_start(text: str) -> Computed:
    start = _start_time()
    return Computed(Description("process_start_time_seconds", "gauge", text), lambda: {(): start})


def _resident() -> dict[Labels, float]:
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return {}
    return {(): pages * os.sysconf("SC_PAGE_SIZE")}


def _open_files() -> dict[Labels, float]:
    try:
        return {(): len(os.listdir("/proc/self/fd"))}  # noqa: PTH208  names are not needed
    except OSError:
        return {}


def _start_time() -> float:
    try:
        stat = Path("/proc/self/stat").read_text("ascii").rsplit(")", 1)[1].split()
        boot = next(
            line.split()[1]
            for line in Path("/proc/stat").read_text("ascii").splitlines()
            if line.startswith("btime ")
        )
        return int(boot) + int(stat[_STAT_START_TICKS]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return time.time()
