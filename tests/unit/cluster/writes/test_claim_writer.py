"""Claims on devices are allocated step by step, and each step holds by itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from kpolicy.cluster.api import MERGE_PATCH
from kpolicy.cluster.writes.claim_state import ClaimChange, ClaimUser
from kpolicy.cluster.writes.claim_writer import (
    FINALIZER,
    ClaimNotWritten,
    ClaimWriter,
    ClaimWritten,
)
from kpolicy.testing import ControlPlane, Drop, FaultRule, RequestFault, ScriptedFaults
from tests.unit.cluster.doubles import ImpatientClock, client

STATUS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c/status"
USER = ClaimUser("default", "p", "u-p")
OWN = {"resource": "pods", "name": "p", "uid": "u-p"}
OTHER = {"resource": "pods", "name": "q", "uid": "u-q"}
DEVICE = {"request": "r", "driver": "d", "pool": "n1", "device": "gpu-0"}
SHARE = {**DEVICE, "shareID": "*", "consumedCapacity": {"memory": "1Gi"}}
ALLOCATION = {"devices": {"results": [DEVICE]}}


def claim(**status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r"}]}},
        "status": status,
    }


@dataclass
class Cluster:
    control_plane: ControlPlane
    writer: ClaimWriter

    def read(self) -> Mapping[str, Any]:
        (only,) = self.control_plane.objects("ResourceClaim")
        return only

    def change(self, allocation: dict[str, Any] | None = ALLOCATION) -> ClaimChange:
        return ClaimChange("c", self.read()["metadata"]["uid"], allocation, [], [])


async def ignore(_: dict[str, Any]) -> None:
    pass


@asynccontextmanager
async def cluster_with(
    *objects: dict[str, Any],
    fence: Callable[[], bool] = lambda: True,
    on_answer: Callable[[dict[str, Any]], Awaitable[None]] = ignore,
) -> AsyncIterator[Cluster]:
    async with ControlPlane() as control_plane:
        control_plane.add(*objects)
        clock = ImpatientClock()
        async with client(control_plane.url, clock) as api:
            for each in objects:
                body = json.dumps({"status": each["status"]}).encode()
                await api.request("PATCH", STATUS, {}, body, content_type=MERGE_PATCH)
            yield Cluster(
                control_plane, ClaimWriter(api, clock, fence, random=Random(1), on_answer=on_answer)
            )


def held(read: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    status = read.get("status") or {}
    allocation = dict(status.get("allocation") or {})
    allocation.pop("allocationTimestamp", None)
    return read["metadata"].get("finalizers"), allocation, status.get("reservedFor")


async def test_a_claim_is_allocated_and_reserved() -> None:
    async with cluster_with(claim()) as cluster:
        assert isinstance(await cluster.writer.write(USER, cluster.change()), ClaimWritten)
        assert held(cluster.read()) == ([FINALIZER], ALLOCATION, [OWN])
        assert cluster.read()["status"]["allocation"]["allocationTimestamp"]


async def test_an_allocated_claim_is_reserved_once_more() -> None:
    async with cluster_with(claim(allocation=ALLOCATION, reservedFor=[OTHER])) as cluster:
        for _ in range(2):
            written = await cluster.writer.write(USER, cluster.change(None))
            assert isinstance(written, ClaimWritten)
            assert held(cluster.read())[1:] == (ALLOCATION, [OTHER, OWN])


async def test_each_share_gets_an_id() -> None:
    async with cluster_with(claim()) as cluster:
        shares = {"devices": {"results": [SHARE, SHARE]}}
        await cluster.writer.write(USER, cluster.change(shares))
        results = cluster.read()["status"]["allocation"]["devices"]["results"]
        assert len({result["shareID"] for result in results} - {"*"}) == 2


@pytest.mark.parametrize("times", [1, 2])
async def test_a_lost_answer_is_no_second_allocation(times: int) -> None:
    async with cluster_with(claim()) as cluster:
        fault = RequestFault(drop=Drop.AFTER_COMMIT)
        rule = FaultRule(fault, verb="patch", times=times)
        cluster.control_plane.faults = ScriptedFaults([rule])
        assert isinstance(await cluster.writer.write(USER, cluster.change()), ClaimWritten)
        assert held(cluster.read()) == ([FINALIZER], ALLOCATION, [OWN])


async def test_a_claim_of_another_is_left_alone() -> None:
    async with cluster_with(claim(allocation=ALLOCATION, reservedFor=[OTHER])) as cluster:
        outcome = await cluster.writer.write(USER, cluster.change())
        text = "claim default/c got allocated elsewhere in the meantime"
        assert outcome == ClaimNotWritten(text)
        assert held(cluster.read())[2] == [OTHER]


async def test_nothing_is_sent_by_one_who_does_not_lead() -> None:
    async with cluster_with(claim(), fence=lambda: False) as cluster:
        outcome = await cluster.writer.write(USER, cluster.change())
        assert outcome == ClaimNotWritten("", is_fenced=True)
        assert held(cluster.read()) == (None, {}, None)


async def test_devices_are_waited_for() -> None:
    device = {**DEVICE, "bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
    allocation = {
        "devices": {"results": [device]},
        "allocationTimestamp": "1970-01-01T00:00:00Z",
    }
    for kind, want in {
        "ready": "",
        "failed": 'claim c binding failed: reason=Broken, message="it \\"is\\" hot"',
        "other": "claim c binding timeout",
    }.items():
        why = {"reason": "Broken", "message": 'it "is" hot'}
        conditions = [{"type": kind, "status": "True", **why}]
        reported = {"driver": "d", "pool": "n1", "device": "gpu-0", "conditions": conditions}
        async with cluster_with(claim(allocation=allocation, devices=[reported])) as cluster:
            assert await cluster.writer.ready(USER, "c", 600) == want


def allocated(*users: dict[str, str]) -> dict[str, Any]:
    return claim(allocation=ALLOCATION, reservedFor=list(users))


async def test_a_claim_is_taken_back_and_stays_allocated() -> None:
    for users, left in (([OWN, OTHER], [OTHER]), ([OWN], None), ([OTHER], [OTHER])):
        async with cluster_with(allocated(*users)) as cluster:
            await cluster.writer.take_back(USER, "c")
            assert held(cluster.read())[1:] == (ALLOCATION, left)


async def test_a_claim_is_taken_back_after_lost_answers() -> None:
    async with cluster_with(allocated(OWN)) as cluster:
        lost = (Drop.BEFORE_COMMIT, Drop.AFTER_COMMIT)
        faults = [FaultRule(RequestFault(drop=drop), times=2) for drop in lost]
        cluster.control_plane.faults = ScriptedFaults(faults)
        await cluster.writer.take_back(USER, "c")
        assert held(cluster.read())[1:] == (ALLOCATION, None)


async def test_an_allocation_that_nobody_else_uses_is_given_up() -> None:
    for users, is_given_up in (([], True), ([OWN], True), ([OTHER], False), ([OWN, OTHER], False)):
        async with cluster_with(allocated(*users)) as cluster:
            uid = cluster.read()["metadata"]["uid"]
            outcome = await cluster.writer.give_up(USER, "c", uid, to_delete=False)
            assert isinstance(outcome, ClaimWritten) == is_given_up
            assert held(cluster.read())[1] == ({} if is_given_up else ALLOCATION)


async def test_a_claim_that_was_made_for_the_pod_is_deleted() -> None:
    made = allocated(OWN)
    made["metadata"]["finalizers"] = [FINALIZER]
    async with cluster_with(made) as cluster:
        outcome = await cluster.writer.give_up(USER, "c", "another", to_delete=True)
        assert isinstance(outcome, ClaimNotWritten)
        uid = cluster.read()["metadata"]["uid"]
        await cluster.writer.give_up(USER, "c", uid, to_delete=True)
        assert list(cluster.control_plane.objects("ResourceClaim")) == []


async def test_what_the_api_server_answers_is_passed_on() -> None:
    answers: list[Any] = []

    async def keep(answered: dict[str, Any]) -> None:
        answers.append(held(answered)[:2])

    async with cluster_with(claim(), on_answer=keep) as cluster:
        await cluster.writer.write(USER, cluster.change())
        assert answers == [(None, {}), ([FINALIZER], {}), ([FINALIZER], ALLOCATION)]


async def test_after_a_lost_answer_other_devices_are_not_taken_for_ours() -> None:
    async with cluster_with(allocated(OWN)) as cluster:
        other = {"devices": {"results": [{**DEVICE, "device": "gpu-1"}]}}
        outcome = await cluster.writer.write(USER, cluster.change(other))
        assert isinstance(outcome, ClaimNotWritten)
