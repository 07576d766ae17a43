"""A pod's status says why it waits; it is written when that changes, and only for this very pod."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from kpolicy.cluster.api import MERGE_PATCH, ApiClient, Response
from kpolicy.cluster.limits import WRITE_TRIES_MAX
from kpolicy.cluster.writes.pod_status import (
    ConditionReason,
    PodCondition,
    PodStatusWriter,
    condition_body,
)
from kpolicy.testing import ControlPlane, FaultRule, RequestFault, ScriptedFaults, pod
from tests.manual_clock import ManualClock
from tests.unit.cluster.doubles import client, eventually


@dataclass
class Statuses:
    control_plane: ControlPlane
    writer: PodStatusWriter
    clock: ManualClock
    api: ApiClient

    def condition(self, message: str = "no place", **changes: Any) -> PodCondition:
        uid = self.pod()["metadata"]["uid"]
        made = PodCondition("default", "a", uid, ConditionReason.UNSCHEDULABLE, message)
        return replace(made, **changes)

    def pod(self) -> Mapping[str, Any]:
        return self.control_plane.objects("Pod")[0]

    def scheduled(self) -> Mapping[str, Any]:
        conditions = self.pod()["status"]["conditions"]
        [found] = [condition for condition in conditions if condition["type"] == "PodScheduled"]
        assert isinstance(found, Mapping)
        return found

    def patches(self) -> int:
        return sum(entry.subresource == "status" for entry in self.control_plane.audit())

    async def tolerate(self) -> None:
        """A change of the spec."""
        spec = {"spec": {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}}
        path = "/api/v1/namespaces/default/pods/a"
        body = json.dumps(spec).encode()
        answer = await self.api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        assert isinstance(answer, Response)

    def rests(self) -> bool:
        now = self.writer.statistics()
        return now.waiting == now.under_way == 0

    async def settled(self, written: int) -> None:
        await eventually(lambda: self.writer.statistics().written == written)


@asynccontextmanager
async def writing(cache_max: int = 100) -> AsyncIterator[Statuses]:
    clock = ManualClock()
    async with ControlPlane() as control_plane, client(control_plane.url, clock) as api:
        control_plane.add(pod("a"))
        writer = PodStatusWriter(api, clock, cache_max=cache_max)
        task = asyncio.create_task(writer.run())
        try:
            yield Statuses(control_plane, writer, clock, api)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_the_condition_is_written_with_the_nominated_node() -> None:
    async with writing() as it:
        it.writer.set(it.condition(nominated_node="n1"))
        await it.settled(1)
        condition = it.scheduled()
        assert condition["status"] == "False"
        assert condition["reason"] == "Unschedulable"
        assert condition["message"] == "no place"
        assert condition["lastTransitionTime"] == "2023-11-14T22:13:20Z"
        assert it.pod()["status"]["nominatedNodeName"] == "n1"
        assert len(it.pod()["status"]["conditions"]) == 1


async def test_the_same_is_not_written_twice() -> None:
    async with writing() as it:
        for _ in range(5):
            it.writer.set(it.condition())
        await it.settled(1)
        it.writer.set(it.condition())
        assert it.writer.unchanged == 5
        assert it.writer.statistics().waiting == 0


async def test_a_change_is_written_and_the_transition_time_stays() -> None:
    async with writing() as it:
        it.writer.set(it.condition(nominated_node="n1"))
        await it.settled(1)
        await it.clock.advance(100)
        it.writer.set(
            it.condition("we failed", reason=ConditionReason.SCHEDULER_ERROR, nominated_node="")
        )
        await it.settled(2)
        condition = it.scheduled()
        assert (condition["reason"], condition["message"]) == ("SchedulerError", "we failed")
        assert condition["lastTransitionTime"] == "2023-11-14T22:13:20Z"
        assert "nominatedNodeName" not in it.pod()["status"]


async def test_a_replaced_first_write_still_has_a_transition_time() -> None:
    async with writing() as it:
        it.writer.set(it.condition("one"))
        it.writer.set(it.condition("two"))
        await it.settled(1)
        assert it.scheduled()["message"] == "two"
        assert it.scheduled()["lastTransitionTime"] == "2023-11-14T22:13:20Z"


async def test_a_pod_made_anew_under_the_name_is_given_up_at_once() -> None:
    async with writing() as it:
        conflict = FaultRule(RequestFault(status=409), subresource="status", times=None)
        it.control_plane.faults = ScriptedFaults([conflict])
        it.writer.set(it.condition())
        await eventually(lambda: it.writer.statistics().failed == 1)
        assert [entry.subresource for entry in it.control_plane.audit()] == ["status"]


async def test_what_could_not_be_written_is_written_when_it_comes_again() -> None:
    async with writing() as it:
        fault = FaultRule(RequestFault(status=403), subresource="status")
        it.control_plane.faults = ScriptedFaults([fault])
        it.writer.set(it.condition())
        await eventually(lambda: it.writer.statistics().failed == 1)
        it.writer.set(it.condition())
        await it.settled(1)
        assert it.scheduled()["message"] == "no place"


async def test_what_could_not_be_written_while_the_server_was_away_is_written_later() -> None:
    """The pod is parked, and nobody may ask for its condition again for minutes."""
    async with writing() as it:
        fault = FaultRule(RequestFault(status=503), subresource="status", times=2 * WRITE_TRIES_MAX)
        it.control_plane.faults = ScriptedFaults([fault])
        it.writer.set(it.condition())
        await eventually_in_time(it, lambda: it.writer.statistics().written == 1)
        assert it.writer.statistics().failed == 2
        assert it.scheduled()["message"] == "no place"


async def test_what_is_kept_for_later_is_not_written_of_a_pod_that_left() -> None:
    async with writing() as it:
        fault = FaultRule(RequestFault(status=503), subresource="status", times=None)
        it.control_plane.faults = ScriptedFaults([fault])
        it.writer.set(it.condition())
        await eventually_in_time(it, lambda: it.writer.statistics().failed >= 1)
        it.writer.forget(it.condition().uid)
        await eventually_in_time(it, it.rests)
        assert it.writer.statistics().written == 0


def away(it: Statuses, rounds: int | None) -> None:
    times = None if rounds is None else rounds * WRITE_TRIES_MAX
    fault = FaultRule(RequestFault(status=503), subresource="status", times=times)
    it.control_plane.faults = ScriptedFaults([fault])


async def nominated(it: Statuses) -> PodCondition:
    """Written, and then void."""
    condition = it.condition(nominated_node="n1")
    it.writer.set(condition)
    await it.settled(1)
    assert it.pod()["status"]["nominatedNodeName"] == "n1"
    return condition


async def test_a_release_that_could_not_be_written_is_written_later() -> None:
    async with writing() as it:
        condition = await nominated(it)
        away(it, rounds=2)
        it.writer.release(condition.namespace, condition.name, condition.uid)
        await eventually_in_time(it, lambda: it.writer.statistics().written == 2)
        assert it.writer.statistics().failed == 2
        assert "nominatedNodeName" not in it.pod()["status"]
        await eventually(it.rests)


async def test_a_release_goes_along_with_what_is_said_meanwhile() -> None:
    async with writing() as it:
        condition = await nominated(it)
        away(it, rounds=1)
        it.writer.release(condition.namespace, condition.name, condition.uid)
        await eventually(lambda: it.clock.sleepers > 0)
        it.writer.set(it.condition("another reason"))
        await eventually_in_time(it, lambda: it.writer.statistics().written == 2)
        assert it.scheduled()["message"] == "another reason"
        assert "nominatedNodeName" not in it.pod()["status"]


async def test_a_condition_under_way_is_kept_with_the_release_that_overtakes_it() -> None:
    async with writing() as it:
        condition = await nominated(it)
        away(it, rounds=2)
        it.writer.set(it.condition("another reason"))
        await eventually(lambda: it.clock.sleepers > 0)
        it.writer.release(condition.namespace, condition.name, condition.uid)
        await eventually_in_time(it, lambda: it.writer.statistics().written == 2)
        assert it.scheduled()["message"] == "another reason"
        assert "nominatedNodeName" not in it.pod()["status"]


async def test_a_release_that_waits_does_not_undo_a_later_nomination() -> None:
    async with writing() as it:
        condition = await nominated(it)
        away(it, rounds=1)
        it.writer.release(condition.namespace, condition.name, condition.uid)
        await eventually(lambda: it.clock.sleepers > 0)
        it.writer.set(it.condition("again", nominated_node="n2"))
        await eventually_in_time(it, lambda: it.writer.statistics().written == 2)
        await eventually(it.rests)
        assert it.pod()["status"]["nominatedNodeName"] == "n2"


async def test_a_release_of_a_pod_that_left_is_not_kept() -> None:
    async with writing() as it:
        condition = await nominated(it)
        away(it, rounds=None)
        it.writer.release(condition.namespace, condition.name, condition.uid)
        await eventually_in_time(it, lambda: it.writer.statistics().failed >= 1)
        it.writer.forget(condition.uid)
        await eventually_in_time(it, it.rests)
        assert it.writer.statistics().written == 1


async def eventually_in_time(it: Statuses, true: Callable[[], bool]) -> None:
    """Each time somebody sleeps, until his sleep is over."""
    while not true():
        await eventually(lambda: true() or it.clock.sleepers > 0)
        await it.clock.advance(10)


async def test_a_pod_forgotten_is_written_anew() -> None:
    async with writing() as it:
        it.writer.set(it.condition())
        await it.settled(1)
        it.writer.forget(it.condition().uid)
        it.writer.set(it.condition())
        await it.settled(2)


async def test_memory_of_what_was_written_is_bounded() -> None:
    async with writing(cache_max=1) as it:
        it.writer.set(it.condition())
        await it.settled(1)
        it.writer.set(it.condition(uid="another", name="b"))
        await eventually(lambda: it.writer.statistics().failed == 1)
        it.writer.set(it.condition())
        await it.settled(2)


async def test_a_node_is_told_alone() -> None:
    async with writing() as it:
        it.writer.nominate("default", "a", it.condition().uid, "n1")
        await it.writer.at_rest(it.condition().uid)
        assert it.pod()["status"]["nominatedNodeName"] == "n1"
        assert it.writer.statistics().written == 1


async def test_what_was_said_before_a_node_was_told_is_said_again_after_it() -> None:
    """The same failure twice, and a node told in between: it must not stay."""
    async with writing() as it:
        failed = it.condition("no volume", nominated_node="")
        it.writer.set(failed)
        await it.settled(1)
        it.writer.nominate("default", "a", failed.uid, "n1")
        await it.settled(2)
        assert it.pod()["status"]["nominatedNodeName"] == "n1"
        it.writer.set(failed)
        await it.settled(3)
        assert "nominatedNodeName" not in it.pod()["status"]


async def test_a_node_goes_along_with_a_condition_that_waits() -> None:
    async with writing() as it:
        it.writer.set(it.condition(nominated_node=""))
        it.writer.nominate("default", "a", it.condition().uid, "n1")
        await it.settled(1)
        assert it.scheduled()["message"] == "no place"
        assert it.pod()["status"]["nominatedNodeName"] == "n1"


async def test_a_node_that_could_not_be_told_is_not_told_later() -> None:
    async with writing() as it:
        away(it, rounds=1)
        it.writer.nominate("default", "a", it.condition().uid, "n1")
        await eventually_in_time(it, it.rests)
        assert it.writer.statistics().failed == 1
        assert "nominatedNodeName" not in it.pod()["status"]


async def test_the_generation_is_observed() -> None:
    async with writing() as it:
        it.writer.set(it.condition())
        await it.settled(1)
        assert it.scheduled()["observedGeneration"] == 1
        assert it.patches() == 1


async def test_a_generation_that_was_not_known_is_learned_from_the_answer() -> None:
    """Gates were lifted before, which counts it up."""
    async with writing() as it:
        await it.tolerate()
        it.writer.set(it.condition())
        await it.settled(1)
        assert it.pod()["metadata"]["generation"] == 2
        assert it.scheduled()["observedGeneration"] == 2
        assert it.patches() == 2
        it.writer.set(it.condition("another reason"))
        await it.settled(2)
        assert it.scheduled()["observedGeneration"] == 2
        assert it.patches() == 3, "the generation is known by now"


def test_a_generation_that_nobody_counts_is_not_told() -> None:
    made = PodCondition("ns", "a", "u", ConditionReason.UNSCHEDULABLE, 'a "quoted"\nmessage')
    condition = json.loads(condition_body(made, None, 3))["status"]
    assert condition["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": 'a "quoted"\nmessage',
            "observedGeneration": 3,
        }
    ]
    assert "observedGeneration" not in condition_body(made, None, 0).decode()
    assert json.loads(condition_body(made, None, 0))["metadata"] == {"uid": "u"}
