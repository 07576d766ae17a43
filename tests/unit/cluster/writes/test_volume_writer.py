"""Writes to volumes are valid only for the version that was read, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from kpolicy.cluster.writes.volume_writer import (
    BindVolume,
    NotWritten,
    ObjectVersion,
    SelectNode,
    VolumePatch,
    VolumeWriter,
    WriteFenced,
    Written,
)
from kpolicy.testing import ControlPlane, Drop, FaultRule, RequestFault, ScriptedFaults
from tests.unit.cluster.doubles import ImpatientClock, client

SELECTED = "volume.kubernetes.io/selected-node"
MARK = "pv.kubernetes.io/bound-by-controller"
STALE = "0"


def volume(name: str = "pv", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **spec},
        "status": {"phase": "Available"},
    }


def claim(name: str = "data", **annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}},
    }


@dataclass
class Cluster:
    control_plane: ControlPlane
    writer: VolumeWriter

    def read(self, kind: str) -> Mapping[str, Any]:
        (only,) = self.control_plane.objects(kind)
        return only

    def version(self, kind: str) -> ObjectVersion:
        metadata = self.read(kind)["metadata"]
        return ObjectVersion(metadata["name"], metadata["uid"], metadata["resourceVersion"])

    def bind(self) -> BindVolume:
        volume, claim = self.version("PersistentVolume"), self.version("PersistentVolumeClaim")
        return BindVolume(volume, "default", claim, mark=True)

    def select(self) -> SelectNode:
        return SelectNode("default", self.version("PersistentVolumeClaim"), "n1")

    def faults(self, *faults: RequestFault, times: int | None = 1) -> None:
        rules = [FaultRule(fault, verb="patch", times=times) for fault in faults]
        self.control_plane.faults = ScriptedFaults(rules)


@asynccontextmanager
async def cluster_with(
    *objects: dict[str, Any], fence: Callable[[], bool] = lambda: True
) -> AsyncIterator[Cluster]:
    async with ControlPlane() as control_plane:
        control_plane.add(*objects)
        clock = ImpatientClock()
        async with client(control_plane.url, clock) as api:
            yield Cluster(control_plane, VolumeWriter(api, clock, fence))


def bound_pair(cluster: Cluster) -> tuple[str, str, bool]:
    """The claim that the volume names, the node that the claim names, and whether it is marked."""
    reference = cluster.read("PersistentVolume")["spec"].get("claimRef") or {}
    annotations = cluster.read("PersistentVolumeClaim")["metadata"].get("annotations") or {}
    mark = cluster.read("PersistentVolume")["metadata"].get("annotations") or {}
    return reference.get("name", ""), annotations.get(SELECTED, ""), mark.get(MARK) == "yes"


async def test_a_volume_names_its_claim_and_a_claim_its_node() -> None:
    async with cluster_with(volume(), claim(own="kept")) as cluster:
        before = cluster.version("PersistentVolumeClaim")
        bound = await cluster.writer.write(cluster.bind())
        assert bound == Written(cluster.version("PersistentVolume").version)
        assert cluster.read("PersistentVolume")["spec"]["claimRef"] == {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": "default",
            "name": "data",
            "uid": before.uid,
            "resourceVersion": before.version,
        }
        assert await cluster.writer.write(cluster.select()) == Written(
            cluster.version("PersistentVolumeClaim").version
        )
        assert cluster.read("PersistentVolumeClaim")["metadata"]["annotations"]["own"] == "kept"
        assert bound_pair(cluster) == ("data", "n1", True)


def _stale(patch: VolumePatch) -> VolumePatch:
    if isinstance(patch, BindVolume):
        return replace(patch, volume=replace(patch.volume, version=STALE))
    assert isinstance(patch, SelectNode)
    return replace(patch, claim=replace(patch.claim, version=STALE))


def _of_another(patch: VolumePatch) -> VolumePatch:
    if isinstance(patch, BindVolume):
        return replace(patch, volume=replace(patch.volume, uid="another"))
    assert isinstance(patch, SelectNode)
    return replace(patch, claim=replace(patch.claim, uid="another"))


@pytest.mark.parametrize("choose", [Cluster.bind, Cluster.select])
async def test_what_changed_in_nothing_that_matters_is_read_again(
    choose: Callable[[Cluster], VolumePatch],
) -> None:
    async with cluster_with(volume(), claim()) as cluster:
        assert isinstance(await cluster.writer.write(_stale(choose(cluster))), Written)
        assert bound_pair(cluster) != ("", "", False)


@pytest.mark.parametrize("choose", [Cluster.bind, Cluster.select])
async def test_another_object_of_that_name_is_not_touched(
    choose: Callable[[Cluster], VolumePatch],
) -> None:
    async with cluster_with(volume(), claim()) as cluster:
        outcome = await cluster.writer.write(_of_another(choose(cluster)))
        assert isinstance(outcome, NotWritten)
        assert bound_pair(cluster) == ("", "", False)


async def test_a_volume_that_another_claim_took_is_given_up() -> None:
    reference = {"namespace": "default", "name": "other", "uid": "other"}
    async with cluster_with(volume(claimRef=reference), claim()) as cluster:
        outcome = await cluster.writer.write(_stale(cluster.bind()))
        assert isinstance(outcome, NotWritten)
        assert "the object has been modified" in outcome.message
        assert bound_pair(cluster) == ("other", "", False)


async def test_a_claim_that_another_scheduler_sent_elsewhere_is_given_up() -> None:
    async with cluster_with(volume(), claim(**{SELECTED: "n2"})) as cluster:
        outcome = await cluster.writer.write(_stale(cluster.select()))
        assert isinstance(outcome, NotWritten)
        assert bound_pair(cluster) == ("", "n2", False)


@pytest.mark.parametrize("choose", [Cluster.bind, Cluster.select])
@pytest.mark.parametrize(
    "fault",
    [
        RequestFault(drop=Drop.AFTER_COMMIT),
        RequestFault(drop=Drop.BEFORE_COMMIT),
        RequestFault(status=503),
        RequestFault(status=500),
        RequestFault(status=429),
    ],
)
async def test_a_lost_answer_is_found_out(
    choose: Callable[[Cluster], VolumePatch], fault: RequestFault
) -> None:
    async with cluster_with(volume(), claim()) as cluster:
        cluster.faults(fault)
        patch = choose(cluster)
        kind = "PersistentVolume" if isinstance(patch, BindVolume) else "PersistentVolumeClaim"
        assert await cluster.writer.write(patch) == Written(cluster.version(kind).version)


async def test_a_server_that_stays_away_is_given_up() -> None:
    async with cluster_with(volume(), claim()) as cluster:
        cluster.faults(RequestFault(status=503), times=None)
        assert isinstance(await cluster.writer.write(cluster.bind()), NotWritten)


async def test_what_is_forbidden_or_gone_is_not_tried_again() -> None:
    async with cluster_with(volume(), claim()) as cluster:
        cluster.faults(RequestFault(status=403))
        assert isinstance(await cluster.writer.write(cluster.bind()), NotWritten)
        gone = replace(cluster.select(), claim=ObjectVersion("no-such-claim", "u", "1"))
        assert await cluster.writer.write(gone) == NotWritten(
            'persistentvolumeclaims "no-such-claim" not found'
        )
        assert bound_pair(cluster) == ("", "", False)


async def test_nothing_is_sent_behind_the_fence() -> None:
    async with cluster_with(volume(), claim(), fence=lambda: False) as cluster:
        assert await cluster.writer.write(cluster.bind()) == WriteFenced()
        assert bound_pair(cluster) == ("", "", False)
