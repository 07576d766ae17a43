"""A scheduler over the embedded control plane, with an engine that can be let fail, for tests.

Time and sockets are real: a test waits for conditions.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from kpolicy.cluster.auth.connection import Connection, FixedAuthorization
from kpolicy.plugins.loading import PluginClass, plugin_class
from kpolicy.policy.compile import Compiled, compile_policy
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.policy_delivery import Policies
from kpolicy.scheduler.delivery.sources import FixedSource, PolicySource
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.problem_codes import Problem
from kpolicy.scheduler.process import Environment, Scheduler
from kpolicy.telemetry.traces import Traces
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.faulty_engine import FaultyEngine

WAIT_S = 60.0
QUIET = Options(port=0, leader_elect=False, seed=1)
POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {{name: of-a-test}}
spec:
  profiles: {profiles}
  base: none
  predicates:{rules}
"""


def policy(*rules: str, profiles: Sequence[str] = ("kpolicy",)) -> Source:
    """Filters by resources and by these built-ins."""
    served = json.dumps([{"schedulerName": profile} for profile in profiles])
    names = "".join(f"\n    - builtin: {rule}" for rule in ("NodeResourcesFit", *rules))
    return Source("policy.yaml", POLICY.format(profiles=served, rules=names))


@dataclass(slots=True)
class World:
    control_plane: ControlPlane
    engine: FaultyEngine
    scheduler: Scheduler
    task: asyncio.Task[Problem | None]

    def pods(self) -> dict[str, Mapping[str, Any]]:
        return {pod["metadata"]["name"]: pod for pod in self.control_plane.objects("Pod")}

    def placed(self) -> dict[str, str]:
        return {
            name: pod["spec"]["nodeName"]
            for name, pod in self.pods().items()
            if pod["spec"].get("nodeName")
        }

    def events(self, reason: str) -> list[Mapping[str, Any]]:
        return [e for e in self.control_plane.objects("Event") if e["reason"] == reason]

    async def until(self, true: Callable[[], bool], what: str = "it") -> None:
        async with asyncio.timeout(WAIT_S):
            while not true():
                if self.task.done():
                    raise AssertionError(f"the scheduler ended: {self.task.result()}")
                await asyncio.sleep(0.005)
        assert true(), what

    async def stop(self) -> Problem | None:
        self.scheduler.stop()
        return await asyncio.wait_for(self.task, WAIT_S)


def connection(url: str, token: str = "") -> Connection:
    return Connection(
        server=url,
        authorization=FixedAuthorization(f"Bearer {token}" if token else ""),
        namespace="default",
        user="test",
        source="a test",
    )


@asynccontextmanager
async def running(
    control_plane: ControlPlane,
    *,
    engine: FaultyEngine | None = None,
    options: Options = QUIET,
    source: PolicySource | None = None,
    traces: Traces | None = None,
    compile_with: Callable[..., Compiled] = compile_policy,
    ready: bool = True,
    plugins: Sequence[type] = (),
) -> AsyncIterator[World]:
    engine = engine or FaultyEngine()
    scheduler = Scheduler(
        connection(control_plane.url),
        Policies(source or FixedSource([policy()])),
        options,
        environment=Environment(
            traces=traces or Traces(),
            engine=engine,
            compile_with=compile_with,
            plugins=[plugin_of(kind) for kind in plugins],
        ),
    )
    world = World(control_plane, engine, scheduler, asyncio.create_task(scheduler.run()))
    try:
        if ready:
            await world.until(lambda: scheduler.ready)
        yield world
        if not world.task.done():
            assert await world.stop() is None
    finally:
        world.task.cancel()
        await asyncio.gather(world.task, return_exceptions=True)


def plugin_of(kind: type) -> PluginClass:
    found = plugin_class(kind)
    assert isinstance(found, PluginClass), found
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def on_port(port: int) -> Options:
    return replace(QUIET, port=port)
