"""Watched ConfigMaps of an embedded control plane, for tests: the client, and the task group of the
watches.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from kpolicy.clock import Heartbeats, SystemClock
from kpolicy.cluster.api import ApiClient
from kpolicy.engine import Engine
from kpolicy.scheduler.delivery.config_maps import ConfigMapWatches
from kpolicy.scheduler.runtime import Tasks
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.runtimes import runtime_of
from tests.unit.scheduler.world import connection


@asynccontextmanager
async def watching(control_plane: ControlPlane) -> AsyncIterator[ConfigMapWatches]:
    clock = SystemClock()
    async with (
        ApiClient(connection(control_plane.url), clock) as client,
        asyncio.TaskGroup() as group,
    ):
        tasks = Tasks(group, Heartbeats(clock), runtime_of(Engine(), clock).vitals)
        watches = ConfigMapWatches(client, clock, Random(1), tasks, patience=None)
        yield watches
        watches.keep(())
