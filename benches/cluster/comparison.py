"""Rounds in turns, and what they say together.

Owns the order (A B B A …, so that a machine or a store that gets slower slows both alike) and the
ratios: medians of the rounds over medians of the rounds. Must not know how a round is measured, nor
print.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benches.cluster.contenders import Contender
from benches.cluster.round import Round


@dataclass(frozen=True, slots=True)
class Promise:
    """What the second has to reach beside the first."""

    throughput_min: float
    cpu_max: float = math.inf


@dataclass(frozen=True, slots=True)
class Comparison:
    """Of `second` beside `first`: more pods a second is better, less processor time is better."""

    first: str
    second: str
    rounds: tuple[Round, ...]

    def of(self, name: str, figure: Callable[[Round], float]) -> float:
        return median(figure(one) for one in self.rounds if one.contender == name)

    @property
    def throughput(self) -> float:
        """How many times the pods a second."""
        return self._ratio(lambda one: one.pods_per_second)

    @property
    def cpu(self) -> float:
        """Which part of the scheduler's processor time a pod."""
        return self._ratio(lambda one: one.cpu_ms)

    @property
    def cpu_with_start(self) -> float:
        return self._ratio(lambda one: one.cpu_with_start_ms)

    def failures(self) -> list[str]:
        """What was not done for every pod."""
        return [
            f"{one.contender}: {done:,} {what} for {one.pods:,} pods"
            for one in self.rounds
            for done, what in ((one.bound, "bound"), (one.events, "Scheduled events"))
            if done != one.pods
        ]

    def broken(self, promise: Promise) -> list[str]:
        """Which promises were not kept, in words."""
        words = []
        if self.throughput < promise.throughput_min:
            words.append(
                f"{self.second} was to bind {promise.throughput_min:g}x as many pods a second as "
                f"{self.first}: it bound {self.throughput:.2f}x"
            )
        if self.cpu > promise.cpu_max:
            words.append(
                f"{self.second} was to take {promise.cpu_max:g} of the processor time a pod of "
                f"{self.first}: it took {self.cpu:.2f}"
            )
        return words

    def line(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "throughputRatio": round(self.throughput, 3),
            "cpuPerPodRatio": round(self.cpu, 3),
            "cpuPerPodWithStartRatio": round(self.cpu_with_start, 3),
            "rounds": [one.line() for one in self.rounds],
        }

    def _ratio(self, figure: Callable[[Round], float]) -> float:
        base = self.of(self.first, figure)
        return self.of(self.second, figure) / base if base else 0.0


def in_turns(
    contenders: Sequence[Contender], rounds: int, run: Callable[[Contender, int], Round]
) -> Comparison:
    first, second = contenders
    orders = ((first, second), (second, first))
    measured = [run(contender, turn) for turn in range(rounds) for contender in orders[turn % 2]]
    return Comparison(first.name, second.name, tuple(measured))
