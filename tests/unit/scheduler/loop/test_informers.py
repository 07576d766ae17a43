"""After a change to a policy that reads less, fewer resources are watched, and the engine forgets
the others.
"""

from __future__ import annotations

import json

import pytest

from kpolicy.cluster.watch.informer import Informer
from kpolicy.policy.yaml.source import Source
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.e2e.test_watched_resources import DEFAULT, FEW, READ_BY_DEFAULT, READ_BY_FEW
from tests.unit.scheduler.test_process_real_engine import placed, running


async def test_what_no_policy_reads_is_watched_no_more_and_forgotten() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n1"))
        async with running(control_plane, DEFAULT) as (scheduler, until):
            assert scheduler._parts is not None
            informers = scheduler._parts.informers

            def watched() -> set[str]:
                return {informer.resource for informer in informers.statistics()}

            async def held() -> int:
                return int(json.loads(await scheduler.engine_statistics())["objects"])

            assert watched() == READ_BY_DEFAULT
            before = await held()
            assert before > 0
            assert (await scheduler.reload([Source("few.yaml", FEW)])).result == "loaded"
            await until(lambda: watched() == READ_BY_FEW)
            assert await held() == 0
            control_plane.add(pod("few"))
            await until(lambda: "few" in placed(control_plane))
            assert (await scheduler.reload([Source("default.yaml", DEFAULT)])).result == "loaded"
            assert watched() == READ_BY_DEFAULT
            assert await held() == before
            assert {beat.name for beat in scheduler._heartbeats if "informer" in beat.name} == {
                f"informer-{name}" for name in READ_BY_DEFAULT
            }


async def test_a_policy_that_comes_back_within_a_moment_costs_no_list() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n1"))
        async with running(control_plane, DEFAULT) as (scheduler, until):
            assert scheduler._parts is not None
            informers = scheduler._parts.informers
            for text in (FEW, DEFAULT):
                assert (await scheduler.reload([Source("p.yaml", text)])).result == "loaded"
            await until(lambda: informers._retiring is None)
            assert {informer.resource for informer in informers.statistics()} == READ_BY_DEFAULT
            assert {informer.lists for informer in informers.statistics()} == {1}


async def test_a_list_that_fails_by_a_mistake_of_ours_is_not_taken_for_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(_: Informer) -> None:
        raise ZeroDivisionError("a mistake of ours")

    async with ControlPlane() as control_plane:
        control_plane.add(node("n1"))
        async with running(control_plane, DEFAULT) as (scheduler, _):
            assert scheduler._parts is not None
            monkeypatch.setattr(Informer, "list_anew", broken)
            with pytest.raises(ExceptionGroup) as failed:
                await scheduler._parts.informers.ensure([*READ_BY_DEFAULT], ["pods"])
            assert failed.group_contains(ZeroDivisionError, match="a mistake of ours")
