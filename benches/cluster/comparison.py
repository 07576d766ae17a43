"""Runs rounds in turns and computes the ratios of the comparison.

The order is A B B A …, so that a machine that becomes slower slows both. Each round has its own
ratio; the result is their median.
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
    """What the second has to reach beside the first. `is_steady`: once the machine's own changes of
    speed are taken off, which are more than what is promised."""

    throughput_min: float
    cpu_max: float = math.inf
    is_steady: bool = False


@dataclass(frozen=True, slots=True)
class Ratios:
    """How many times the pods a second, and which part of the processor time a pod."""

    throughput: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Of `second` beside `first`: more pods a second is better, less processor time is better."""

    first: str
    second: str
    rounds: tuple[Round, ...]

    @property
    def throughput(self) -> float:
        """How many times the pods a second."""
        return self._ratio(lambda one: one.pods_per_second)

    @property
    def cpu(self) -> float:
        """Which part of the scheduler's processor time a pod."""
        return self._ratio(lambda one: one.cpu_ms)

    @property
    def steady(self) -> Ratios:
        """Of two that ask the same of the API server: what that takes for it tells how fast the
        machine was in a round. Times are counted in it."""
        return Ratios(
            self._ratio(lambda one: one.pods_per_second * one.api_server_ms),
            self._ratio(lambda one: one.cpu_ms / one.api_server_ms if one.api_server_ms else 0.0),
        )

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
        words, seen = [], self.steady if promise.is_steady else Ratios(self.throughput, self.cpu)
        if seen.throughput < promise.throughput_min:
            words.append(
                f"{self.second} was to bind {promise.throughput_min:g}x as many pods a second as "
                f"{self.first}: it bound {seen.throughput:.2f}x"
            )
        if seen.cpu > promise.cpu_max:
            words.append(
                f"{self.second} was to take {promise.cpu_max:g} of the processor time a pod of "
                f"{self.first}: it took {seen.cpu:.2f}"
            )
        return words

    def line(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "throughputRatio": round(self.throughput, 3),
            "cpuPerPodRatio": round(self.cpu, 3),
            "throughputRatioSteady": round(self.steady.throughput, 3),
            "cpuPerPodRatioSteady": round(self.steady.cpu, 3),
            "cpuPerPodWithStartRatio": round(self.cpu_with_start, 3),
            "rounds": [one.line() for one in self.rounds],
        }

    def _ratio(self, figure: Callable[[Round], float]) -> float:
        """Both of a round were measured one after the other: what else the machine does at that
        time, it does to both."""
        firsts, seconds = (
            [figure(one) for one in self.rounds if one.contender == name]
            for name in (self.first, self.second)
        )
        pairs = zip(firsts, seconds, strict=True)
        return median(second / first if first else 0.0 for first, second in pairs)


def in_turns(
    contenders: Sequence[Contender], rounds: int, run: Callable[[Contender, int], Round]
) -> Comparison:
    first, second = contenders
    orders = ((first, second), (second, first))
    measured = [run(contender, turn) for turn in range(rounds) for contender in orders[turn % 2]]
    return Comparison(first.name, second.name, tuple(measured))
