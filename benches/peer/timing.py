"""The time of one run of a scheduler: rates and quantiles."""

from __future__ import annotations

from dataclasses import dataclass

from kpolicy.offline.bench.measure import NANOSECONDS, quantile


@dataclass(frozen=True, slots=True)
class Timing:
    """`cycle_ns` is of every pod that was decided, in queue order; `cpu_ns` of all threads of the
    process while it decided them."""

    scheduled: int
    cycle_ns: tuple[int, ...]
    cpu_ns: int

    @property
    def pods(self) -> int:
        return len(self.cycle_ns)

    @property
    def pods_per_second(self) -> float:
        return self.rate_of_first(self.pods)

    def rate_of_first(self, pods: int) -> float:
        """Pods a second over the first pods."""
        return pods * NANOSECONDS / max(1, sum(self.cycle_ns[:pods]))

    @property
    def cpu_us_a_pod(self) -> float:
        return self.cpu_ns / 1000 / self.pods

    def quantile_us(self, percent: int) -> float:
        return quantile(sorted(self.cycle_ns), percent) / 1000
