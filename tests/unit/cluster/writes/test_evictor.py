"""Every eviction has exactly one outcome, and deletes only this very pod."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.api import MERGE_PATCH, ApiClient
from kpolicy.cluster.limits import (
    EVICT_SENDS_IN_DOUBT_MAX,
    EVICT_TRIES_MAX,
    UNANSWERED_IN_DOUBT_S,
)
from kpolicy.cluster.writes.evictor import (
    AlreadyGone,
    AlreadyLeaving,
    Evicted,
    Eviction,
    EvictionFenced,
    Evictor,
    NotEvicted,
    is_of_another,
)
from kpolicy.testing import (
    ControlPlane,
    Drop,
    FaultRule,
    RequestFault,
    ScriptedFaults,
    WatchFault,
    node,
    pod,
)
from kpolicy.testing.apiserver.api_calls import Call
from kpolicy.testing.objects.resource_types import PODS
from tests.unit.cluster.doubles import ImpatientClock, client

MESSAGE = "kpolicy: preempting to accommodate a higher priority pod"


@dataclass
class Cluster:
    control_plane: ControlPlane
    evictor: Evictor
    api: ApiClient
    clock: ImpatientClock

    def pods(self) -> dict[str, Mapping[str, Any]]:
        return {pod["metadata"]["name"]: pod for pod in self.control_plane.objects("Pod")}

    def eviction(self, name: str = "a") -> Eviction:
        metadata = self.pods()[name]["metadata"]
        return Eviction("default", name, metadata["uid"], MESSAGE, metadata["generation"])

    def faults(self, *faults: FaultRule) -> None:
        self.control_plane.faults = ScriptedFaults(faults)

    def writes(self) -> list[tuple[str, int]]:
        return [
            (entry.verb, entry.code)
            for entry in self.control_plane.audit()
            if entry.verb in {"patch", "delete"}
        ]


class Recreating:
    """Before the deletion is looked at, the pod goes and another of its name comes."""

    def __init__(self, cluster: Cluster) -> None:
        self._store = cluster.control_plane.store
        self._cluster = cluster

    def on_request(self, call: Call) -> RequestFault | None:
        if call.verb == "delete":
            self._store.remove(PODS, "default", "a")
            self._cluster.control_plane.add(pod("a", node_name="n1"))
        return None

    def on_watch_event(self, call: Call) -> WatchFault:
        return WatchFault.NONE


@asynccontextmanager
async def cluster_with(fence: Callable[[], bool] = lambda: True) -> AsyncIterator[Cluster]:
    async with ControlPlane(kubelet=None) as control_plane:
        control_plane.add(node("n1"), pod("a", node_name="n1"))
        clock = ImpatientClock()
        async with client(control_plane.url, clock) as api:
            yield Cluster(control_plane, Evictor(api, clock, fence), api, clock)


def deletes(fault: RequestFault, times: int | None = 1) -> FaultRule:
    return FaultRule(fault, verb="delete", resource="pods", times=times)


def patches(fault: RequestFault, times: int | None = 1) -> FaultRule:
    return FaultRule(fault, verb="patch", subresource="status", times=times)


async def test_the_pod_says_why_before_it_ends() -> None:
    async with cluster_with() as cluster:
        assert await cluster.evictor.evict(cluster.eviction()) == Evicted()
        left = cluster.pods()["a"]
        assert left["metadata"]["deletionTimestamp"], "the victim has its own grace period"
        (condition,) = [
            condition
            for condition in left["status"]["conditions"]
            if condition["type"] == "DisruptionTarget"
        ]
        assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")
        assert condition["message"] == MESSAGE
        assert condition["lastTransitionTime"]
        assert condition["observedGeneration"] == 1
        assert [verb for verb, _ in cluster.writes()] == ["patch", "delete"]


async def test_the_generation_that_it_observed_is_that_of_the_pod() -> None:
    async with cluster_with() as cluster:
        path = "/api/v1/namespaces/default/pods/a"
        spec = json.dumps({"spec": {"tolerations": [{"key": "x", "operator": "Exists"}]}})
        await cluster.api.request("PATCH", path, body=spec.encode(), content_type=MERGE_PATCH)
        assert await cluster.evictor.evict(cluster.eviction()) == Evicted()
        condition = cluster.pods()["a"]["status"]["conditions"][-1]
        assert (condition["type"], condition["observedGeneration"]) == ("DisruptionTarget", 2)
        assert [verb for verb, _ in cluster.writes()][1:] == ["patch", "delete"]


async def test_one_that_ends_already_is_not_deleted_again() -> None:
    async with cluster_with() as cluster:
        eviction = cluster.eviction()
        assert await cluster.evictor.evict(eviction) == Evicted()
        assert await cluster.evictor.evict(eviction) == AlreadyLeaving()
        assert [verb for verb, _ in cluster.writes()] == ["patch", "delete", "patch"]


async def test_a_pod_of_the_same_name_is_left_alone() -> None:
    async with cluster_with() as cluster:
        other = Eviction("default", "a", "another-uid", MESSAGE)
        assert await cluster.evictor.evict(other) == AlreadyGone()
        assert "deletionTimestamp" not in cluster.pods()["a"]["metadata"]
        assert "DisruptionTarget" not in str(cluster.pods()["a"])
        assert [verb for verb, _ in cluster.writes()] == ["patch"]


async def test_a_pod_recreated_between_the_two_writes_is_left_alone() -> None:
    async with cluster_with() as cluster:
        eviction = cluster.eviction()
        cluster.control_plane.faults = Recreating(cluster)
        assert await cluster.evictor.evict(eviction) == AlreadyGone()
        assert cluster.pods()["a"]["metadata"]["uid"] != eviction.uid
        assert "deletionTimestamp" not in cluster.pods()["a"]["metadata"]


async def test_one_that_is_not_there_is_gone() -> None:
    async with cluster_with() as cluster:
        assert (
            await cluster.evictor.evict(Eviction("default", "nobody", "u", MESSAGE))
            == AlreadyGone()
        )


@pytest.mark.parametrize(
    "fault",
    [
        RequestFault(drop=Drop.BEFORE_COMMIT),
        RequestFault(drop=Drop.AFTER_COMMIT),
        RequestFault(status=429),
        RequestFault(status=500),
        RequestFault(status=503, retry_after_s=2),
        RequestFault(status=409),
    ],
    ids=["lost", "answer lost", "429", "500", "503", "409"],
)
@pytest.mark.parametrize("write", [patches, deletes])
async def test_what_may_pass_is_tried_again_and_twice_is_once(
    fault: RequestFault, write: Callable[[RequestFault, int], FaultRule]
) -> None:
    async with cluster_with() as cluster:
        cluster.faults(write(fault, 2))
        assert await cluster.evictor.evict(cluster.eviction()) == Evicted()
        assert cluster.pods()["a"]["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize(
    ("write", "again_max"), [(patches, 0), (deletes, EVICT_SENDS_IN_DOUBT_MAX)]
)
async def test_it_is_given_up_after_tries(
    write: Callable[[RequestFault, None], FaultRule], again_max: int
) -> None:
    async with cluster_with() as cluster:
        cluster.faults(write(RequestFault(status=500), None))
        outcome = await cluster.evictor.evict(cluster.eviction())
        assert isinstance(outcome, NotEvicted)
        assert outcome.code == 500
        tries = len([code for _, code in cluster.writes() if code == 500])
        assert EVICT_TRIES_MAX + bool(again_max) <= tries <= EVICT_TRIES_MAX + again_max
        assert "deletionTimestamp" not in cluster.pods()["a"]["metadata"]


class LateDeletion:
    """Deletions are lost on their way; the first comes through after all, when the pod is read for
    the last time but one: long after the last was sent."""

    def __init__(self, cluster: Cluster, clock: ImpatientClock, late_s: float) -> None:
        self._cluster, self._clock, self._late_s = cluster, clock, late_s
        self._sent_ns: int | None = None

    def on_request(self, call: Call) -> RequestFault | None:
        if call.verb == "delete":
            self._sent_ns = self._clock.monotonic_ns()
            return RequestFault(drop=Drop.BEFORE_COMMIT)
        if call.verb == "get" and self._sent_ns is not None:
            since_s = (self._clock.monotonic_ns() - self._sent_ns) / NANOSECONDS
            if since_s > self._late_s and "a" in self._cluster.pods():
                self._cluster.control_plane.store.remove(PODS, "default", "a")
        return None

    def on_watch_event(self, call: Call) -> WatchFault:
        return WatchFault.NONE


async def test_a_deletion_never_answered_is_not_given_up_while_it_may_come_through() -> None:
    async with cluster_with() as cluster:
        cluster.control_plane.faults = LateDeletion(
            cluster, cluster.clock, UNANSWERED_IN_DOUBT_S - 12
        )
        assert await cluster.evictor.evict(cluster.eviction()) == AlreadyGone()


async def test_a_deletion_that_cannot_come_through_any_more_is_given_up() -> None:
    async with cluster_with() as cluster:
        cluster.faults(deletes(RequestFault(drop=Drop.BEFORE_COMMIT), None))
        began_ns = cluster.clock.monotonic_ns()
        outcome = await cluster.evictor.evict(cluster.eviction())
        assert isinstance(outcome, NotEvicted)
        assert (cluster.clock.monotonic_ns() - began_ns) / NANOSECONDS >= UNANSWERED_IN_DOUBT_S


async def test_a_deletion_in_doubt_ends_with_our_leadership() -> None:
    leading = [*[True] * 2 * (1 + EVICT_TRIES_MAX), False]  # each send asks twice
    async with cluster_with(fence=lambda: leading.pop(0)) as cluster:
        cluster.faults(deletes(RequestFault(drop=Drop.BEFORE_COMMIT), None))
        assert await cluster.evictor.evict(cluster.eviction()) == EvictionFenced()
        assert leading == []


@pytest.mark.parametrize("write", [patches, deletes])
@pytest.mark.parametrize("fault", [RequestFault(status=403), RequestFault(status=422)])
async def test_what_is_refused_is_asked_once(
    write: Callable[[RequestFault, None], FaultRule], fault: RequestFault
) -> None:
    async with cluster_with() as cluster:
        cluster.faults(write(fault, None))
        outcome = await cluster.evictor.evict(cluster.eviction())
        assert isinstance(outcome, NotEvicted)
        assert outcome.code == fault.status
        assert len([code for _, code in cluster.writes() if code == fault.status]) == 1
        assert "deletionTimestamp" not in cluster.pods()["a"]["metadata"]


async def test_a_server_that_asks_for_too_much_patience_is_not_waited_for() -> None:
    async with cluster_with() as cluster:
        cluster.faults(deletes(RequestFault(status=429, retry_after_s=30), None))
        outcome = await cluster.evictor.evict(cluster.eviction())
        assert isinstance(outcome, NotEvicted)
        assert outcome.code == 429
        assert [code for _, code in cluster.writes() if code == 429] == [429]


@pytest.mark.parametrize("writes", [0, 1])
async def test_nothing_is_sent_once_we_may_not_lead(writes: int) -> None:
    asked = iter([True] * 2 * writes)  # each send asks twice
    async with cluster_with(lambda: next(asked, False)) as cluster:
        assert await cluster.evictor.evict(cluster.eviction()) == EvictionFenced()
        assert len(cluster.writes()) == writes
        assert "deletionTimestamp" not in cluster.pods()["a"]["metadata"]


def test_answers_are_read() -> None:
    uid = "Precondition failed: UID in precondition: a, UID in object meta: b"
    assert is_of_another(409, uid)
    assert is_of_another(404, 'pods "a" not found')
    assert not is_of_another(409, "the object has been modified")
    assert not is_of_another(403, uid)
    immutable = 'Pod "a" is invalid: metadata.uid: Invalid value: "b": field is immutable'
    assert is_of_another(422, immutable)
    assert not is_of_another(422, 'Pod "a" is invalid: status: Invalid value')
