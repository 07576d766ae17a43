"""Which traces are kept."""

from __future__ import annotations

from random import Random

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from kpolicy.telemetry import limits
from kpolicy.telemetry.attempt import TraceContext
from kpolicy.telemetry.traces import Allowance, Sampling, Traces, sampling_of

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
    assert allowance.refused == 2


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
    traces = Traces((InMemorySpanExporter(),), Sampling(), Random(3))
    contexts = [begun(traces) for _ in range(10_000)]
    routine = sum(context.sampled for context in contexts)
    unsampled = next(context for context in contexts if not context.sampled)
    kept = (traces.keeps(unsampled, failed=True, slow=False, now_ns=0) for _ in range(10_000))
    failures = sum(kept)
    assert routine == limits.TRACES_PER_SECOND
    assert failures == limits.KEPT_TRACES_PER_SECOND
    assert traces.dropped == 20_000 - routine - failures
    assert traces.stop()
