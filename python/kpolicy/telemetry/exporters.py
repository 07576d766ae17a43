"""Where traces go, by the standard OTEL_* variables.

Owns the choice of exporters and the resource that says who we are. Assumes nothing is exported
unless asked for: OTEL_TRACES_EXPORTER, or an OTLP endpoint, has to be set. What is wrong with the
variables is said in a line each and costs traces, never scheduling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from kpolicy.telemetry import limits
from kpolicy.telemetry.sampling import Rates, sampling_of
from kpolicy.telemetry.traces import Traces

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
# What the downward API gives by the names deployments commonly choose.
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
    """Which exporters are asked for, and what is wrong with the asking."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return (), ()
    text = environ.get("OTEL_TRACES_EXPORTER", "").strip()
    if not text:
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
    """Attributes of our own process; OTEL_RESOURCE_ATTRIBUTES is read by the SDK besides."""
    resource = {key: environ[name] for name, key in _RESOURCE.items() if environ.get(name)}
    resource["service.version"] = version
    if not environ.get("OTEL_SERVICE_NAME"):
        resource["service.name"] = "kpolicy"
    return resource
