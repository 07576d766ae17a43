"""Decides which traces are kept: a share of the routine ones, and all failures and slow attempts.

Two limits a second bound the cost, in a busy cluster and in a storm of failures. Pure: time and
chance are arguments. A trace is judged when it ends, since failures are known only then; only the
routine share is marked as sampled in a `traceparent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kpolicy.telemetry import limits

_SECOND_NS: Final = 1_000_000_000
_ID_SPACE: Final = 1 << 64  # TraceIdRatioBased uses the lower part of the id
_ID_MASK: Final = _ID_SPACE - 1
DEFAULT_SAMPLER: Final = "parentbased_always_on"


@dataclass(frozen=True, slots=True)
class Sampling:
    """The `ratio` of routine traces to keep. `off` keeps nothing, not even failures."""

    ratio: float = 1.0
    off: bool = False
    _ids_below: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ids_below", round(self.ratio * _ID_SPACE))

    def keeps(self, trace_id: int) -> bool:
        return (trace_id & _ID_MASK) < self._ids_below


@dataclass(frozen=True, slots=True)
class Rates:
    """The highest number of traces a second: sampled ones, and failures and slow attempts
    besides."""

    sampled: int = limits.TRACES_PER_SECOND
    kept: int = limits.KEPT_TRACES_PER_SECOND


def sampling_of(environ: Mapping[str, str]) -> tuple[Sampling, str]:
    """Read the variables; return the sampling and what is wrong with them (empty: nothing).

    Our traces have no parent, so `parentbased_x` means `x`.
    """
    name = environ.get("OTEL_TRACES_SAMPLER", "").strip().lower() or DEFAULT_SAMPLER
    match name.removeprefix("parentbased_"):
        case "always_on":
            return Sampling(), ""
        case "always_off":
            return Sampling(0.0, off=True), ""
        case "traceidratio":
            return _ratio(environ.get("OTEL_TRACES_SAMPLER_ARG", "").strip())
    known = "always_on, always_off, traceidratio or parentbased_ before one of them"
    return Sampling(), f"OTEL_TRACES_SAMPLER={name!r} is not {known}; all traces are kept"


def _ratio(text: str) -> tuple[Sampling, str]:
    if not text:
        return Sampling(), ""
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1.0
    if not 0.0 <= ratio <= 1.0:
        problem = f"OTEL_TRACES_SAMPLER_ARG={text!r} is not between 0 and 1; all traces are kept"
        return Sampling(), problem
    return Sampling(ratio), ""


class Allowance:
    """A limit per second; what exceeds it is refused and counted."""

    def __init__(self, per_second_max: int) -> None:
        self._per_second_max = per_second_max
        self._second = -1
        self._taken = 0
        self.refused = 0

    def take(self, now_ns: int) -> bool:
        second = now_ns // _SECOND_NS
        if second != self._second:
            self._second, self._taken = second, 0
        if self._taken >= self._per_second_max:
            self.refused += 1
            return False
        self._taken += 1
        return True


class Judge:
    """Decides about a trace twice: when its ids are made, and when it has ended."""

    def __init__(self, sampling: Sampling, rates: Rates) -> None:
        self._sampling = sampling
        self._routine = Allowance(rates.sampled)
        self._kept = Allowance(rates.kept)

    @property
    def dropped(self) -> int:
        """How many traces were dropped because of the limits."""
        return self._routine.refused + self._kept.refused

    def sampled(self, trace_id: int, now_ns: int) -> bool:
        return self._sampling.keeps(trace_id) and self._routine.take(now_ns)

    def kept_anyway(self, *, failed: bool, slow: bool, now_ns: int) -> bool:
        return (failed or slow) and not self._sampling.off and self._kept.take(now_ns)
