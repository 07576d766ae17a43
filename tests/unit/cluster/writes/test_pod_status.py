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
        return replace(made, generation=self.pod()["metadata"]["generation"], **changes)

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
        now = self.writer.outbox.statistics()
        return now.waiting == now.under_way == 0

    async def settled(self, written: int) -> None:
        await eventually(lambda: self.writer.outbox.statistics().written == written)


@asynccontextmanager
async def running_writer(cache_max: int = 100) -> AsyncIterator[Statuses]:
    clock = ManualClock()
    async with ControlPlane() as control_plane, client(control_plane.url, clock) as api:
        control_plane.add(pod("a"))
        writer = PodStatusWriter(api, clock, cache_max=cache_max)
        task = asyncio.create_task(writer.outbox.run())
        try:
            yield Statuses(control_plane, writer, clock, api)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_the_condition_is_written_with_the_nominated_node() -> None:
    async with running_writer() as statuses:
        statuses.writer.set(statuses.condition(nominated_node="n1"))
        await statuses.settled(1)
        condition = statuses.scheduled()
        assert condition["status"] == "False"
        assert condition["reason"] == "Unschedulable"
        assert condition["message"] == "no place"
        assert condition["lastTransitionTime"] == "2023-11-14T22:13:20Z"
        assert statuses.pod()["status"]["nominatedNodeName"] == "n1"
        assert len(statuses.pod()["status"]["conditions"]) == 1


async def test_the_same_is_not_written_twice() -> None:
    async with running_writer() as statuses:
        for _ in range(5):
            statuses.writer.set(statuses.condition())
        await statuses.settled(1)
        statuses.writer.set(statuses.condition())
        assert statuses.writer.unchanged == 5
        assert statuses.writer.outbox.statistics().waiting == 0


async def test_a_change_is_written_and_the_transition_time_stays() -> None:
    async with running_writer() as statuses:
        statuses.writer.set(statuses.condition(nominated_node="n1"))
        await statuses.settled(1)
        await statuses.clock.advance(100)
        statuses.writer.set(
            statuses.condition(
                "we failed", reason=ConditionReason.SCHEDULER_ERROR, nominated_node=""
            )
        )
        await statuses.settled(2)
        condition = statuses.scheduled()
        assert (condition["reason"], condition["message"]) == ("SchedulerError", "we failed")
        assert condition["lastTransitionTime"] == "2023-11-14T22:13:20Z"
        assert "nominatedNodeName" not in statuses.pod()["status"]


async def test_a_replaced_first_write_still_has_a_transition_time() -> None:
    async with running_writer() as statuses:
        statuses.writer.set(statuses.condition("one"))
        statuses.writer.set(statuses.condition("two"))
        await statuses.settled(1)
        assert statuses.scheduled()["message"] == "two"
        assert statuses.scheduled()["lastTransitionTime"] == "2023-11-14T22:13:20Z"


async def test_a_recreated_pod_of_the_same_name_is_given_up_at_once() -> None:
    async with running_writer() as statuses:
        conflict = FaultRule(RequestFault(status=409), subresource="status", times=None)
        statuses.control_plane.faults = ScriptedFaults([conflict])
        statuses.writer.set(statuses.condition())
        await eventually(lambda: statuses.writer.outbox.statistics().failed == 1)
        assert [entry.subresource for entry in statuses.control_plane.audit()] == ["status"]


async def test_what_could_not_be_written_is_written_when_it_comes_again() -> None:
    async with running_writer() as statuses:
        fault = FaultRule(RequestFault(status=403), subresource="status")
        statuses.control_plane.faults = ScriptedFaults([fault])
        statuses.writer.set(statuses.condition())
        await eventually(lambda: statuses.writer.outbox.statistics().failed == 1)
        statuses.writer.set(statuses.condition())
        await statuses.settled(1)
        assert statuses.scheduled()["message"] == "no place"


async def test_what_could_not_be_written_while_the_server_was_away_is_written_later() -> None:
    """The pod is parked, and nobody may ask for its condition again for minutes."""
    async with running_writer() as statuses:
        fault = FaultRule(RequestFault(status=503), subresource="status", times=2 * WRITE_TRIES_MAX)
        statuses.control_plane.faults = ScriptedFaults([fault])
        statuses.writer.set(statuses.condition())
        await eventually_in_time(statuses, lambda: statuses.writer.outbox.statistics().written == 1)
        assert statuses.writer.outbox.statistics().failed == 2
        assert statuses.scheduled()["message"] == "no place"


async def test_what_is_kept_for_later_is_not_written_of_a_pod_that_left() -> None:
    async with running_writer() as statuses:
        fault = FaultRule(RequestFault(status=503), subresource="status", times=None)
        statuses.control_plane.faults = ScriptedFaults([fault])
        statuses.writer.set(statuses.condition())
        await eventually_in_time(statuses, lambda: statuses.writer.outbox.statistics().failed >= 1)
        statuses.writer.forget(statuses.condition().uid)
        await eventually_in_time(statuses, statuses.rests)
        assert statuses.writer.outbox.statistics().written == 0


def away(statuses: Statuses, rounds: int | None) -> None:
    times = None if rounds is None else rounds * WRITE_TRIES_MAX
    fault = FaultRule(RequestFault(status=503), subresource="status", times=times)
    statuses.control_plane.faults = ScriptedFaults([fault])


async def nominated(statuses: Statuses) -> PodCondition:
    """Written, and then void."""
    condition = statuses.condition(nominated_node="n1")
    statuses.writer.set(condition)
    await statuses.settled(1)
    assert statuses.pod()["status"]["nominatedNodeName"] == "n1"
    return condition


async def test_a_release_that_could_not_be_written_is_written_later() -> None:
    async with running_writer() as statuses:
        condition = await nominated(statuses)
        away(statuses, rounds=2)
        statuses.writer.release(condition.namespace, condition.name, condition.uid)
        await eventually_in_time(statuses, lambda: statuses.writer.outbox.statistics().written == 2)
        assert statuses.writer.outbox.statistics().failed == 2
        assert "nominatedNodeName" not in statuses.pod()["status"]
        await eventually(statuses.rests)


async def test_a_cleared_nomination_is_written_with_the_next_condition() -> None:
    async with running_writer() as statuses:
        condition = await nominated(statuses)
        away(statuses, rounds=1)
        statuses.writer.release(condition.namespace, condition.name, condition.uid)
        await eventually(lambda: statuses.clock.sleepers > 0)
        statuses.writer.set(statuses.condition("another reason"))
        await eventually_in_time(statuses, lambda: statuses.writer.outbox.statistics().written == 2)
        assert statuses.scheduled()["message"] == "another reason"
        assert "nominatedNodeName" not in statuses.pod()["status"]


async def test_a_condition_under_way_is_kept_with_the_release_that_overtakes_it() -> None:
    async with running_writer() as statuses:
        condition = await nominated(statuses)
        away(statuses, rounds=2)
        statuses.writer.set(statuses.condition("another reason"))
        await eventually(lambda: statuses.clock.sleepers > 0)
        statuses.writer.release(condition.namespace, condition.name, condition.uid)
        await eventually_in_time(statuses, lambda: statuses.writer.outbox.statistics().written == 2)
        assert statuses.scheduled()["message"] == "another reason"
        assert "nominatedNodeName" not in statuses.pod()["status"]


async def test_a_release_that_waits_does_not_undo_a_later_nomination() -> None:
    async with running_writer() as statuses:
        condition = await nominated(statuses)
        away(statuses, rounds=1)
        statuses.writer.release(condition.namespace, condition.name, condition.uid)
        await eventually(lambda: statuses.clock.sleepers > 0)
        statuses.writer.set(statuses.condition("again", nominated_node="n2"))
        await eventually_in_time(statuses, lambda: statuses.writer.outbox.statistics().written == 2)
        await eventually(statuses.rests)
        assert statuses.pod()["status"]["nominatedNodeName"] == "n2"


async def test_a_release_of_a_pod_that_left_is_not_kept() -> None:
    async with running_writer() as statuses:
        condition = await nominated(statuses)
        away(statuses, rounds=None)
        statuses.writer.release(condition.namespace, condition.name, condition.uid)
        await eventually_in_time(statuses, lambda: statuses.writer.outbox.statistics().failed >= 1)
        statuses.writer.forget(condition.uid)
        await eventually_in_time(statuses, statuses.rests)
        assert statuses.writer.outbox.statistics().written == 1


async def eventually_in_time(statuses: Statuses, true: Callable[[], bool]) -> None:
    """Each time somebody sleeps, until his sleep is over."""
    while not true():
        await eventually(lambda: true() or statuses.clock.sleepers > 0)
        await statuses.clock.advance(10)


async def test_a_forgotten_pod_is_written_again() -> None:
    async with running_writer() as statuses:
        statuses.writer.set(statuses.condition())
        await statuses.settled(1)
        statuses.writer.forget(statuses.condition().uid)
        statuses.writer.set(statuses.condition())
        await statuses.settled(2)


async def test_memory_of_what_was_written_is_bounded() -> None:
    async with running_writer(cache_max=1) as statuses:
        statuses.writer.set(statuses.condition())
        await statuses.settled(1)
        statuses.writer.set(statuses.condition(uid="another", name="b"))
        await eventually(lambda: statuses.writer.outbox.statistics().failed == 1)
        statuses.writer.set(statuses.condition())
        await statuses.settled(2)


async def test_a_nomination_is_written_alone() -> None:
    async with running_writer() as statuses:
        statuses.writer.nominate("default", "a", statuses.condition().uid, "n1")
        await statuses.writer.outbox.at_rest(statuses.condition().uid)
        assert statuses.pod()["status"]["nominatedNodeName"] == "n1"
        assert statuses.writer.outbox.statistics().written == 1


async def test_a_condition_from_before_a_nomination_is_written_again_after_it() -> None:
    """The same failure twice, and a node told in between: it must not stay."""
    async with running_writer() as statuses:
        failed = statuses.condition("no volume", nominated_node="")
        statuses.writer.set(failed)
        await statuses.settled(1)
        statuses.writer.nominate("default", "a", failed.uid, "n1")
        await statuses.settled(2)
        assert statuses.pod()["status"]["nominatedNodeName"] == "n1"
        statuses.writer.set(failed)
        await statuses.settled(3)
        assert "nominatedNodeName" not in statuses.pod()["status"]


async def test_a_node_goes_along_with_a_condition_that_waits() -> None:
    async with running_writer() as statuses:
        statuses.writer.set(statuses.condition(nominated_node=""))
        statuses.writer.nominate("default", "a", statuses.condition().uid, "n1")
        await statuses.settled(1)
        assert statuses.scheduled()["message"] == "no place"
        assert statuses.pod()["status"]["nominatedNodeName"] == "n1"


async def test_a_nomination_that_failed_is_not_written_later() -> None:
    async with running_writer() as statuses:
        away(statuses, rounds=1)
        statuses.writer.nominate("default", "a", statuses.condition().uid, "n1")
        await eventually_in_time(statuses, statuses.rests)
        assert statuses.writer.outbox.statistics().failed == 1
        assert "nominatedNodeName" not in statuses.pod()["status"]


async def test_the_generation_is_observed() -> None:
    async with running_writer() as statuses:
        statuses.writer.set(statuses.condition())
        await statuses.settled(1)
        assert statuses.scheduled()["observedGeneration"] == 1
        assert statuses.patches() == 1


async def test_a_later_generation_takes_no_more_patches() -> None:
    """Gates were lifted before, which counts it up."""
    async with running_writer() as statuses:
        await statuses.tolerate()
        statuses.writer.set(statuses.condition())
        await statuses.settled(1)
        assert statuses.pod()["metadata"]["generation"] == 2
        assert statuses.scheduled()["observedGeneration"] == 2
        assert statuses.patches() == 1
        statuses.writer.set(replace(statuses.condition(), generation=3))
        assert statuses.writer.unchanged == 1, "the generation alone is nothing to write"
        statuses.writer.set(statuses.condition("another reason"))
        await statuses.settled(2)
        assert statuses.patches() == 2


def test_an_unknown_generation_is_not_written() -> None:
    made = PodCondition("ns", "a", "u", ConditionReason.UNSCHEDULABLE, 'a "quoted"\nmessage')
    condition = json.loads(condition_body(replace(made, generation=3), None))["status"]
    assert condition["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": 'a "quoted"\nmessage',
            "observedGeneration": 3,
        }
    ]
    assert "observedGeneration" not in condition_body(made, None).decode()
    assert json.loads(condition_body(made, None))["metadata"] == {"uid": "u"}
