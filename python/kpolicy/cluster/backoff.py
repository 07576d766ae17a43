"""How long to wait before the next try.

Owns the schedule of client-go's reflector, with the whole of each step's range at random, so that
informers and replicas that failed together do not come back together. Pure: time and chance are
arguments.
"""

from __future__ import annotations

from dataclasses import dataclass

from kpolicy.clock import NANOSECONDS
from kpolicy.cluster.limits import (
    BACKOFF_FACTOR,
    BACKOFF_RESET_S,
    BACKOFF_S_INITIAL,
    BACKOFF_S_MAX,
)


@dataclass(frozen=True, slots=True)
class Backoff:
    """`step` counts failures since the last healthy stretch."""

    step: int = 0
    failed_at_ns: int | None = None

    def ceiling_s(self) -> float:
        """The most the next wait can be."""
        # 2**64 is beyond every cap: the exponent is bounded so that it cannot overflow a float.
        return min(BACKOFF_S_MAX, BACKOFF_S_INITIAL * BACKOFF_FACTOR ** min(self.step + 1, 64))

    def failed(self, monotonic_ns: int, chance: float, at_least_s: float = 0.0) -> Wait:
        """A failure now: how long to wait, and the state after. `chance` is in [0, 1).

        The wait is in [initial, ceiling); `at_least_s` (Retry-After) raises both its ends.
        """
        healthy = (
            self.failed_at_ns is not None
            and monotonic_ns - self.failed_at_ns >= BACKOFF_RESET_S * NANOSECONDS
        )
        now = Backoff() if healthy else self
        wait_s = BACKOFF_S_INITIAL + chance * (now.ceiling_s() - BACKOFF_S_INITIAL)
        if at_least_s > wait_s:
            wait_s = at_least_s + chance * BACKOFF_S_INITIAL
        return Wait(wait_s, Backoff(now.step + 1, monotonic_ns))


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float
    backoff: Backoff
