"""Traces of attempts to place pods: which are kept, when they are built, and where they are
exported.

The traces that the sampler selects are kept, and all failures and slow attempts; two limits bound
the cost, in a busy cluster and in a storm of failures. A trace is judged when its attempt is over,
since failures are known only then; only the routine share is marked as sampled in a `traceparent`.
Callers ask `keeps` before they build a trace, so that one that is not kept costs nothing more.
Without an exporter, no object of the SDK exists and `begin` is one comparison. Wrong OTEL_*
variables are reported in one line each; they disable traces, never scheduling.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from kpolicy.telemetry import limits
from kpolicy.telemetry.attempt import Attempt, Step, TraceContext

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from kpolicy.telemetry.pipeline import Pipeline

_SECOND_NS: Final = 1_000_000_000
_ID_SPACE: Final = 1 << 64  # TraceIdRatioBased uses the lower part of the id
_ID_MASK: Final = _ID_SPACE - 1
DEFAULT_SAMPLER: Final = "parentbased_always_on"


@dataclass(frozen=True, slots=True)
class Sampling:
    """The `ratio` of routine traces to keep. `off` keeps nothing, not even failures."""

    ratio: float = 1.0
    off: bool = False

    def keeps(self, trace_id: int) -> bool:
        return (trace_id & _ID_MASK) < round(self.ratio * _ID_SPACE)


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
    """A limit per second. What is not used is saved up for a burst, as much as `burst_s` seconds
    allow."""

    def __init__(self, per_second_max: int, burst_s: int = 1) -> None:
        self._per_second_max = per_second_max
        self._room_max = per_second_max * burst_s
        self._room = self._room_max
        self._second: int | None = None

    def take(self, now_ns: int) -> bool:
        second = now_ns // _SECOND_NS
        if second != self._second:
            passed = second - self._second if self._second is not None else 0
            # The clock may have been set back: nothing is saved up then.
            self._room = min(self._room + max(passed, 1) * self._per_second_max, self._room_max)
            self._second = second
        if self._room <= 0:
            return False
        self._room -= 1
        return True


_SPAN_BITS: Final = 64
_SPAN_MASK: Final = (1 << _SPAN_BITS) - 1


class Traces:
    """Judges and builds traces. A trace is judged twice: when its ids are made, and when it has
    ended. `stop` waits at most two seconds for the exporter."""

    def __init__(
        self,
        exporters: tuple[SpanExporter, ...] = (),
        sampling: Sampling | None = None,
        random: Random | None = None,
        resource: Mapping[str, str] | None = None,
        rates: Rates | None = None,
    ) -> None:
        self._sampling = sampling or Sampling()
        rates = rates or Rates()
        self._routine = Allowance(rates.sampled)
        self._kept = Allowance(rates.kept, limits.KEPT_TRACES_BURST_S)
        self._random = random or Random()
        self._dropped = 0
        self._pipeline: Pipeline | None = None
        if exporters:
            from kpolicy.telemetry import pipeline  # noqa: PLC0415  0.2 s of imports

            self._pipeline = pipeline.Pipeline(exporters, resource or {})

    @property
    def enabled(self) -> bool:
        return self._pipeline is not None

    @property
    def dropped(self) -> int:
        """Traces that were wanted and did not arrive: because of the limits a second, because too
        many spans waited, or because the exporter failed. Each counts once."""
        return self._dropped + (self._pipeline.lost if self._pipeline is not None else 0)

    def begin(self, now_ns: int) -> TraceContext | None:
        """Make the ids of an attempt, which others see before it ends; None if tracing is off."""
        if self._pipeline is None:
            return None
        bits = self._random.getrandbits(4 * _SPAN_BITS)
        trace_id = bits >> 2 * _SPAN_BITS or 1
        is_selected = self._sampling.keeps(trace_id)
        is_sampled = is_selected and self._has_room() and self._routine.take(now_ns)
        return TraceContext(
            trace_id,
            bits & _SPAN_MASK or 1,
            bits >> _SPAN_BITS & _SPAN_MASK or 1,
            is_sampled,
            is_selected and not is_sampled,
        )

    def keeps(self, context: TraceContext, *, failed: bool, slow: bool, now_ns: int) -> bool:
        """Whether to record the attempt. Ask once, when it is over."""
        if context.sampled:
            return True
        is_failure = (failed or slow) and not self._sampling.off
        if is_failure and self._has_room() and self._kept.take(now_ns):
            return True
        self._dropped += is_failure or context.crowded_out
        return False

    def _has_room(self) -> bool:
        return self._pipeline is not None and self._pipeline.has_room()

    def record(self, attempt: Attempt, context: TraceContext) -> None:
        """Build the spans of an attempt that is over."""
        if self._pipeline is not None:
            self._pipeline.emit(attempt, context)

    def add(self, step: Step, context: TraceContext) -> None:
        """Add a later step to an attempt whose trace was kept."""
        if self._pipeline is not None:
            self._pipeline.add(step, context)

    def stop(self, seconds_max: float = limits.TRACE_FLUSH_S) -> bool:
        """Export what waits; False if the collector did not take it in time."""
        if self._pipeline is None:
            return True
        thread = threading.Thread(
            target=self._pipeline.shutdown, name="kpolicy-trace-flush", daemon=True
        )
        thread.start()
        thread.join(seconds_max)
        return not thread.is_alive()


_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
# environment variables that deployments commonly set from the downward API
_RESOURCE: Final = {
    "POD_NAME": "k8s.pod.name",
    "POD_UID": "k8s.pod.uid",
    "POD_NAMESPACE": "k8s.namespace.name",
    "NODE_NAME": "k8s.node.name",
}


@dataclass(frozen=True, slots=True)
class TraceSetup:
    traces: Traces
    exporters: tuple[str, ...]
    problems: tuple[str, ...]


def traces_of(
    environ: Mapping[str, str], version: str, random: Random, rates: Rates | None = None
) -> TraceSetup:
    names, problems = exporter_names(environ)
    if not names:
        return TraceSetup(Traces(), (), problems)
    sampling, problem = sampling_of(environ)
    problems += (problem,) if problem else ()
    if sampling.off:
        return TraceSetup(Traces(), (), problems)
    try:
        exporters = tuple(_exporter(name, environ) for name in names)
    except (ValueError, OSError) as error:
        return TraceSetup(Traces(), (), (*problems, f"traces are off: {error}"))
    traces = Traces(exporters, sampling, random, _resource(environ, version), rates)
    return TraceSetup(traces, names, problems)


def exporter_names(environ: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which exporters are requested, and what is wrong with the request."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return (), ()
    if not (text := environ.get("OTEL_TRACES_EXPORTER", "").strip()):
        text = "otlp" if any(environ.get(name) for name in _ENDPOINTS) else "none"
    asked = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip()))
    names = tuple(name for name in asked if name in {"otlp", "console"})
    problems = [
        f"OTEL_TRACES_EXPORTER={name!r} is not known: otlp, console and none are"
        for name in asked
        if name not in {"otlp", "console", "none"}
    ]
    protocol = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environ.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"
    )
    if "otlp" in names and protocol != "http/protobuf":
        problems.append(f"OTLP goes over http/protobuf; protocol {protocol!r} is not spoken")
    return names, tuple(problems)


def _exporter(name: str, environ: Mapping[str, str]) -> SpanExporter:
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter  # noqa: PLC0415

        return ConsoleSpanExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )

    timed = any(environ.get(f"OTEL_EXPORTER_OTLP_{kind}TIMEOUT") for kind in ("TRACES_", ""))
    return OTLPSpanExporter(timeout=None if timed else limits.TRACE_EXPORT_S)


def _resource(environ: Mapping[str, str], version: str) -> dict[str, str]:
    """Return the attributes of our process; the SDK adds those of OTEL_RESOURCE_ATTRIBUTES."""
    resource = {key: environ[name] for name, key in _RESOURCE.items() if environ.get(name)}
    resource["service.version"] = version
    if not environ.get("OTEL_SERVICE_NAME"):
        resource["service.name"] = "kpolicy"
    return resource
