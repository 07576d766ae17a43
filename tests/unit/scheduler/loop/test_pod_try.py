"""The ids by which a try is known: the same in the log, in its trace and on the pod.

Real decisions and real requests over the embedded control plane; what is read is what a user has:
JSON lines, exported spans, annotations."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from kpolicy.engine import Verdict
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.policy_delivery import Policies
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.scheduler.loop.pod_try import Basis, Placement, PodTry
from kpolicy.scheduler.loop.queued_pod import QueuedPod
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.process import Environment, Scheduler
from kpolicy.telemetry.attempt import Step, TraceContext
from kpolicy.telemetry.limits import SLOW_CALLS_NS, SLOW_CYCLE_NS
from kpolicy.telemetry.logs import JsonFormatter
from kpolicy.telemetry.traces import (
    Sampling,
    Traces,
)
from kpolicy.testing import node, pod
from kpolicy.testing.apiserver.api_calls import FaultRule, RequestFault, ScriptedFaults
from kpolicy.testing.control_plane import ControlPlane
from kpolicy.testing.kubelet import KubeletTimes
from tests.unit.scheduler.faulty_engine import decided
from tests.unit.scheduler.world import connection, free_port

WAIT_S = 60.0
QUICK = KubeletTimes(start_s=0.01, stop_s=0.05)
TEXT = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: shop}
spec: {base: kube-scheduler-default, profiles: [{schedulerName: kpolicy}]}
"""
POLICY = Source("policy.yaml", TEXT)
IDS = {"ts", "level", "msg", "pod", "pod_uid", "policy_hash", "decision_id", "trace_id", "span_id"}


@dataclass
class Reports:
    """What a run gave."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    spans: list[ReadableSpan] = field(default_factory=list)
    pods: dict[str, Any] = field(default_factory=dict)

    def line(self, text: str) -> dict[str, Any]:
        return next(line for line in self.lines if text in line["msg"])

    def roots(self, name: str) -> list[ReadableSpan]:
        found = [
            span
            for span in self.spans
            if span.parent is None and (span.attributes or {})["k8s.pod.name"] == name
        ]
        return sorted(found, key=lambda span: span.start_time or 0)

    def below(self, root: ReadableSpan) -> dict[str, ReadableSpan]:
        assert root.context is not None
        return {
            span.name: span
            for span in self.spans
            if span.context
            and span.context.trace_id == root.context.trace_id
            and span.parent is not None
        }


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """As `kpolicy run --log-format=json --log-level=debug` writes it."""
    stream, ours = io.StringIO(), logging.getLogger("kpolicy")
    handler, before = logging.StreamHandler(stream), ours.level
    handler.setFormatter(JsonFormatter())
    ours.addHandler(handler)
    ours.setLevel(logging.DEBUG)
    yield stream
    ours.removeHandler(handler)
    ours.setLevel(before)


async def reports_of(
    log: io.StringIO,
    control_plane: ControlPlane,
    until: Callable[[set[str]], bool],
    sampling: Sampling | None = None,
    policy: Source = POLICY,
) -> Reports:
    """Run until the names of the pods on nodes are as wanted."""
    exporter = InMemorySpanExporter()
    traces = Traces((exporter,), sampling, Random(3))
    scheduler = Scheduler(
        connection(control_plane.url),
        Policies(FixedSource([policy])),
        Options(port=0, leader_elect=False, seed=1),
        environment=Environment(traces=traces),
    )
    task = asyncio.create_task(scheduler.run())
    async with asyncio.timeout(WAIT_S):
        while True:
            pods = {pod["metadata"]["name"]: pod for pod in control_plane.objects("Pod")}
            placed = {name for name, pod in pods.items() if pod["spec"].get("nodeName")}
            if until(placed):
                break
            assert not task.done(), task.result()
            await asyncio.sleep(0.01)
    scheduler.stop()
    assert await task is None
    assert traces.stop(WAIT_S)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    return Reports(lines, list(exporter.get_finished_spans()), pods)


def ids(span: ReadableSpan) -> tuple[str, str]:
    assert span.context is not None
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"


async def test_lines_of_a_placed_a_parked_and_a_failed_pod_lead_to_their_traces(
    log: io.StringIO,
) -> None:
    refused = FaultRule(
        RequestFault(status=422), verb="create", subresource="binding", name="failed", times=1
    )
    async with ControlPlane(faults=ScriptedFaults([refused])) as control_plane:
        control_plane.add(node("n", cpu="4"))
        control_plane.add(pod("placed", cpu="1"), pod("parked", cpu="9"), pod("failed", cpu="1"))
        found = await reports_of(
            log,
            control_plane,
            lambda placed: placed >= {"placed", "failed"} and "no node for" in log.getvalue(),
        )
    for name, text, node_name in (
        ("placed", "bound default/placed to n", "n"),
        ("parked", "no node for default/parked", None),
        ("failed", "default/failed: binding to n failed: 422", "n"),
    ):
        line, root = found.line(text), found.roots(name)[0]
        assert line.keys() >= IDS, line
        assert (line["trace_id"], line["span_id"]) == ids(root)
        assert (line["pod"], line.get("node")) == (f"default/{name}", node_name)
        assert line["pod_uid"] == found.pods[name]["metadata"]["uid"]
        attributes = root.attributes or {}
        assert line["decision_id"] == attributes["kpolicy.decision.id"]
        assert line["policy_hash"] == attributes["kpolicy.policy.hash"]
        assert attributes["kpolicy.policy.names"] == ("shop", "kube-scheduler-default")
    annotations = found.pods["placed"]["metadata"]["annotations"]
    assert (
        found.line("bound default/placed")["decision_id"] == annotations["kpolicy.dev/decision-id"]
    )


async def test_ids_of_a_trace_that_is_not_kept_are_left_out(log: io.StringIO) -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", cpu="4"), pod("placed"), pod("parked", cpu="9"))
        found = await reports_of(
            log,
            control_plane,
            lambda placed: placed == {"placed"} and "no node for" in log.getvalue(),
            Sampling(0.0),
        )
    assert found.roots("placed") == []
    line = found.line("bound default/placed")
    assert not {"trace_id", "span_id"} & line.keys()
    assert line.keys() >= IDS - {"trace_id", "span_id"}
    # Parked ones are kept whatever the sampler says.
    (root, *_) = found.roots("parked")
    assert found.line("no node for default/parked")["trace_id"] == ids(root)[0]


async def test_making_room_is_in_the_trace_of_the_try_that_asked_for_it(log: io.StringIO) -> None:
    async with ControlPlane(kubelet=QUICK) as control_plane:
        control_plane.add(node("n", cpu="4"))
        control_plane.add(pod("low", cpu="4", node_name="n"), pod("high", cpu="4", priority=9))
        found = await reports_of(log, control_plane, lambda placed: "high" in placed)
    first, *_, last = found.roots("high")
    line = found.line("evicted default/low")
    assert (line["trace_id"], line["span_id"]) == ids(first)
    assert (line["pod"], line["preemptor"], line["node"]) == ("default/low", "default/high", "n")
    assert line.keys() >= IDS
    below = found.below(first)
    assert below.keys() >= {"filter", "make room", "write nomination", "evict"}
    room, evict = below["make room"], below["evict"]
    assert (room.attributes or {})["kpolicy.victims"] == 1
    assert (evict.attributes or {})["k8s.pod.name"] == "low"
    assert room.context is not None
    assert evict.parent is not None
    assert evict.parent.span_id == room.context.span_id
    # Between the two tries it waited in the queue.
    assert [link.context for link in last.links] == [found.roots("high")[-2].context]
    attributes = last.links[0].attributes or {}
    assert attributes["kpolicy.queue.wait_ms"] == (last.attributes or {})["kpolicy.queue.wait_ms"]


async def test_no_time_of_a_bound_pod_is_unexplained(log: io.StringIO) -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", cpu="4"), pod("placed", cpu="1"))
        found = await reports_of(log, control_plane, lambda placed: placed == {"placed"})
    (root,) = found.roots("placed")
    steps = sorted(found.below(root).values(), key=lambda span: span.start_time or 0)
    assert [span.name for span in steps] == ["filter", "score", "reserve", "bind queue", "bind"]
    edges = [root.start_time, *(span.end_time for span in steps)]
    for span, before in zip(steps, edges, strict=False):
        assert span.start_time == before, f"a gap before {span.name}"
    assert root.end_time == steps[-1].end_time


async def test_what_extenders_took_is_in_the_trace_and_their_lines_name_the_pod(
    log: io.StringIO,
) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    asks = TEXT.replace(
        "profiles:",
        f"extenders: [{{urlPrefix: '{nobody}', filterVerb: filter, ignorable: true,"
        " nodeCacheCapable: true}], profiles:",
    )
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", cpu="4"), node("m", cpu="4"), pod("placed", cpu="1"))
        found = await reports_of(
            log,
            control_plane,
            lambda placed: placed == {"placed"},
            policy=Source("policy.yaml", asks),
        )
    (root,) = found.roots("placed")
    line = found.line("is left out")
    assert (line["trace_id"], line["span_id"]) == ids(root)
    assert (line["pod"], line["decision_id"]) == (
        "default/placed",
        (root.attributes or {})["kpolicy.decision.id"],
    )
    steps = sorted(found.below(root).values(), key=lambda span: span.start_time or 0)
    names = [span.name for span in steps]
    assert names[:3] == ["filter for extenders", "extenders", "choice queue"]
    assert names[-3:] == ["reserve", "bind queue", "bind"]
    assert (steps[1].attributes or {})["kpolicy.extenders"] == (nobody,)
    assert root.start_time == steps[0].start_time


async def test_waiting_for_volumes_is_a_step_and_its_failure_is_that_steps() -> None:
    pod_try = PodTry(
        queued().attempt(), "run-1", TraceContext(1, 2, 3, sampled=True), decided_ns=1_100
    )
    pod_try.volumes_ns, pod_try.ended_ns = (1_200, 1_300), 1_300
    decision = decided(Verdict.PLACED, "u", "p", "n", filter_ns=60, score_ns=40)
    placement = Placement(pod_try.pod, decision, 0)
    basis = Basis("sha256:1", "7", 1_000, 0)
    attempt = pod_try.record(placement, basis, "error", "claims are not bound")
    edges = {step.name: (step.started_ns, step.ended_ns, step.failure) for step in attempt.steps}
    assert edges == {
        "filter": (1_000, 1_060, ""),
        "score": (1_060, 1_100, ""),
        "volumes": (1_200, 1_300, "claims are not bound"),
    }
    pod_try.bind_started_ns, pod_try.ended_ns = 1_350, 1_500
    attempt = pod_try.record(placement, basis, "scheduled", "")
    edges = {step.name: (step.started_ns, step.ended_ns, step.failure) for step in attempt.steps}
    assert edges["volumes"] == (1_200, 1_300, "")
    assert edges["bind queue"] == (1_300, 1_350, "")
    assert edges["bind"] == (1_350, 1_500, "")
    assert attempt.steps[-1].span_id == 3


@pytest.mark.parametrize(
    ("what", "is_slow"),
    [
        ({}, False),
        ({"took_ns": SLOW_CYCLE_NS + 1}, True),
        ({"bind_ns": SLOW_CALLS_NS + 1}, True),
        ({"volumes_ns": SLOW_CALLS_NS + 1}, True),
        ({"extenders_ns": SLOW_CALLS_NS + 1}, True),
        ({"bind_ns": SLOW_CALLS_NS // 2, "volumes_ns": SLOW_CALLS_NS // 2 + 1}, True),
        ({"line_ns": 100 * SLOW_CALLS_NS}, False),
    ],
)
def test_an_attempt_is_slow_by_itself_and_not_by_those_before_it(
    what: dict[str, int], is_slow: bool
) -> None:
    """In a burst everybody stands in line; then nothing would be told apart."""
    pod_try = PodTry(
        queued().attempt(), "run-1", TraceContext(1, 2, 3, sampled=False), decided_ns=0
    )
    extenders_ns, volumes_ns = what.get("extenders_ns", 1), what.get("volumes_ns", 1)
    at_ns = 1_000 + what.get("line_ns", 0)
    pod_try.asked.append(Step("filter for extenders", 0, at_ns))
    pod_try.asked.append(Step("extenders", at_ns, at_ns + extenders_ns, is_call=True))
    at_ns += extenders_ns + what.get("line_ns", 0)
    pod_try.volumes_ns = (at_ns, at_ns + volumes_ns)
    pod_try.bind_started_ns = at_ns + volumes_ns + what.get("line_ns", 0)
    pod_try.ended_ns = pod_try.bind_started_ns + what.get("bind_ns", 1)
    took_ns = what.get("took_ns", 100)
    decision = decided(Verdict.PLACED, "u", "p", "n", filter_ns=took_ns - 40, score_ns=40)
    assert decision.took_ns == took_ns
    assert pod_try.is_slow(decision) is is_slow


def queued() -> QueuedPod:
    return QueuedPod("u", "default", "p", 0, "kpolicy", created_ns=0, generation=1, timestamp_ns=0)
