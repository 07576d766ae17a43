"""Which traces are kept: a ratio of the routine, and failures and slow attempts beside it.

Owns the reading of OTEL_TRACES_SAMPLER(_ARG) and two allowances a second, so that neither a busy
cluster nor a storm of failures makes tracing cost more than it may. Pure: time and chance are
arguments. A trace is judged when it ends, so that what went wrong is known; only the part that is
kept by its ratio is told to others in a `traceparent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kpolicy.telemetry import limits

_SECOND_NS: Final = 1_000_000_000
_ID_SPACE: Final = 1 << 64  # of which TraceIdRatioBased takes the lower part
_ID_MASK: Final = _ID_SPACE - 1
DEFAULT_SAMPLER: Final = "parentbased_always_on"


@dataclass(frozen=True, slots=True)
class Sampling:
    """`ratio` of routine traces; `off` keeps nothing at all, not even failures."""

    ratio: float = 1.0
    off: bool = False
    _ids_below: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ids_below", round(self.ratio * _ID_SPACE))

    def keeps(self, trace_id: int) -> bool:
        return (trace_id & _ID_MASK) < self._ids_below


@dataclass(frozen=True, slots=True)
class Rates:
    """Traces a second at most: of what the sampler takes, and of failures and slow attempts beside
    it, so that routine never displaces them."""

    sampled: int = limits.TRACES_PER_SECOND
    kept: int = limits.KEPT_TRACES_PER_SECOND


def sampling_of(environ: Mapping[str, str]) -> tuple[Sampling, str]:
    """What the variables ask for, and what is wrong with them (empty: nothing).

    A trace of ours begins here and has no parent: `parentbased_x` means `x`."""
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
    """So many a second; what is over is refused and counted."""

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
    """Decides for each trace, twice: when its ids are made, and when it has ended."""

    def __init__(self, sampling: Sampling, rates: Rates) -> None:
        self._sampling = sampling
        self._routine = Allowance(rates.sampled)
        self._kept = Allowance(rates.kept)

    @property
    def dropped(self) -> int:
        """Traces the sampler would have kept, but not the allowance."""
        return self._routine.refused + self._kept.refused

    def sampled(self, trace_id: int, now_ns: int) -> bool:
        return self._sampling.keeps(trace_id) and self._routine.take(now_ns)

    def kept_anyway(self, *, failed: bool, slow: bool, now_ns: int) -> bool:
        return (failed or slow) and not self._sampling.off and self._kept.take(now_ns)
