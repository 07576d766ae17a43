"""Measured workloads as a table.

Owns the layout for people. Must not measure.
"""

from __future__ import annotations

from collections.abc import Iterable

from kpolicy.offline.bench.measure import Measured
from kpolicy.offline.report.columns import columns

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
