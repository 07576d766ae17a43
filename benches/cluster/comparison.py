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
    """The target of the second scheduler beside the first. `is_steady`: measured without the
    changes in the machine's speed, which are larger than the target."""

    throughput_min: float
    cpu_max: float = math.inf
    is_steady: bool = False


@dataclass(frozen=True, slots=True)
class Ratios:
    """Ratios of pods a second, and of processor time a pod."""

    throughput: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares `second` with `first`: more pods a second and less processor time are better."""

    first: str
    second: str
    rounds: tuple[Round, ...]

    @property
    def throughput(self) -> float:
        """The ratio of pods a second."""
        return self._ratio(lambda turn: turn.pods_per_second)

    @property
    def cpu(self) -> float:
        """The ratio of processor time a pod."""
        return self._ratio(lambda turn: turn.cpu_ms)

    @property
    def steady(self) -> Ratios:
        """The ratios in units of the API server's processor time. Both schedulers ask the API
        server for the same, so its time shows how fast the machine was in a round."""
        return Ratios(
            self._ratio(lambda turn: turn.pods_per_second * turn.api_server_ms),
            self._ratio(
                lambda turn: turn.cpu_ms / turn.api_server_ms if turn.api_server_ms else 0.0
            ),
        )

    @property
    def cpu_with_start(self) -> float:
        return self._ratio(lambda turn: turn.cpu_with_start_ms)

    def failures(self) -> list[str]:
        """Rounds in which a pod had no bind or no event."""
        return [
            f"{turn.contender}: {done:,} {what} for {turn.pods:,} pods"
            for turn in self.rounds
            for done, what in ((turn.bound, "bound"), (turn.events, "Scheduled events"))
            if done != turn.pods
        ]

    def broken(self, promise: Promise) -> list[str]:
        """The targets that were not reached, as sentences."""
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
            "rounds": [turn.line() for turn in self.rounds],
        }

    def _ratio(self, figure: Callable[[Round], float]) -> float:
        """The median of the ratios of each round. Both schedulers of a round run one after the
        other, so other work on the machine slows both."""
        firsts, seconds = (
            [figure(turn) for turn in self.rounds if turn.contender == name]
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
