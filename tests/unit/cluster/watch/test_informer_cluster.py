"""On the embedded control plane, an informer ends with the right state, whatever goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from kpolicy.cluster.watch.informer import Informer
from kpolicy.cluster.watch.resource import Resource
from kpolicy.testing import ControlPlane, FaultRule, RequestFault, ScriptedFaults, WatchFault, pod
from kpolicy.testing.objects.store import StoreSettings
from tests.manual_clock import ManualClock
from tests.unit.cluster.doubles import client, eventually
from tests.unit.cluster.recording import RecordingSink

PODS = Resource("pods", "/api/v1/pods")


def truth(control_plane: ControlPlane) -> dict[str, str]:
    return {
        each["metadata"]["name"]: each["metadata"]["resourceVersion"]
        for each in control_plane.objects("Pod")
    }


@asynccontextmanager
async def following(
    control_plane: ControlPlane, *, seed: int = 1
) -> AsyncIterator[tuple[RecordingSink, Informer, ManualClock]]:
    clock, sink = ManualClock(), RecordingSink()
    async with client(control_plane.url, clock) as api:
        informer = Informer(api, PODS, sink, clock, Random(seed))
        task = asyncio.create_task(informer.run())
        try:
            yield sink, informer, clock
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_it_follows_a_large_list_and_what_comes_after() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(*(pod(f"p{n}") for n in range(1200)))
        async with following(control_plane) as (sink, informer, _):
            await informer.wait_synced()
            assert sink.objects == truth(control_plane)
            assert len(sink.objects) == 1200
            assert sink.calls.count("page") == 3
            control_plane.add(*(pod(f"q{n}") for n in range(100)))
            await eventually(lambda: sink.objects == truth(control_plane))
            assert informer.statistics().lists == 1


async def test_on_request_it_lists_again_and_goes_on_watching() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(*(pod(f"p{n}") for n in range(20)))
        async with following(control_plane) as (sink, informer, _):
            await informer.wait_synced()
            for lists in (2, 3):
                # Two ask at once: one list serves both.
                async with asyncio.timeout(10):
                    await asyncio.gather(informer.list_anew(), informer.list_anew())
                assert informer.statistics().lists == lists
            assert sum(call.startswith("end") for call in sink.calls) == 3
            control_plane.add(pod("later"))
            await eventually(lambda: sink.objects == truth(control_plane))
            assert (len(sink.objects), informer.statistics().failures) == (21, 0)


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_breaks_it_ends_with_the_truth(seed: int) -> None:
    chance = Random(seed)
    breaks = [WatchFault.CLOSE, WatchFault.BREAK, WatchFault.DUPLICATE]
    async with ControlPlane(store=StoreSettings(seed)) as control_plane:
        control_plane.add(*(pod(f"p{n}") for n in range(50)))
        async with following(control_plane, seed=seed) as (
            sink,
            informer,
            clock,
        ):
            for number in range(30):
                rules: list[FaultRule] = [FaultRule(chance.choice(breaks), times=1)]
                if chance.random() < 0.3:
                    fault = RequestFault(status=chance.choice([429, 500, 503]))
                    rules.append(FaultRule(fault, times=2))
                control_plane.faults = ScriptedFaults(rules)
                control_plane.add(pod(f"n{number}"))
                if chance.random() < 0.2:
                    control_plane.cut_connections()
                for _ in range(20):
                    await asyncio.sleep(0)
                await clock.jump()
            control_plane.faults = None
            for _ in range(100):
                if sink.objects == truth(control_plane):
                    break
                for _ in range(200):
                    await asyncio.sleep(0)
                await clock.jump()
            assert sink.objects == truth(control_plane)
            assert len(sink.objects) == 80
            assert informer.statistics().reconnects > 5


async def test_events_outlived_by_the_history_cost_a_list_not_the_truth() -> None:
    async with ControlPlane(store=StoreSettings(history_changes_max=10)) as control_plane:
        control_plane.add(pod("a"), pod("b"))
        async with following(control_plane) as (sink, informer, clock):
            await informer.wait_synced()
            await eventually(lambda: control_plane.watches == 1)
            control_plane.faults = ScriptedFaults(
                [FaultRule(RequestFault(status=503), verb="watch", times=2)]
            )
            control_plane.cut_connections()
            control_plane.add(*(pod(f"n{n}") for n in range(50)))
            for _ in range(6):
                await eventually(lambda: clock.sleepers == 1)
                if control_plane.watches == 1:
                    break
                await clock.jump()
            await eventually(lambda: sink.objects == truth(control_plane))
            assert informer.statistics().relists == 1
