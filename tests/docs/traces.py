"""Writes the traces on the page about observability: a pod that was placed, a pod that was parked,
and a pod for which another was evicted. `python -m tests.docs.traces` renews the page.

A real scheduler with the real engine runs on the embedded control plane, so durations and ids
differ each time. `shape` is the part that stays the same.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util.types import Attributes

from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.policy_delivery import Policies
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.process import Environment, Scheduler
from kpolicy.telemetry.traces import Traces
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from kpolicy.testing.kubelet import KubeletTimes
from tests.tree.sources import ROOT
from tests.unit.scheduler.world import connection

PAGE: Final = ROOT / "docs" / "guides" / "observability.md"
POLICY: Final = Source(
    "policy.yaml",
    """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata:
  name: shop
spec:
  base: kube-scheduler-default
  profiles:
    - schedulerName: kpolicy
""",
)
_BLOCK: Final = re.compile(r"(?<=<!-- traces -->\n```text\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
_WAIT_S: Final = 40.0
_VARIES: Final = (
    (re.compile(r"\d+\.\d{3} ms"), "- ms"),
    (re.compile(r"(?<=wait_ms: )\d+"), "-"),
    (re.compile(r"(?<=resource_version: )\S+"), "-"),
    (re.compile(r"(?<=k8s.pod.uid: )\S+"), "-"),
    (re.compile(r"(?<=policy.hash: )\S+"), "-"),
    (re.compile(r"(?<=decision.id: )\S+"), "-"),
    (re.compile(r"(?<=decision.time: )\S+"), "-"),
)


async def run() -> str:
    """The two trees."""
    exporter = InMemorySpanExporter()
    traces = Traces((exporter,))
    async with ControlPlane(kubelet=KubeletTimes(start_s=0.01, stop_s=0.05)) as control_plane:
        control_plane.add(node("small-1", cpu="4"), node("small-2", cpu="2"))
        control_plane.add(pod("batch", cpu="3", node_name="small-1"))
        control_plane.add(pod("web", cpu="500m"), pod("report", cpu="16"))
        control_plane.add(pod("urgent", cpu="3500m", priority=1000))
        scheduler = Scheduler(
            connection(control_plane.url),
            Policies(FixedSource([POLICY])),
            Options(port=0, leader_elect=False, seed=1),
            environment=Environment(traces=traces),
        )
        running = asyncio.create_task(scheduler.run())

        def placed_and_told() -> bool:
            assert not running.done(), running.result()
            environment = {
                (event["reason"], event["involvedObject"]["name"])
                for event in control_plane.objects("Event")
            }
            return environment >= {
                ("Scheduled", "web"),
                ("FailedScheduling", "report"),
                ("Scheduled", "urgent"),
            }

        async with asyncio.timeout(_WAIT_S):
            while not placed_and_told():  # noqa: ASYNC110  it tells nobody
                await asyncio.sleep(0.01)
        scheduler.stop()
        problem = await running
        assert problem is None, problem
    assert traces.stop(_WAIT_S)
    spans = exporter.get_finished_spans()
    roots = [span for span in spans if span.parent is None]
    roots.sort(key=lambda span: span.start_time or 0)
    of_pod: dict[str, list[ReadableSpan]] = {}
    for root in roots:
        of_pod.setdefault(str((root.attributes or {})["k8s.pod.name"]), []).append(root)
    shown = (of_pod["web"][0], of_pod["report"][0], of_pod["urgent"][0], of_pod["urgent"][-1])
    return "\n".join("\n".join(tree(root, spans)) for root in shown) + "\n"


def tree(span: ReadableSpan, spans: Sequence[ReadableSpan], depth: int = 0) -> list[str]:
    """A span a line with its duration, its attributes and links below it, its children last."""
    margin = "  " * depth
    lines = [f"{margin}{span.name:<{20 - len(margin)}} {milliseconds(span)}"]
    lines += [f"{margin}    {line}" for line in attributes(span.attributes)]
    for link in span.links:
        lines.append(f"{margin}    link to the attempt before")
        lines += [f"{margin}      {line}" for line in attributes(link.attributes)]
    children = [
        other_span
        for other_span in spans
        if other_span.parent and span.context and other_span.parent.span_id == span.context.span_id
    ]
    for child in sorted(children, key=lambda span: span.start_time or 0):
        lines += tree(child, spans, depth + 1)
    return lines


def attributes(attributes: Attributes) -> list[str]:
    return [f"{key}: {plain(value)}" for key, value in sorted((attributes or {}).items())]


def milliseconds(span: ReadableSpan) -> str:
    assert span.start_time is not None
    assert span.end_time is not None
    return f"{(span.end_time - span.start_time) / 1e6:.3f} ms"


def plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def shape(text: str) -> str:
    for varying, fixed in _VARIES:
        text = varying.sub(fixed, text)
    return re.sub(r" +- ms", " - ms", text)


def on_page() -> str:
    (block,) = _BLOCK.findall(PAGE.read_text("utf-8"))
    return str(block)


if __name__ == "__main__":
    found = asyncio.run(run())
    PAGE.write_text(_BLOCK.sub(lambda _: found, PAGE.read_text("utf-8")), "utf-8")
    print(found, end="")
