"""Preemption in the live scheduler, with the real engine, the shipped policy and the embedded
control plane.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kpolicy.clock import Clock
from kpolicy.cluster.writes.evictor import (
    AlreadyGone,
    AlreadyLeaving,
    Evicted,
    Eviction,
    EvictionFenced,
    NotEvicted,
)
from kpolicy.engine import Decision, Verdict, Victim
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queued_pod import Lane
from kpolicy.scheduler.preemption.room import Room, plan, was_tried
from kpolicy.scheduler.process import Scheduler
from kpolicy.testing import node, pod
from kpolicy.testing.apiserver.api_calls import Drop, FaultRule, RequestFault, ScriptedFaults
from kpolicy.testing.control_plane import ControlPlane
from kpolicy.testing.kubelet import KubeletTimes
from kpolicy.testing.objects.resource_types import PODS
from tests.unit.scheduler.faulty_engine import decided
from tests.unit.scheduler.pods import SECOND, pending
from tests.unit.scheduler.test_process_real_engine import running

QUICK = KubeletTimes(start_s=0.01, stop_s=0.05)
NEVER = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: never}
spec:
  base: kube-scheduler-default
  profiles: [{schedulerName: kpolicy}]
  preemption: {policy: Never}
"""


class Cluster:
    def __init__(self, control_plane: ControlPlane, scheduler: Scheduler, until: Any) -> None:
        self.control_plane, self.scheduler, self.until = control_plane, scheduler, until

    def pods(self) -> dict[str, Mapping[str, Any]]:
        return {pod["metadata"]["name"]: pod for pod in self.control_plane.objects("Pod")}

    def node_of(self, name: str) -> str:
        return str(self.pods().get(name, {}).get("spec", {}).get("nodeName", ""))

    def nominated(self, name: str) -> str:
        return str(self.pods()[name].get("status", {}).get("nominatedNodeName", ""))

    def message(self, name: str) -> str:
        conditions = self.pods()[name].get("status", {}).get("conditions", [])
        found = [
            condition["message"] for condition in conditions if condition["type"] == "PodScheduled"
        ]
        return str(found[0]) if found else ""

    def deleted(self) -> list[str]:
        """By the scheduler, and answered with success."""
        return [
            entry.name
            for entry in self.control_plane.audit()
            if entry.verb == "delete" and entry.code < 300
        ]

    def events(self, reason: str) -> list[Mapping[str, Any]]:
        return [event for event in self.control_plane.objects("Event") if event["reason"] == reason]

    def remove(self, name: str) -> None:
        self.control_plane.store.remove(PODS, "default", name)

    def metric(self, name: str) -> float:
        text = self.scheduler.metrics.registry.render()
        lines = [line for line in text.splitlines() if line.startswith((f"{name} ", f"{name}{{"))]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


@asynccontextmanager
async def running_cluster(
    *objects: Mapping[str, Any],
    policies: tuple[str, ...] = (),
    kubelet: KubeletTimes | None = QUICK,
    binds_in_flight_max: int = 64,
    clock: Clock | None = None,
) -> AsyncIterator[Cluster]:
    """`clock`: of the control plane."""
    async with ControlPlane(kubelet=kubelet, clock=clock) as control_plane:
        control_plane.add(*objects)
        async with running(control_plane, *policies, binds_in_flight_max=binds_in_flight_max) as (
            scheduler,
            until,
        ):
            yield Cluster(control_plane, scheduler, until)


def full(victims: int = 2) -> list[Mapping[str, Any]]:
    """A node of four cores, and pods that fill it evenly."""
    cpu = f"{4000 // victims}m"
    low = (pod(f"low-{at}", cpu=cpu, priority=1, node_name="n1") for at in range(victims))
    return [node("n1", cpu="4"), *low]


async def test_the_pod_gets_the_room_of_its_victims_and_nobody_else_goes() -> None:
    async with running_cluster(*full()) as cluster:
        cluster.control_plane.add(pod("high", cpu="2", priority=9))
        await cluster.until(lambda: cluster.node_of("high") == "n1")
        (gone,) = cluster.deleted()
        (event,) = cluster.events("Preempted")
        uid = cluster.pods()["high"]["metadata"]["uid"]
        assert event["message"] == f"Preempted by pod {uid} on node n1"
        assert (event["type"], event["action"]) == ("Normal", "Preempting")
        assert event["involvedObject"]["name"] == gone
        assert event["related"]["name"] == "high"
        assert cluster.metric("scheduler_preemption_attempts_total") == 1
        assert cluster.metric("scheduler_preemption_victims_sum") == 1
        assert cluster.metric("scheduler_preemption_goroutines_execution_total") == 1
        assert cluster.metric("kpolicy_evictions_total") == 1


async def test_while_victims_end_the_pod_waits_and_takes_no_more() -> None:
    async with running_cluster(*full(), node("n2", cpu="1"), kubelet=None) as cluster:
        cluster.control_plane.add(pod("high", cpu="2", priority=9))
        await cluster.until(lambda: len(cluster.deleted()) == 1)
        (gone,) = cluster.deleted()
        assert cluster.nominated("high") == "n1"
        # Whatever happens meanwhile wakes it, and it is not tried at the cost of the other one.
        cluster.control_plane.add(node("fenced", cpu="4", taints=["dedicated=others:NoSchedule"]))
        waiting = "not eligible due to a terminating pod on the nominated node."
        await cluster.until(lambda: waiting in cluster.message("high"))
        assert cluster.deleted() == [gone]
        cluster.remove(gone)
        await cluster.until(lambda: cluster.node_of("high") == "n1")
        assert cluster.deleted() == [gone]


@pytest.mark.parametrize(
    "fault",
    [
        RequestFault(drop=Drop.BEFORE_COMMIT),
        RequestFault(drop=Drop.AFTER_COMMIT),
        RequestFault(status=500),
        RequestFault(status=429),
    ],
    ids=["lost", "answer lost", "500", "429"],
)
async def test_a_write_that_fails_once_costs_nobody_else(fault: RequestFault) -> None:
    async with running_cluster(*full(4)) as cluster:
        cluster.control_plane.faults = ScriptedFaults(
            [
                FaultRule(fault, verb="delete", resource="pods"),
                FaultRule(fault, verb="patch", subresource="status", skip=1),
            ]
        )
        cluster.control_plane.add(pod("high", cpu="3", priority=9))
        await cluster.until(lambda: cluster.node_of("high") == "n1")
        left = {name for name in cluster.pods() if name.startswith("low")}
        assert len(left) == 1
        assert set(cluster.deleted()) | left <= {f"low-{at}" for at in range(4)}
        assert cluster.metric("scheduler_preemption_goroutines_execution_total") == 1


async def test_a_refusal_is_reported_gives_the_node_back_and_is_tried_again() -> None:
    async with running_cluster(*full(1), kubelet=QUICK) as cluster:
        refusal = FaultRule(RequestFault(status=403), verb="delete", resource="pods", times=2)
        cluster.control_plane.faults = ScriptedFaults([refusal])
        cluster.control_plane.add(pod("high", cpu="2", priority=9))
        await cluster.until(lambda: "evicting default/low-0 failed: 403" in cluster.message("high"))
        assert cluster.message("high").startswith("preemption on n1 failed: ")
        await cluster.until(lambda: cluster.node_of("high") == "n1")
        assert cluster.deleted() == ["low-0"]
        assert cluster.metric("scheduler_preemption_attempts_total") == 3
        assert len(cluster.events("Preempted")) == 1


async def test_no_one_goes_for_a_pod_whose_claim_could_not_be_written() -> None:
    async with running_cluster(*full(1)) as cluster:
        refusal = FaultRule(
            RequestFault(status=403), verb="patch", subresource="status", name="high", times=None
        )
        cluster.control_plane.faults = ScriptedFaults([refusal])
        cluster.control_plane.add(pod("high", cpu="2", priority=9))
        await cluster.until(
            lambda: cluster.metric("scheduler_preemption_goroutines_execution_total") >= 1
        )
        assert cluster.deleted() == []
        cluster.control_plane.faults = None
        await cluster.until(lambda: cluster.node_of("high") == "n1")


async def test_a_policy_that_says_never_evicts_nobody() -> None:
    async with running_cluster(*full(), policies=(NEVER,)) as cluster:
        cluster.control_plane.add(pod("high", cpu="2", priority=9))
        await cluster.until(lambda: cluster.message("high") != "")
        assert "preemption" not in cluster.message("high")
        assert cluster.metric("scheduler_preemption_attempts_total") == 0
        assert cluster.nominated("high") == ""
        reloaded = await cluster.scheduler.reload([])
        assert reloaded.in_force
        await cluster.until(lambda: cluster.node_of("high") == "n1")
        assert len(cluster.deleted()) == 1


async def test_a_victim_that_two_pods_share_goes_once() -> None:
    async with running_cluster(*full(1)) as cluster:
        cluster.control_plane.add(pod("a", cpu="2", priority=9), pod("b", cpu="2", priority=9))
        await cluster.until(lambda: cluster.node_of("a") == cluster.node_of("b") == "n1")
        assert cluster.deleted() == ["low-0"]


async def test_a_higher_pod_takes_the_claim_and_the_lower_one_hears_of_it() -> None:
    async with running_cluster(*full(1), kubelet=None) as cluster:
        cluster.control_plane.add(pod("middle", cpu="4", priority=5))
        await cluster.until(lambda: cluster.nominated("middle") == "n1")
        cluster.control_plane.add(pod("high", cpu="4", priority=9))
        await cluster.until(lambda: cluster.nominated("high") == "n1")
        await cluster.until(lambda: cluster.nominated("middle") == "")
        assert cluster.deleted() == ["low-0"]


async def test_a_claim_that_a_higher_pod_took_is_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    async with running_cluster(*full(1), kubelet=None) as cluster:
        slow = FaultRule(
            RequestFault(delay_s=1.0, status=403),
            verb="patch",
            subresource="status",
            name="middle",
            times=None,
        )
        cluster.control_plane.faults = ScriptedFaults([slow])
        cluster.control_plane.add(pod("middle", cpu="4", priority=5))
        await cluster.until(lambda: cluster.metric("scheduler_preemption_attempts_total") == 1)
        cluster.control_plane.add(pod("high", cpu="4", priority=9))
        await cluster.until(lambda: cluster.nominated("high") == "n1")
        ended = "default/middle: preemption ended: a pod of higher priority takes the room"
        await cluster.until(lambda: ended in caplog.messages)
        assert not [text for text in caplog.messages if "could not be written" in text]
        assert cluster.deleted() == ["low-0"]


# --- the plan, and what comes of it ---------------------------------------------------------------


def preempting(*victims: Victim, displaced: tuple[str, ...] = ()) -> Decision:
    parked = decided(Verdict.PARKED, "p", message="0/1 nodes are available", rejected_by=["Fit"])
    return parked._replace(nominated_node="n1", victims=list(victims), displaced=list(displaced))


def victim(name: str, *, is_terminating: bool = False) -> Victim:
    return Victim(f"uid-{name}", "default", name, is_terminating)


def waiting() -> tuple[Queue, Any]:
    queue = Queue()
    queue.changed(pending("p"), 0)
    (pod,) = queue.pop_batch(1, 0)
    return queue, pod


def test_the_plan_evicts_who_is_not_leaving_yet_the_least_important_last() -> None:
    _, pod = waiting()
    wanted = plan(pod, preempting(victim("a"), victim("b", is_terminating=True), victim("c")))
    assert [each.name for each in wanted.together] == ["a"]
    assert [each.name for each in wanted.last] == ["c"]
    assert wanted.victims_total == 3
    assert wanted.evictions[0].message == (
        "kpolicy: preempting to accommodate a higher priority pod"
    )
    nobody = plan(pod, preempting(victim("b", is_terminating=True)))
    assert (nobody.together, nobody.last) == ((), ())


@pytest.mark.parametrize(
    ("outcomes", "made", "trouble"),
    [
        ([Evicted(), AlreadyGone(), AlreadyLeaving()], True, ""),
        (
            [Evicted(), NotEvicted(403, "no"), NotEvicted(500, "late")],
            False,
            "evicting default/a failed: no",
        ),
        ([EvictionFenced()], False, ""),
        ([EvictionFenced(), NotEvicted(0, "lost")], False, "evicting default/a failed: lost"),
    ],
)
def test_the_first_trouble_ends_it(outcomes: list[Any], made: bool, trouble: str) -> None:
    _, pod = waiting()
    room = Room(plan(pod, preempting(victim("a"))))
    for outcome in outcomes:
        room.take(Eviction("default", "a", "uid-a", ""), outcome)
    assert (room.is_made, room.trouble) == (made, trouble)
    assert len(room.evicted) == outcomes.count(Evicted())


def test_what_counts_as_looking_for_room() -> None:
    assert was_tried(preempting(victim("a")))
    decision = decided(Verdict.PARKED, "p", message="… preemption: 0/1 nodes are available: …")
    assert was_tried(decision)
    assert not was_tried(decided(Verdict.PARKED, "p", message="0/1 nodes are available: …"))


# --- the queue -----------------------------------------------------------------------------------


def held() -> Queue:
    queue, pod = waiting()
    queue.parked(pod.uid, ["Fit"], SECOND, held=True)
    return queue


def lane(queue: Queue) -> Lane:
    pod = queue.get("p")
    assert pod is not None
    return pod.lane


@pytest.mark.parametrize(
    "disturb",
    [
        lambda queue: queue.wake("p", "NodeAdd", SECOND),
        lambda queue: queue.wake_all("PolicyUpdate", 10, SECOND),
        lambda queue: queue.flush(10, 1000 * SECOND),
    ],
    ids=["woken", "all woken", "flushed"],
)
def test_a_held_pod_is_not_tried_whatever_happens(disturb: Callable[[Queue], Any]) -> None:
    queue = held()
    disturb(queue)
    assert lane(queue) is Lane.PARKED
    assert queue.pop_batch(10, 1000 * SECOND) == []


def test_what_woke_it_meanwhile_is_not_lost() -> None:
    queue = held()
    queue.wake("p", "AssignedPodDelete", SECOND)
    queue.release("p", SECOND)
    assert lane(queue) is Lane.BACKOFF
    assert [pod.uid for pod in queue.pop_batch(1, SECOND)] == ["p"], "an idle queue pops early"


def test_released_it_waits_for_a_wake() -> None:
    queue = held()
    queue.release("p", SECOND)
    assert lane(queue) is Lane.PARKED
    queue.wake("p", "AssignedPodDelete", SECOND)
    assert lane(queue) is Lane.BACKOFF


def test_failed_it_backs_off_and_is_not_popped_early() -> None:
    queue = held()
    queue.fail_held("p", SECOND)
    assert lane(queue) is Lane.BACKOFF
    assert queue.pop_batch(1, SECOND) == []
    assert [pod.uid for pod in queue.pop_batch(1, 2 * SECOND)] == ["p"]


def test_one_that_left_is_neither_released_nor_failed() -> None:
    queue = held()
    queue.gone("p")
    queue.release("p", SECOND)
    queue.fail_held("p", SECOND)
    queue.changed(pending("p"), SECOND)
    queue.release("p", SECOND)
    assert lane(queue) is Lane.ACTIVE
