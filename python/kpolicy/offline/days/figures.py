"""The figures of simulated days: samples over time, and the sums of all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from kpolicy.api_times import NANOSECONDS, api_time
from kpolicy.offline.days.cluster_book import Fullness
from kpolicy.offline.days.pod_texts import MILLI
from kpolicy.offline.snapshots.survey import number

# Of the time from the arrival of a pod until it has a node.
PERCENTILES: Final = {"p50": 50, "p90": 90, "p99": 99}
# Shares and seconds are rounded, so that a digit beyond does not pretend to be known.
_DIGITS: Final = 6


@dataclass(slots=True)
class Counts:
    """Of pods. `preempted`: evicted for another pod. `displaced`: their node was drained or failed.
    `ended`: had their lifetime. `attempts`: decisions."""

    arrived: int = 0
    placed: int = 0
    ended: int = 0
    preempted: int = 0
    displaced: int = 0
    attempts: int = 0

    def line(self) -> dict[str, int]:
        return {
            "arrived": self.arrived,
            "placed": self.placed,
            "ended": self.ended,
            "preempted": self.preempted,
            "displaced": self.displaced,
            "attempts": self.attempts,
        }


@dataclass(frozen=True, slots=True)
class Sample:
    """`counts` and `waits` (percentiles in seconds) are of the time since the sample before."""

    at_ns: int
    nodes: int
    running: int
    pending: int
    counts: Mapping[str, int]
    waits: Mapping[str, float]
    resources: Mapping[str, Fullness]

    def line(self) -> dict[str, Any]:
        return {
            "time": api_time(self.at_ns),
            "nodes": self.nodes,
            "running": self.running,
            "pending": self.pending,
            **self.counts,
            "waitSeconds": dict(self.waits),
            "resources": {name: _resource_line(full) for name, full in self.resources.items()},
        }

    def cells(self) -> Iterator[tuple[str, str | int | float]]:
        """The names and values of a row of the CSV file; a percentile of nothing is empty."""
        line = self.line()
        waits, resources = line.pop("waitSeconds"), line.pop("resources")
        yield from line.items()
        for name in PERCENTILES:
            yield f"wait {name} seconds", waits.get(name, "")
        for resource, figures in resources.items():
            for name, value in figures.items():
                yield f"{resource} {name}", value


def _resource_line(full: Fullness) -> dict[str, int | float]:
    return {
        "allocatable": number(Fraction(full.allocatable, MILLI)),
        "requested": number(Fraction(full.requested, MILLI)),
        "allocation": rounded(full.allocation),
        "fragmentation": rounded(full.fragmentation),
        "imbalance": rounded(full.imbalance),
    }


def rounded(value: float) -> float:
    return round(value, _DIGITS)


def seconds(nanoseconds: int) -> float:
    return rounded(nanoseconds / NANOSECONDS)


def percentiles(waits_ns: Sequence[int]) -> dict[str, float]:
    """By the nearest rank; empty if nobody waited."""
    ordered = sorted(waits_ns)
    return {
        name: seconds(ordered[max(0, -(-len(ordered) * percent // 100) - 1)])
        for name, percent in PERCENTILES.items()
        if ordered
    }


@dataclass(frozen=True, slots=True)
class DaysResult:
    """`waits_ns` are of all pods that got a node; `oldest_pending_ns`: how long the pod has waited
    that still waits and came first. `rejected_by`: pods that each rule keeps waiting at the end."""

    name: str
    policies: tuple[str, ...]
    seed: int
    begins_ns: int
    ends_ns: int
    samples: tuple[Sample, ...]
    counts: Counts
    waits_ns: tuple[int, ...]
    pending: int
    not_served: int
    oldest_pending_ns: int
    rejected_by: Mapping[str, int] = field(default_factory=Counter)
    # Objects that could not be read, and what was not simulated.
    problems: tuple[str, ...] = ()

    @property
    def wait_mean_s(self) -> float:
        return seconds(sum(self.waits_ns) // len(self.waits_ns)) if self.waits_ns else 0.0

    def mean(self, resource: str, figure: str) -> float:
        """Over the samples, which are as far apart."""
        values = [float(getattr(sample.resources[resource], figure)) for sample in self.samples]
        return rounded(sum(values) / len(values)) if values else 0.0

    def peak(self, resource: str) -> float:
        return rounded(
            max((sample.resources[resource].allocation for sample in self.samples), default=0.0)
        )

    @property
    def resources(self) -> tuple[str, ...]:
        return tuple(self.samples[-1].resources) if self.samples else ()

    @property
    def pending_mean(self) -> float:
        return rounded(sum(sample.pending for sample in self.samples) / max(1, len(self.samples)))

    def summary(self) -> dict[str, Any]:
        waits: dict[str, float] = dict(percentiles(self.waits_ns))
        if self.waits_ns:
            waits |= {"max": seconds(max(self.waits_ns)), "mean": self.wait_mean_s}
        return {
            "name": self.name,
            "policies": list(self.policies),
            "seed": self.seed,
            "begins": api_time(self.begins_ns),
            "ends": api_time(self.ends_ns),
            **self.counts.line(),
            "pendingAtEnd": self.pending,
            "pendingMean": self.pending_mean,
            "oldestPendingSeconds": seconds(self.oldest_pending_ns),
            "notServed": self.not_served,
            "waitSeconds": waits,
            "resources": {
                name: {
                    "allocation": self.mean(name, "allocation"),
                    "peak": self.peak(name),
                    "fragmentation": self.mean(name, "fragmentation"),
                    "imbalance": self.mean(name, "imbalance"),
                }
                for name in self.resources
            },
            "rejectedBy": dict(self.rejected_by),
        }
