"""Preemption while its API calls take their time: rows P of the catalogue (TestAsyncPreemption,
TestPreemptionRespectsBindingPod) that hold a call up, which only the embedded control plane can.
"""

from __future__ import annotations

import asyncio

import pytest

from kpolicy.clock import SystemClock
from kpolicy.scheduler import limits
from kpolicy.testing import node, pod
from kpolicy.testing.apiserver.api_calls import FaultRule, RequestFault, ScriptedFaults
from tests.unit.scheduler.preemption.test_preemptions import Cluster, full, running_cluster

HELD = RequestFault(delay_s=0.4)


class HoldingClock(SystemClock):
    """Real time for the control plane; requests that are held up wait until `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds == HELD.delay_s:
            await self.go_on.wait()
        else:
            await super().sleep(seconds)


def holding_deletes(cluster: Cluster, name: str = "", times: int | None = 1) -> None:
    rule = FaultRule(HELD, verb="delete", resource="pods", name=name, times=times)
    cluster.control_plane.faults = ScriptedFaults([rule])


def under_way(cluster: Cluster) -> float:
    return cluster.metric("kpolicy_preemptions_under_way")


async def test_the_preemptor_is_not_tried_until_the_calls_are_done() -> None:
    async with running_cluster(*full(1)) as cluster:
        holding_deletes(cluster)
        cluster.control_plane.add(pod("high", cpu="2", priority=9))
        await cluster.until(lambda: under_way(cluster) == 1)
        # A place where it fits as it is: it would go there, were it tried before they are.
        cluster.control_plane.add(node("n2", cpu="4"), pod("plug", cpu="1", priority=9))
        await cluster.until(lambda: cluster.node_of("plug") == "n2")
        await cluster.until(lambda: cluster.node_of("high") != "")
        writes = [(entry.verb, entry.name) for entry in cluster.control_plane.audit()]
        assert writes.index(("delete", "low-0")) < writes.index(("create", "high"))
        assert cluster.deleted() == ["low-0"]


async def test_a_claim_that_is_never_taken_holds_the_pod_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "ROOM_CLAIM_S_MAX", 0.3)
    async with running_cluster(*full(1)) as cluster:
        refused = RequestFault(status=503)
        rule = FaultRule(refused, verb="patch", resource="pods", subresource="status", times=None)
        cluster.control_plane.faults = ScriptedFaults([rule])
        cluster.control_plane.add(pod("high", cpu="2", priority=9))
        await cluster.until(lambda: under_way(cluster) == 1)
        cluster.control_plane.add(node("n2", cpu="4"))
        await cluster.until(lambda: cluster.node_of("high") == "n2")
        assert cluster.deleted() == []


async def test_all_but_the_last_victim_go_side_by_side_and_the_last_one_last() -> None:
    async with running_cluster(*full(4)) as cluster:
        holding_deletes(cluster, times=None)
        cluster.control_plane.add(pod("high", cpu="4", priority=9))
        await cluster.until(lambda: cluster.node_of("high") == "n1")
        writes = [
            (entry.verb, entry.name)
            for entry in cluster.control_plane.audit()
            if entry.name.startswith("low") and entry.verb in {"patch", "delete"}
        ]
        assert [verb for verb, _ in writes] == [*["patch"] * 3, *["delete"] * 3, "patch", "delete"]
        assert len({name for _, name in writes}) == 4


async def test_a_lower_pod_does_not_take_the_place_meanwhile() -> None:
    async with running_cluster(*full(1)) as cluster:
        holding_deletes(cluster)
        cluster.control_plane.add(pod("high", cpu="4", priority=9))
        await cluster.until(lambda: under_way(cluster) == 1)
        cluster.control_plane.add(pod("middle", cpu="4", priority=5))
        await cluster.until(lambda: cluster.node_of("high") == "n1")
        await cluster.until(lambda: cluster.message("middle") != "")
        assert cluster.node_of("middle") == ""
        assert cluster.deleted() == ["low-0"]


async def test_a_higher_pod_takes_the_place_of_one_that_is_preempting() -> None:
    async with running_cluster(*full(1)) as cluster:
        holding_deletes(cluster)
        cluster.control_plane.add(pod("high", cpu="4", priority=9))
        await cluster.until(lambda: under_way(cluster) == 1)
        cluster.control_plane.add(pod("super", cpu="4", priority=99))
        await cluster.until(lambda: cluster.node_of("super") == "n1")
        await cluster.until(lambda: under_way(cluster) == 0)
        assert cluster.node_of("high") == ""
        await cluster.until(lambda: cluster.nominated("high") == "")
        # Their common victim went once.
        assert cluster.deleted() == ["low-0"]
        assert len(cluster.events("Preempted")) == 1


async def test_one_that_lost_its_place_while_it_waited_preempts_elsewhere() -> None:
    """TestAsyncPreemption: "While lower priority Pod is waiting for preemption, higher priority Pod
    takes its place on the node"."""
    clock = HoldingClock()
    # The victim of lower priority goes last.
    low = (
        pod("low-0", cpu="2", priority=2, node_name="n1"),
        pod("low-1", cpu="2", priority=1, node_name="n1"),
    )
    async with running_cluster(node("n1", cpu="4"), *low, clock=clock) as cluster:
        holding_deletes(cluster, "low-1", times=None)
        cluster.control_plane.add(pod("middle", cpu="4", priority=5))
        # Its room is free before "high" comes, so "high" needs no victim.
        await cluster.until(lambda: "low-0" not in cluster.pods())
        cluster.control_plane.add(
            node("n2", cpu="5"), pod("low-2", cpu="4", priority=2, node_name="n2")
        )
        cluster.control_plane.add(pod("high", cpu="2", priority=9))
        await cluster.until(lambda: cluster.node_of("high") == "n1")
        assert cluster.deleted() == ["low-0"]
        clock.go_on.set()
        await cluster.until(lambda: cluster.node_of("middle") == "n2")
        assert cluster.deleted() == ["low-0", "low-1", "low-2"]


async def test_a_lower_pod_takes_the_same_node_if_it_is_big_enough() -> None:
    async with running_cluster(*full(2)) as cluster:
        holding_deletes(cluster, times=None)
        cluster.control_plane.add(pod("high", cpu="2", priority=9))
        await cluster.until(lambda: under_way(cluster) == 1)
        cluster.control_plane.add(pod("middle", cpu="2", priority=5))
        await cluster.until(lambda: cluster.node_of("high") == cluster.node_of("middle") == "n1")
        assert sorted(cluster.deleted()) == ["low-0", "low-1"]


async def test_no_more_go_for_a_preemptor_that_is_deleted_meanwhile() -> None:
    async with running_cluster(*full(4)) as cluster:
        holding_deletes(cluster, times=None)
        cluster.control_plane.add(pod("high", cpu="4", priority=9))
        await cluster.until(lambda: under_way(cluster) == 1)
        cluster.remove("high")
        await cluster.until(lambda: under_way(cluster) == 0)
        # Those under way may still go; the last one had not been begun.
        await cluster.until(lambda: len(cluster.pods()) == 4 - len(cluster.deleted()))
        assert len(cluster.deleted()) <= 3


async def test_a_victim_whose_bind_is_held_up_is_deleted_and_its_room_taken() -> None:
    async with running_cluster(node("n1", cpu="4")) as cluster:
        rule = FaultRule(HELD, verb="create", subresource="binding", name="low")
        cluster.control_plane.faults = ScriptedFaults([rule])
        cluster.control_plane.add(pod("low", cpu="3", priority=1))
        await cluster.until(lambda: cluster.metric("kpolicy_binds_in_flight") == 1)
        cluster.control_plane.add(pod("high", cpu="3", priority=9))
        await cluster.until(lambda: cluster.node_of("high") == "n1")
        assert cluster.deleted() == ["low"]
        await cluster.until(lambda: cluster.metric("kpolicy_reservations_open") == 0)
        assert "low" not in cluster.pods()


async def test_a_victim_whose_bind_was_not_sent_yet_is_taken_back_and_not_deleted() -> None:
    """TestPreemptionRespectsWaitingPod: as what waits in Permit."""
    async with running_cluster(node("n1", cpu="4"), binds_in_flight_max=1) as cluster:
        rule = FaultRule(HELD, verb="create", subresource="binding", name="first")
        cluster.control_plane.faults = ScriptedFaults([rule])
        cluster.control_plane.add(pod("first", cpu="1", priority=9))
        await cluster.until(lambda: cluster.metric("kpolicy_binds_in_flight") == 1)
        cluster.control_plane.add(pod("low", cpu="3", priority=1))
        await cluster.until(lambda: cluster.metric("kpolicy_reservations_open") == 2)
        cluster.control_plane.add(pod("high", cpu="3", priority=9))
        await cluster.until(lambda: cluster.node_of("high") == "n1")
        assert cluster.deleted() == []
        assert cluster.node_of("low") == ""
        (event,) = cluster.events("Preempted")
        assert event["message"].endswith(" on node n1 (in kpolicy memory).")
        await cluster.until(lambda: "preemption: 0/1 nodes" in cluster.message("low"))
        assert cluster.metric("kpolicy_evictions_total") == 1


async def test_a_claim_is_void_when_the_bind_fails() -> None:
    """TestNominatedNode: "… but failed on PreBind"."""
    async with running_cluster(*full(1), kubelet=None) as cluster:
        refused = FaultRule(
            RequestFault(status=422), verb="create", subresource="binding", name="middle", times=1
        )
        cluster.control_plane.faults = ScriptedFaults([refused])
        cluster.control_plane.add(pod("middle", cpu="4", priority=5))
        await cluster.until(
            lambda: cluster.nominated("middle") == "n1" and cluster.deleted() == ["low-0"]
        )
        cluster.remove("low-0")
        await cluster.until(lambda: "binding to n1 failed" in cluster.message("middle"))
        assert cluster.nominated("middle") == ""
        await cluster.until(lambda: cluster.node_of("middle") == "n1")
        assert cluster.deleted() == ["low-0"]


async def test_stopped_it_ends_what_it_began() -> None:
    async with running_cluster(*full(2)) as cluster:
        holding_deletes(cluster, times=None)
        cluster.control_plane.add(pod("high", cpu="4", priority=9))
        await cluster.until(lambda: under_way(cluster) == 1)
    assert sorted(cluster.deleted()) == ["low-0", "low-1"]
    assert cluster.nominated("high") == "n1", "the next process finds the claim"
