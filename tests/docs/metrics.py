"""Writes the table of metrics on the page, from a running scheduler with all its parts: `python -m
tests.docs.metrics`.

Names, types, labels and meanings are those that are registered. `test_metrics` compares them with
what a scraper gets.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from tempfile import TemporaryDirectory
from typing import Final

from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.policy_delivery import Policies
from kpolicy.scheduler.delivery.sources import FixedSource
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.process import Scheduler
from kpolicy.telemetry.metrics import Description
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.tree.sources import ROOT
from tests.unit.scheduler.world import connection, free_port

PAGE: Final = ROOT / "docs" / "guides" / "metrics.md"
POLICY: Final = Source(
    "policy.yaml",
    """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: shop}
spec:
  base: kube-scheduler-default
  profiles: [{schedulerName: kpolicy}]
  predicates:
    - {name: on-linux, enforcement: audit, expression: "node.labels['os'] == 'linux'"}
""",
)
# Of kube-scheduler 1.36 and 1.37: those of pkg/scheduler/metrics, of its volume binder, and of the
# libraries that it serves them with, behind feature gates too.
THEIRS: Final = ROOT / "tests" / "docs" / "kube_scheduler_metrics.txt"
PAGES: Final = ("/metrics/slis", "/metrics/resources")
WAIT_S: Final = 60.0
_TABLE: Final = re.compile(r"(?<=<!-- metrics -->\n).*?(?=<!-- end -->)", re.DOTALL)

_LEFT_OUT: Final = re.compile(r"(?<=<!-- left out -->\n).*?(?=<!-- end of left out -->)", re.DOTALL)


@asynccontextmanager
async def running() -> AsyncIterator[Scheduler]:
    """With a lease, a shadow policy and a journal; a pod was placed and another parked."""
    with TemporaryDirectory() as journal:
        async with _running(journal) as scheduler:
            yield scheduler


@asynccontextmanager
async def _running(journal: str) -> AsyncIterator[Scheduler]:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n", cpu="2"), pod("fits", cpu="1"), pod("wide", cpu="9"))
        scheduler = Scheduler(
            connection(control_plane.url),
            Policies(FixedSource([POLICY]), shadow=FixedSource([POLICY])),
            Options(port=free_port(), lease_namespace="default", seed=1, journal=journal),
        )
        task = asyncio.create_task(scheduler.run())
        async with asyncio.timeout(WAIT_S):
            while {event["reason"] for event in control_plane.objects("Event")} < {
                "Scheduled",
                "FailedScheduling",
            }:
                assert not task.done(), task.result()
                await asyncio.sleep(0.01)
        yield scheduler
        scheduler.stop()
        assert await task is None


def table(descriptions: tuple[Description, ...]) -> str:
    lines = ["| metric | type | labels | |", "|---|---|---|---|"]
    for description in descriptions:
        labels = ", ".join(f"`{label}`" for label in description.labels)
        text = description.help.replace("|", "\\|").replace("<", "&lt;")
        lines.append(f"| `{description.name}` | {description.kind} | {labels} | {text} |")
    return "\n".join(lines) + "\n"


async def registered() -> tuple[Description, ...]:
    async with running() as scheduler:
        return scheduler.metrics.registry.descriptions()


def on_page() -> str:
    (found,) = _TABLE.findall(PAGE.read_text("utf-8"))
    return str(found)


def left_out() -> dict[str, str]:
    """The reasons on the page, by name or pattern."""
    (found,) = _LEFT_OUT.findall(PAGE.read_text("utf-8"))
    rows = (line.strip("| ").split(" | ", 1) for line in found.splitlines()[2:])
    return {name.strip("`"): reason for name, reason in rows}


if __name__ == "__main__":
    written = table(asyncio.run(registered()))
    PAGE.write_text(_TABLE.sub(lambda _: written, PAGE.read_text("utf-8")), "utf-8")
    print(written, end="")
