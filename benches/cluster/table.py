"""Prints the comparison: headings, rounded figures, and the sentence below the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benches.cluster.comparison import Comparison
from benches.cluster.contenders import OURS, THEIRS
from benches.cluster.round import Round
from kpolicy.offline.reports.columns import columns

_HEADINGS: Final = (
    "round",
    "scheduler",
    "bound",
    "events",
    "pods/s",
    "cpu ms/pod",
    "with start",
    "start s",
    "API server ms/pod",
    "resident MiB",
)


def table(comparison: Comparison) -> list[str]:
    cells: list[Sequence[str]] = [_HEADINGS]
    cells += [
        _cells(position // 2 + 1, round_) for position, round_ in enumerate(comparison.rounds)
    ]
    right = tuple(position for position in range(len(_HEADINGS)) if position != 1)
    return [*columns(cells, right=right), "", sentence(comparison)]


def sentence(comparison: Comparison) -> str:
    """The sentence with the medians of the ratios."""
    if (comparison.first, comparison.second) == (THEIRS, OURS):
        return (
            f"kpolicy binds {comparison.throughput:.2f}x as many pods a second, "
            f"with 1/{1 / comparison.cpu:.1f} of the processor time a pod "
            f"(1/{1 / comparison.cpu_with_start:.1f} with the start)"
        )
    steady = comparison.steady
    return (
        f"{comparison.second} beside {comparison.first}: {comparison.throughput - 1:+.1%} pods a "
        f"second, {comparison.cpu - 1:+.1%} processor time a pod\n"
        f"in units of what the API server took for the same: {steady.throughput - 1:+.1%} pods, "
        f"{steady.cpu - 1:+.1%} processor time a pod"
    )


def _cells(turn: int, round_: Round) -> list[str]:
    return [
        str(turn),
        round_.contender,
        f"{round_.bound:,}",
        f"{round_.events:,}",
        f"{round_.pods_per_second:,.0f}",
        f"{round_.cpu_ms:.2f}",
        f"{round_.cpu_with_start_ms:.2f}",
        f"{round_.start_s:.2f}",
        f"{round_.api_server_ms:.2f}",
        f"{round_.resident_mib:.0f}",
    ]
