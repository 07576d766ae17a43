"""Params from ConfigMaps of the cluster: read with the policies; problems are reported."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kpolicy.clock import SystemClock
from kpolicy.cluster.watch.informer import Informer
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.config_maps import HeldConfigMap
from kpolicy.scheduler.delivery.sources import FixedSource, WithConfigMaps
from kpolicy.scheduler.options import ConfigMapName
from kpolicy.scheduler.problem_codes import Problem
from kpolicy.testing.apiserver.api_calls import FaultRule, RequestFault, ScriptedFaults
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.policy.policies import policy, profile
from tests.unit.scheduler.delivery.watched_config_maps import watching
from tests.unit.scheduler.world import WAIT_S

TEXT = policy(
    """
params: {most: {type: int, default: 4}}
paramsFrom: [{configMap: {namespace: kube-system, name: numbers}}]
predicates: [{name: a, expression: pod.priority < params.most}]
"""
)


def config_map(most: str) -> dict[str, object]:
    metadata = {"name": "numbers", "namespace": "kube-system"}
    data = {"most": most, "also.yaml": "kind: none"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@asynccontextmanager
async def with_config_maps(
    control_plane: ControlPlane, *sources: Source
) -> AsyncIterator[WithConfigMaps]:
    clock = SystemClock()
    async with watching(control_plane) as watches:
        yield WithConfigMaps(FixedSource(sources), watches, clock)


async def read(control_plane: ControlPlane, *sources: Source) -> tuple[Source, ...] | Problem:
    async with with_config_maps(control_plane, *sources) as source:
        return await source.read()


def priority_below(sources: tuple[Source, ...] | Problem) -> object:
    assert not isinstance(sources, Problem), sources
    compiled = compile_policy(sources)
    assert compiled.diagnostics == ()
    return profile(compiled)["filters"][0]["expression"]["constants"]


def literal(most: int) -> object:
    sources = (Source("p.yaml", TEXT.replace("numbers}", "numbers, optional: true}")),)
    compiled = compile_policy(sources, params={"most": most})
    return profile(compiled)["filters"][0]["expression"]["constants"]


async def test_a_config_map_of_the_cluster_gives_values() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(config_map("7"))
        sources = await read(control_plane, Source("p.yaml", TEXT))
    assert priority_below(sources) == literal(7) != literal(4)


async def test_a_manifest_among_the_files_comes_before_the_cluster() -> None:
    async with ControlPlane() as control_plane:
        control_plane.add(config_map("7"))
        beside = Source("map.json", json.dumps(config_map("5")), is_named=False)
        sources = await read(control_plane, Source("p.yaml", TEXT), beside)
    assert isinstance(sources, tuple)
    assert len(sources) == 2


async def test_one_that_is_not_there_is_for_the_compiler_to_tell() -> None:
    async with ControlPlane() as control_plane:
        sources = await read(control_plane, Source("p.yaml", TEXT))
    assert isinstance(sources, tuple)
    assert [diagnostic.code for diagnostic in compile_policy(sources).diagnostics] == ["KP123"]


async def test_one_that_must_not_be_read_keeps_the_policy_out() -> None:
    rule = FaultRule(RequestFault(status=403), resource="configmaps")
    async with ControlPlane(faults=ScriptedFaults([rule])) as control_plane:
        control_plane.add(config_map("7"))
        problem = await read(control_plane, Source("p.yaml", TEXT))
    assert isinstance(problem, Problem)
    assert problem.code == "KPS101"
    assert "takes params from the ConfigMap kube-system/numbers: cannot list" in problem.message
    assert "RBAC" in problem.hint


async def test_a_change_in_the_cluster_is_reported_and_read() -> None:
    async with (
        ControlPlane() as control_plane,
        with_config_maps(control_plane, Source("p.yaml", TEXT)) as source,
    ):
        before = await source.read()
        changed = asyncio.create_task(source.changed())
        await asyncio.sleep(0)
        assert not changed.done()
        control_plane.add(config_map("6"))
        await asyncio.wait_for(changed, WAIT_S)
        after = await source.read()
    assert isinstance(before, tuple)
    assert len(before) == 1
    assert priority_below(after) == literal(6)


async def test_a_list_that_fails_by_a_mistake_of_ours_is_not_taken_for_one_that_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(_: Informer) -> None:
        raise ZeroDivisionError("a mistake of ours")

    name = ConfigMapName("kube-system", "numbers")
    async with ControlPlane() as control_plane, watching(control_plane) as watches:
        control_plane.add(config_map("7"))
        assert isinstance(await watches.held(name), HeldConfigMap)
        monkeypatch.setattr(Informer, "wait_synced", broken)
        with pytest.raises(ZeroDivisionError, match="a mistake of ours"):
            await watches.held(name)
