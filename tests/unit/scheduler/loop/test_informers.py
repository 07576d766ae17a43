"""After a change to a policy that reads less, fewer resources are watched, and the engine forgets
the others.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.connection_problem import ConnectionProblem, problem
from kpolicy.cluster.probe import NOT_SERVED, Patience
from kpolicy.cluster.watch.informer import Informer
from kpolicy.cluster.watch.resource import Resource
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop import informers as informers_module
from kpolicy.scheduler.loop.watched_resources import RESOURCES
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


async def test_what_a_newer_api_server_has_is_watched_there_after_the_next_load(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """First it lacks the resource, then it has an older version, then the newest."""
    older = "/apis/resource.k8s.io/v1beta2/devicetaintrules"
    has: list[str] = []

    async def found(
        api: ApiClient, resource: Resource, *, patience: Patience | None = None
    ) -> Resource | ConnectionProblem:
        if resource.name != "devicetaintrules":
            return resource
        return replace(resource, path=has[-1]) if has else problem(NOT_SERVED, "not served")

    monkeypatch.setattr(informers_module, "served", found)
    async with ControlPlane() as control_plane, running(control_plane, DEFAULT) as (scheduler, _):
        assert scheduler._parts is not None
        informers = scheduler._parts.informers
        assert "devicetaintrules" not in informers._running
        for path in (older, RESOURCES["devicetaintrules"].path):
            has.append(path)
            monkeypatch.setattr(limits, "ADDED_RESOURCE_SYNC_S", 0.1)
            await informers.ensure(sorted(READ_BY_DEFAULT), [])
            informer, _ = informers._running["devicetaintrules"]
            assert informer._resource.path == path


async def test_where_one_resource_cannot_be_asked_for_the_others_are_started_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last one that is asked for fails, after the others were found."""
    last = next(name for name in reversed(RESOURCES) if name in READ_BY_DEFAULT - READ_BY_FEW)
    is_down = True

    async def found(
        api: ApiClient, resource: Resource, *, patience: Patience | None = None
    ) -> Resource | ConnectionProblem:
        return problem("KPC201", "no answer") if resource.name == last and is_down else resource

    async with ControlPlane() as control_plane, running(control_plane, FEW) as (scheduler, _):
        assert scheduler._parts is not None
        informers = scheduler._parts.informers
        monkeypatch.setattr(informers_module, "served", found)
        assert await informers.ensure(sorted(READ_BY_DEFAULT), []) is not None
        assert informers._running.keys() == READ_BY_FEW
        is_down = False
        assert await informers.ensure(sorted(READ_BY_DEFAULT), []) is None
        assert informers._running.keys() == READ_BY_DEFAULT


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
