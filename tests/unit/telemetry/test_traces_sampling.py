"""Which traces are kept."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from kpolicy.telemetry import limits
from kpolicy.telemetry.attempt import TraceContext
from kpolicy.telemetry.traces import Allowance, Rates, Sampling, Traces, sampling_of
from tests.unit.telemetry.test_traces import FILTER, PARKED, SCORE

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("name", "argument", "ratio", "off"),
    [
        ("", "", 1.0, False),
        ("always_on", "", 1.0, False),
        ("parentbased_always_on", "", 1.0, False),
        ("always_off", "", 0.0, True),
        ("parentbased_always_off", "", 0.0, True),
        ("traceidratio", "0.25", 0.25, False),
        ("parentbased_traceidratio", "0", 0.0, False),
        ("traceidratio", "", 1.0, False),
    ],
)
def test_the_standard_variables_are_read(name: str, argument: str, ratio: float, off: bool) -> None:
    environ = {"OTEL_TRACES_SAMPLER": name, "OTEL_TRACES_SAMPLER_ARG": argument}
    assert sampling_of(environ) == (Sampling(ratio, off), "")


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("jaeger_remote", ""),
        ("traceidratio", "half"),
        ("traceidratio", "1.5"),
        ("traceidratio", "nan"),
    ],
)
def test_what_is_not_understood_keeps_all_and_is_reported(name: str, argument: str) -> None:
    environ = {"OTEL_TRACES_SAMPLER": name, "OTEL_TRACES_SAMPLER_ARG": argument}
    sampling, problem = sampling_of(environ)
    assert sampling == Sampling()
    assert "OTEL_TRACES_SAMPLER" in problem


def test_the_ratio_is_that_of_trace_id_ratio_based() -> None:
    sampling, random = Sampling(0.25), Random(1)
    ids = [random.getrandbits(128) for _ in range(10_000)]
    kept = [trace_id for trace_id in ids if sampling.keeps(trace_id)]
    assert 2_300 < len(kept) < 2_700
    assert not Sampling(0.0).keeps(0)
    assert all(Sampling(1.0).keeps(trace_id) for trace_id in ids)


def test_the_sdk_judges_the_same() -> None:
    from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased

    sdk, ours, random = TraceIdRatioBased(0.1), Sampling(0.1), Random(2)
    agreed = 0
    for _ in range(2_000):
        trace_id = random.getrandbits(128)
        theirs = sdk.should_sample(None, trace_id, "").decision is Decision.RECORD_AND_SAMPLE
        agreed += theirs == ours.keeps(trace_id)
    assert agreed == 2_000


def test_an_allowance_is_for_each_second() -> None:
    allowance = Allowance(2)
    assert [allowance.take(now) for now in (0, 1, 2, SECOND, SECOND + 1, SECOND + 2)] == [
        True,
        True,
        False,
        True,
        True,
        False,
    ]


def test_what_is_not_used_is_saved_up_for_a_burst() -> None:
    allowance = Allowance(2, burst_s=3)
    allowed = [sum(allowance.take(at * SECOND) for _ in range(10)) for at in (0, 1, 3, 100)]
    assert allowed == [6, 2, 4, 6]


def test_a_clock_that_was_set_back_gives_no_more_than_one_second() -> None:
    allowance = Allowance(2, burst_s=3)
    allowed = [sum(allowance.take(at * SECOND) for _ in range(10)) for at in (100, 1)]
    assert allowed == [6, 2]


def begun(traces: Traces) -> TraceContext:
    context = traces.begin(0)
    assert context is not None
    return context


def test_failures_and_slow_cycles_are_kept_beside_the_routine() -> None:
    traces = Traces((InMemorySpanExporter(),), Sampling(0.0), Random(3))
    context = begun(traces)
    assert not context.sampled
    assert not traces.keeps(context, failed=False, slow=False, now_ns=0)
    assert traces.keeps(context, failed=True, slow=False, now_ns=0)
    assert traces.keeps(context, failed=False, slow=True, now_ns=0)
    off = Traces((InMemorySpanExporter(),), Sampling(0.0, off=True), Random(3))
    assert not off.keeps(begun(off), failed=True, slow=True, now_ns=0)
    assert traces.stop()
    assert off.stop()


def test_routine_never_takes_the_place_of_failures() -> None:
    rates = Rates(sampled=10)
    traces = Traces((InMemorySpanExporter(),), Sampling(), Random(3), rates=rates)
    contexts = [begun(traces) for _ in range(10_000)]
    routine = sum(context.sampled for context in contexts)
    unsampled = next(context for context in contexts if not context.sampled)
    kept = (traces.keeps(unsampled, failed=True, slow=False, now_ns=0) for _ in range(10_000))
    failures = sum(kept)
    assert routine == 10
    assert failures == limits.KEPT_TRACES_PER_SECOND * limits.KEPT_TRACES_BURST_S
    assert traces.dropped == 10_000 - failures
    assert traces.stop()


class SlowExporter(InMemorySpanExporter):
    """Takes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.go.wait()
        return super().export(spans)


class RefusingExporter(InMemorySpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.FAILURE


def put(traces: Traces, number: int) -> bool:
    """An attempt of three spans that failed; whether its trace was kept."""
    context = begun(traces)
    kept = traces.keeps(context, failed=True, slow=False, now_ns=number * SECOND)
    if kept:
        traces.record(replace(PARKED, name=f"p{number}", steps=(FILTER, SCORE)), context)
    return kept


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_a_slow_collector_gets_whole_traces_and_the_others_are_counted(
    monkeypatch: pytest.MonkeyPatch, ratio: float
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "90")
    exporter = SlowExporter()
    traces = Traces((exporter,), Sampling(ratio), Random(3))
    kept = sum(put(traces, number) for number in range(1_000))
    assert kept == 30
    assert traces.dropped == 970
    exporter.go.set()
    assert traces.stop(60)
    spans = exporter.get_finished_spans()
    assert len(spans) == 3 * kept
    assert sum(span.parent is None for span in spans) == kept
    assert traces.dropped == 970


def test_traces_that_the_collector_refuses_are_counted_once() -> None:
    traces = Traces((RefusingExporter(), InMemorySpanExporter()), Sampling(0.0), Random(3))
    assert sum(put(traces, number) for number in range(700)) == 700
    assert traces.stop(60)
    assert traces.dropped == 700
