"""One trace for each attempt to place a pod, built when the attempt is over.

Owns who has which ids, and whether a trace is kept. Assumes that whoever tells of an attempt asks
first whether it is (`keeps`), so that what is not kept costs nothing more. Without an exporter no
object of the SDK exists and `Traces.begin` is one comparison.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Final

from kpolicy.telemetry import limits
from kpolicy.telemetry.attempt import Attempt, Step, TraceContext
from kpolicy.telemetry.sampling import Judge, Rates, Sampling

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from kpolicy.telemetry.pipeline import Pipeline

_SPAN_BITS: Final = 64
_SPAN_MASK: Final = (1 << _SPAN_BITS) - 1


class Traces:
    """Judges and builds traces. `stop` gives the exporter two seconds, whatever it does."""

    def __init__(
        self,
        exporters: tuple[SpanExporter, ...] = (),
        sampling: Sampling | None = None,
        random: Random | None = None,
        resource: Mapping[str, str] | None = None,
        rates: Rates | None = None,
    ) -> None:
        self._judge = Judge(sampling or Sampling(), rates or Rates())
        self._random = random or Random()
        self._pipeline: Pipeline | None = None
        if exporters:
            from kpolicy.telemetry import pipeline  # noqa: PLC0415  0.2 s of imports

            self._pipeline = pipeline.Pipeline(exporters, resource or {})

    @property
    def enabled(self) -> bool:
        return self._pipeline is not None

    @property
    def dropped(self) -> int:
        return self._judge.dropped

    def begin(self, now_ns: int) -> TraceContext | None:
        """Ids for an attempt that others will hear of before it ends; None when traces are off."""
        if self._pipeline is None:
            return None
        bits = self._random.getrandbits(4 * _SPAN_BITS)
        trace_id = bits >> 2 * _SPAN_BITS or 1
        return TraceContext(
            trace_id,
            bits & _SPAN_MASK or 1,
            bits >> _SPAN_BITS & _SPAN_MASK or 1,
            self._judge.sampled(trace_id, now_ns),
        )

    def keeps(self, context: TraceContext, *, failed: bool, slow: bool, now_ns: int) -> bool:
        """Whether it is to be recorded; ask once, when the attempt is over."""
        return context.sampled or self._judge.kept_anyway(failed=failed, slow=slow, now_ns=now_ns)

    def record(self, attempt: Attempt, context: TraceContext) -> None:
        """The attempt is over: build its spans."""
        if self._pipeline is not None:
            self._pipeline.emit(attempt, context)

    def add(self, step: Step, context: TraceContext) -> None:
        """What followed from an attempt whose trace was kept."""
        if self._pipeline is not None:
            self._pipeline.add(step, context)

    def stop(self, seconds_max: float = limits.TRACE_FLUSH_S) -> bool:
        """Export what waits; False when the collector did not take it in time."""
        if self._pipeline is None:
            return True
        thread = threading.Thread(
            target=self._pipeline.shutdown, name="kpolicy-trace-flush", daemon=True
        )
        thread.start()
        thread.join(seconds_max)
        return not thread.is_alive()
