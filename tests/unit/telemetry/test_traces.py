"""The spans that reach an exporter."""

from __future__ import annotations

import http.server
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from kpolicy.telemetry import limits
from kpolicy.telemetry.attempt import Attempt, Step, TraceContext
from kpolicy.telemetry.traces import (
    Rates,
    Sampling,
    Traces,
    exporter_names,
    traces_of,
)
from tests import threads

BEGAN = 1_700_000_000_000_000_000
BIND_ID = 0xB1D
FILTER, SCORE = Step("filter", BEGAN, BEGAN + 3000), Step("score", BEGAN + 3000, BEGAN + 5000)
BIND = Step(
    "bind", BEGAN + 10_000, BEGAN + 900_000, {"k8s.node.name": "n1"}, is_call=True, span_id=BIND_ID
)
ATTEMPT = Attempt(
    namespace="ns",
    name="web",
    uid="u-1",
    profile="kpolicy",
    result="scheduled",
    attempts=2,
    wait_ns=5_000_000,
    started_ns=BEGAN,
    ended_ns=BEGAN + 900_000,
    steps=(FILTER, SCORE, BIND),
    node="n1",
    score=42,
    nodes_total=7,
    nodes_feasible=3,
    policies=("shop",),
    policy_hash="sha256:ab",
    snapshot_version="99",
    decided_as_of="2026-01-01T00:00:00Z",
    decision_id="d-1",
)
PARKED = replace(
    ATTEMPT,
    result="unschedulable",
    node="",
    steps=(FILTER,),
    ended_ns=BEGAN + 3000,
    message="0/7 nodes are available",
    rejected_by=("Fit",),
)


def tell(traces: Traces, attempt: Attempt, *, slow: bool = False) -> TraceContext | None:
    """As the reporter does: only what is kept is built."""
    context = traces.begin(BEGAN)
    assert context is not None
    failed = attempt.result != "scheduled"
    if not traces.keeps(context, failed=failed, slow=slow, now_ns=BEGAN):
        return None
    traces.record(attempt, context)
    return context


def recorded(
    *attempts: Attempt, sampling: Sampling | None = None
) -> tuple[list[ReadableSpan], Traces]:
    exporter = InMemorySpanExporter()
    traces = Traces((exporter,), sampling, Random(7), {"service.name": "kpolicy"})
    for attempt in attempts:
        tell(traces, attempt)
    assert traces.stop()
    return list(exporter.get_finished_spans()), traces


def shape(spans: list[ReadableSpan]) -> dict[str, tuple[int, int]]:
    return {
        span.name: ((span.start_time or 0) - BEGAN, (span.end_time or 0) - BEGAN) for span in spans
    }


def test_a_placed_pod_is_one_trace_with_the_times_that_were_taken() -> None:
    spans, _ = recorded(ATTEMPT)
    assert shape(spans) == {
        "schedule pod": (0, 900_000),
        "filter": (0, 3000),
        "score": (3000, 5000),
        "bind": (10_000, 900_000),
    }
    root = next(span for span in spans if span.parent is None)
    assert root.context is not None
    assert {span.context.trace_id for span in spans if span.context} == {root.context.trace_id}
    children = [span.parent.span_id for span in spans if span.parent is not None]
    assert children == [root.context.span_id] * 3
    assert dict(root.attributes or {}) == {
        "k8s.namespace.name": "ns",
        "k8s.pod.name": "web",
        "k8s.pod.uid": "u-1",
        "k8s.node.name": "n1",
        "kpolicy.profile": "kpolicy",
        "kpolicy.result": "scheduled",
        "kpolicy.attempt": 2,
        "kpolicy.queue.wait_ms": 5,
        "kpolicy.policy.names": ("shop",),
        "kpolicy.policy.hash": "sha256:ab",
        "kpolicy.snapshot.resource_version": "99",
        "kpolicy.nodes.total": 7,
        "kpolicy.nodes.feasible": 3,
        "kpolicy.score": 42,
        "kpolicy.decision.id": "d-1",
        "kpolicy.decision.time": "2026-01-01T00:00:00Z",
    }
    (queued,) = root.events
    assert queued.name == "left the queue"
    assert dict(queued.attributes or {}) == {"kpolicy.queue.wait_ms": 5}
    bind = next(span for span in spans if span.name == "bind")
    assert bind.kind is SpanKind.CLIENT
    assert root.resource.attributes["service.name"] == "kpolicy"


def test_a_parked_pod_has_no_bind_and_is_no_error() -> None:
    spans, _ = recorded(PARKED)
    assert set(shape(spans)) == {"schedule pod", "filter"}
    root = next(span for span in spans if span.parent is None)
    assert root.status.status_code is StatusCode.UNSET
    assert root.attributes is not None
    assert root.attributes["kpolicy.message"] == "0/7 nodes are available"
    assert root.attributes["kpolicy.rejected_by"] == ("Fit",)
    assert "k8s.node.name" not in root.attributes


def test_a_failed_bind_is_an_error_on_the_bind_and_the_whole() -> None:
    why = "binding to n1 failed"
    steps = (FILTER, SCORE, replace(BIND, failure=why))
    spans, _ = recorded(replace(ATTEMPT, result="error", message=why, steps=steps))
    status = {span.name: span.status.status_code for span in spans}
    assert status["bind"] is status["schedule pod"] is StatusCode.ERROR
    assert status["filter"] is StatusCode.UNSET


def test_the_ids_told_to_the_api_server_are_those_of_the_spans() -> None:
    exporter = InMemorySpanExporter()
    traces = Traces((exporter,), Sampling(), Random(7))
    context = traces.begin(BEGAN)
    assert context is not None
    bind_step = replace(BIND, span_id=context.bind_id)
    traces.record(replace(ATTEMPT, steps=(FILTER, bind_step)), context)
    assert traces.stop()
    root = next(span for span in exporter.get_finished_spans() if span.parent is None)
    assert root.context is not None
    assert context.fields() == {
        "trace_id": f"{root.context.trace_id:032x}",
        "span_id": f"{root.context.span_id:016x}",
    }
    bind = next(span for span in exporter.get_finished_spans() if span.name == "bind")
    assert bind.context is not None
    assert context.traceparent == f"00-{bind.context.trace_id:032x}-{bind.context.span_id:016x}-01"


def test_failures_and_slow_attempts_are_kept_when_routine_is_not() -> None:
    exporter = InMemorySpanExporter()
    traces = Traces((exporter,), Sampling(0.0), Random(7))
    assert tell(traces, ATTEMPT) is None
    assert tell(traces, replace(ATTEMPT, name="failed", result="error")) is not None
    assert tell(traces, replace(ATTEMPT, name="slow"), slow=True) is not None
    assert tell(traces, replace(PARKED, name="parked")) is not None
    assert traces.stop()
    spans = exporter.get_finished_spans()
    kept = {str((span.attributes or {})["k8s.pod.name"]) for span in spans if span.parent is None}
    assert kept == {"failed", "slow", "parked"}


def test_a_later_attempt_leads_back_to_the_one_before() -> None:
    exporter = InMemorySpanExporter()
    traces = Traces((exporter,), Sampling(), Random(7))
    first = tell(traces, PARKED)
    assert first is not None
    tell(traces, replace(ATTEMPT, previous=first))
    assert traces.stop()
    parked, placed = [span for span in exporter.get_finished_spans() if span.parent is None]
    assert not parked.links
    (link,) = placed.links
    assert parked.context is not None
    assert link.context == parked.context
    assert dict(link.attributes or {}) == {"kpolicy.queue.wait_ms": 5}


def test_what_followed_is_below_the_same_root() -> None:
    exporter = InMemorySpanExporter()
    traces = Traces((exporter,), Sampling(), Random(7))
    context = tell(traces, PARKED)
    assert context is not None
    evict = Step("evict", BEGAN + 2, BEGAN + 3, {"k8s.pod.name": "v"}, is_call=True, failure="no")
    traces.add(Step("make room", BEGAN + 1, BEGAN + 4, children=(evict,)), context)
    assert traces.stop()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert len({span.context.trace_id for span in spans.values() if span.context}) == 1
    parents = {name: span.parent.span_id if span.parent else None for name, span in spans.items()}
    assert parents["make room"] == context.root_id
    room = spans["make room"].context
    assert room is not None
    assert parents["evict"] == room.span_id
    assert spans["evict"].kind is SpanKind.CLIENT
    assert spans["evict"].status.status_code is StatusCode.ERROR
    assert spans["make room"].status.status_code is StatusCode.UNSET


def test_storms_are_cut_to_the_allowance_and_counted() -> None:
    exporter = InMemorySpanExporter()
    traces = Traces((exporter,), Sampling(), Random(7), rates=Rates(sampled=10))
    for _ in range(500):
        tell(traces, ATTEMPT)
    assert traces.stop()
    roots = [span for span in exporter.get_finished_spans() if span.parent is None]
    assert len(roots) == 10
    assert traces.dropped == 490


def test_what_the_sampler_selects_is_kept_as_a_whole_by_default() -> None:
    spans, traces = recorded(*[ATTEMPT] * 3_000, sampling=Sampling())
    assert len(spans) == 3_000 * 4
    assert traces.dropped == 0


def test_a_burst_of_failures_is_kept_although_the_sampler_selects_none() -> None:
    spans, traces = recorded(*[PARKED] * 150, sampling=Sampling(0.0))
    assert len([span for span in spans if span.parent is None]) == 150
    assert traces.dropped == 0


def test_each_trace_that_is_dropped_is_counted_once() -> None:
    """One that both limits turn away, and one that only the first does and that is kept."""
    exporter = InMemorySpanExporter()
    traces = Traces((exporter,), Sampling(), Random(7), rates=Rates(sampled=0, kept=1))
    for _ in range(2 * limits.KEPT_TRACES_BURST_S):
        tell(traces, PARKED)
    assert traces.stop()
    roots = [span for span in exporter.get_finished_spans() if span.parent is None]
    assert len(roots) == limits.KEPT_TRACES_BURST_S
    assert traces.dropped == limits.KEPT_TRACES_BURST_S


def test_the_allowances_are_settings_and_the_one_does_not_take_from_the_other() -> None:
    failed = replace(ATTEMPT, result="error")
    exporter = InMemorySpanExporter()
    traces = Traces((exporter,), Sampling(), Random(7), rates=Rates(sampled=3, kept=2))
    for _ in range(10):
        tell(traces, ATTEMPT)
    for _ in range(1_000):
        tell(traces, failed)
    assert traces.stop()
    roots = [span for span in exporter.get_finished_spans() if span.parent is None]
    results = [(span.attributes or {})["kpolicy.result"] for span in roots]
    assert (results.count("scheduled"), results.count("error")) == (
        3,
        2 * limits.KEPT_TRACES_BURST_S,
    )


def test_without_an_exporter_nothing_of_the_sdk_is_even_imported() -> None:
    code = (
        "import sys; from kpolicy.telemetry.traces import traces_of; from random import Random\n"
        "setup = traces_of({}, '1', Random()); assert not setup.traces.enabled\n"
        "assert setup.traces.begin(1) is None\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert printed.strip() == "[]"


def test_off_calls_nothing_for_a_pod() -> None:
    traces = Traces()
    calls: list[str] = []
    sys.setprofile(lambda frame, event, _: calls.append(f"{event} {frame.f_code.co_name}"))
    try:
        traces.begin(BEGAN)
    finally:
        sys.setprofile(None)
    assert calls[:2] == ["call begin", "return begin"]


@pytest.mark.parametrize(
    ("environ", "names", "problems"),
    [
        ({}, (), 0),
        ({"OTEL_TRACES_EXPORTER": "none"}, (), 0),
        ({"OTEL_TRACES_EXPORTER": "console"}, ("console",), 0),
        ({"OTEL_TRACES_EXPORTER": "otlp,console"}, ("otlp", "console"), 0),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318"}, ("otlp",), 0),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x/v1/traces"}, ("otlp",), 0),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, (), 0),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}, (), 0),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, (), 1),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ("otlp",), 1),
    ],
)
def test_exporters_are_those_the_standard_variables_name(
    environ: Mapping[str, str], names: tuple[str, ...], problems: int
) -> None:
    found, found_problems = exporter_names(environ)
    assert (found, len(found_problems)) == (names, problems)


def test_always_off_is_off() -> None:
    setup = traces_of(
        {"OTEL_TRACES_EXPORTER": "console", "OTEL_TRACES_SAMPLER": "always_off"}, "1", Random()
    )
    assert not setup.traces.enabled


def test_spans_arrive_at_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[tuple[str, bytes]] = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            bodies.append((self.path, body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "POD_NAME": "kpolicy-0"}
        setup = traces_of(environ, "9.9", Random(1))
        assert setup.exporters == ("otlp",)
        tell(setup.traces, ATTEMPT)
        assert setup.traces.stop(5)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    ((path, body),) = bodies
    assert path == "/v1/traces"
    for word in (b"schedule pod", b"k8s.pod.uid", b"kpolicy-0", b"9.9"):
        assert word in body


def test_the_end_does_not_wait_for_a_collector_that_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = threads.alive()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        setup = traces_of({"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, "1", Random())
        tell(setup.traces, ATTEMPT)
        assert not setup.traces.stop(0.5)
        assert "kpolicy-trace-flush" in threads.left_since(before, 0)
        connection, _ = silent.accept()
        with connection:  # an answer that is not asked for again
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            assert threads.left_since(before, 10) == []
