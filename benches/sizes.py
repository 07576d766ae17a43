"""What a replica needs by the size of the cluster and the number of its threads: memory, and
processor time. The values of the chart name requests and limits by this table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benches.footprint import ask
from benches.resident import WAITING
from kpolicy.cli.input_output import progress_bar
from kpolicy.offline.reports.columns import columns

# Nodes, and the pods on them.
SIZES: Final = ((500, 15_000), (5_000, 150_000), (100_000, 300_000))
THREADS: Final = (1, 2)
# More than the measured peak: real objects have more labels, annotations and volumes.
ROOM: Final = 1.5
_STEP_MIB: Final = 128


@dataclass(frozen=True, slots=True)
class Need:
    nodes: int
    pods: int
    threads: int
    listed_mib: float
    peak_mib: float
    list_seconds: float
    decision_us: float

    @property
    def limit_mib(self) -> int:
        return -(-round(ROOM * self.peak_mib) // _STEP_MIB) * _STEP_MIB


def measure() -> list[Need]:
    with progress_bar("listing and deciding"):
        return [_measured(*size, threads) for size in SIZES for threads in THREADS]


def _measured(nodes: int, pods: int, threads: int) -> Need:
    figures = ask("live", str(nodes), str(pods), str(threads))
    return Need(
        nodes,
        pods,
        threads,
        figures["listed"],
        figures["peak"],
        figures["listSeconds"],
        figures["decideSeconds"] / WAITING * 1e6,
    )


def table(needs: Sequence[Need]) -> list[str]:
    rows = [
        ["nodes", "pods", "threads", "listed MiB", "peak MiB", "limit", "list s", "decision µs"]
    ]
    rows += [
        [
            f"{need.nodes:,}",
            f"{need.pods:,}",
            str(need.threads),
            f"{need.listed_mib:,.0f}",
            f"{need.peak_mib:,.0f}",
            f"{need.limit_mib:,}Mi",
            f"{need.list_seconds:.1f}",
            f"{need.decision_us:.0f}",
        ]
        for need in needs
    ]
    note = f"limit: {ROOM} times the peak; times: of the processor, for {WAITING:,} different pods"
    return [*columns(rows, right=range(8)), note]
