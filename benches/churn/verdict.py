"""Judges all rounds of a churn run: how memory grows, and which limits are exceeded. Rounds of the
warm-up do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from benches.churn.sample import Sample, growth
from kpolicy.cluster.limits import EVENT_SERIES_S, EVENT_SERIES_WRITE_S
from kpolicy.offline.reports.columns import columns

# Reference A7, I7: memory may grow by less than this part in ten rounds once it is warm.
GROWTH_MAX: Final = 0.01
# What has a bound is filled up to it first: the engine's log of changes, tables that are swept when
# they have doubled, shapes; and series of events, which take their time.
WARM_PODS: Final = 8_000
WARM_S: Final = EVENT_SERIES_S + EVENT_SERIES_WRITE_S
_SHOWN_EVERY: Final = 10
_HEADINGS: Final = (
    "round",
    "seconds",
    "bound",
    "resident MiB",
    "Python blocks",
    "templates",
    "objects",
    "cached KiB",
)


def warm_up(samples: Sequence[Sample]) -> int | None:
    """How many rounds the warm-up took; None if it is not over."""
    pods, seconds = 0, 0.0
    for count, sample in enumerate(samples, 1):
        pods, seconds = pods + sample.bound, seconds + sample.seconds
        if pods >= WARM_PODS and seconds >= WARM_S:
            return count
    return None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the rounds after the warm-up."""

    samples: tuple[Sample, ...]

    @property
    def warm(self) -> tuple[Sample, ...]:
        return self.samples[warm_up(self.samples) :]

    @property
    def resident(self) -> float:
        """The part by which resident memory grows in ten rounds."""
        return growth([sample.resident_mib for sample in self.warm])

    @property
    def blocks(self) -> float:
        return growth([sample.blocks for sample in self.warm])

    def failures(self) -> list[str]:
        grown = ((self.resident, "resident memory"), (self.blocks, "what Python's objects take"))
        return [
            f"{what} grows by {100 * part:.2f} % in ten rounds; less than "
            f"{100 * GROWTH_MAX:.0f} % is allowed"
            for part, what in grown
            if part >= GROWTH_MAX
        ]

    def line(self) -> dict[str, Any]:
        return {
            "rounds": [sample.line() for sample in self.samples],
            "warmUpRounds": len(self.samples) - len(self.warm),
            "residentGrowthIn10Rounds": round(self.resident, 5),
            "pythonBlocksGrowthIn10Rounds": round(self.blocks, 5),
        }

    def table(self) -> list[str]:
        last = len(self.samples) - 1
        rows: list[Sequence[str]] = [_HEADINGS]
        rows += [
            _cells(sample)
            for position, sample in enumerate(self.samples)
            if position in (0, last) or sample.turn % _SHOWN_EVERY == 0
        ]
        sentence = (
            f"in ten rounds, from round {self.warm[0].turn} on: resident memory "
            f"{100 * self.resident:+.2f} %, blocks of Python's objects {100 * self.blocks:+.2f} % "
            f"(less than {100 * GROWTH_MAX:.0f} % is allowed)"
        )
        return [*columns(rows, right=range(len(_HEADINGS))), "", sentence]


def _cells(sample: Sample) -> list[str]:
    return [
        str(sample.turn),
        f"{sample.seconds:.1f}",
        f"{sample.bound:,}",
        f"{sample.resident_mib:.1f}",
        f"{sample.blocks:,}",
        f"{sample.engine.get('podTemplates', 0):,}",
        f"{sample.engine.get('objects', 0):,}",
        f"{sample.engine.get('cachedBytes', 0) / 1024:,.0f}",
    ]
