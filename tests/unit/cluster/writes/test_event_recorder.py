"""Events are written as kube-scheduler writes them, and never delay binds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.limits import EVENT_QUEUE_MAX
from kpolicy.cluster.writes.event_recorder import (
    EventRecorder,
    Occurrence,
    Reference,
    SeriesMemory,
    cut_note,
    event_body,
    event_name,
)
from kpolicy.testing import ControlPlane, FaultRule, RequestFault, ScriptedFaults
from kpolicy.testing.objects.object_views import to_new
from tests.manual_clock import ManualClock
from tests.unit.cluster.doubles import client, eventually

POD = Reference("default", "a", "uid-a")
MESSAGE = "0/3 nodes are available: 3 Insufficient cpu."


@dataclass
class Events:
    control_plane: ControlPlane
    recorder: EventRecorder
    clock: ManualClock

    def stored(self) -> list[Mapping[str, Any]]:
        return [to_new(event) for event in self.control_plane.objects("Event")]

    async def settled(self, written: int) -> None:
        await eventually(lambda: self.recorder.outbox.statistics().written == written)


@asynccontextmanager
async def running_recorder() -> AsyncIterator[Events]:
    clock = ManualClock()
    async with ControlPlane() as control_plane, client(control_plane.url, clock) as api:
        recorder = EventRecorder(api, clock, "kpolicy-0")
        task = asyncio.create_task(recorder.run())
        try:
            yield Events(control_plane, recorder, clock)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_scheduled_reads_as_kube_schedulers() -> None:
    async with running_recorder() as recorder:
        recorder.recorder.scheduled(POD, "n1", "my-profile")
        await recorder.settled(1)
        event = recorder.stored()[0]
        assert event["type"] == "Normal"
        assert event["reason"] == "Scheduled"
        assert event["action"] == "Binding"
        assert event["note"] == "Successfully assigned default/a to n1"
        assert event["reportingController"] == "my-profile"
        assert event["reportingInstance"] == "kpolicy-0"
        assert event["eventTime"] == "2023-11-14T22:13:20.000000Z"
        assert event["regarding"] == {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "default",
            "name": "a",
            "uid": "uid-a",
        }
        assert event["metadata"]["name"].startswith("a.")
        assert "series" not in event


async def test_failed_scheduling_reads_as_kube_schedulers() -> None:
    async with running_recorder() as recorder:
        recorder.recorder.failed_scheduling(POD, MESSAGE, "my-profile")
        await recorder.settled(1)
        event = recorder.stored()[0]
        assert (event["type"], event["reason"], event["action"], event["note"]) == (
            "Warning",
            "FailedScheduling",
            "Scheduling",
            MESSAGE,
        )


async def test_identical_ones_are_one_event_with_a_count() -> None:
    async with running_recorder() as recorder:
        for _ in range(5):
            recorder.recorder.failed_scheduling(POD, MESSAGE, "p")
            await recorder.clock.advance(10)
            await eventually(lambda: recorder.recorder.outbox.statistics().waiting == 0)
        await recorder.settled(2)
        await recorder.clock.advance(80)  # the counts of the last minute are written at the next
        await recorder.settled(3)
        assert [event["series"]["count"] for event in recorder.stored()] == [5]


async def test_another_note_pod_or_profile_is_another_event() -> None:
    async with running_recorder() as recorder:
        recorder.recorder.failed_scheduling(POD, MESSAGE, "p")
        recorder.recorder.failed_scheduling(POD, MESSAGE + "!", "p")
        recorder.recorder.failed_scheduling(POD, MESSAGE, "q")
        recorder.recorder.failed_scheduling(Reference("default", "a", "uid-b"), MESSAGE, "p")
        await recorder.settled(4)
        assert len({event["metadata"]["name"] for event in recorder.stored()}) == 4


async def test_after_six_minutes_it_is_a_new_event() -> None:
    async with running_recorder() as recorder:
        recorder.recorder.failed_scheduling(POD, MESSAGE, "p")
        await recorder.settled(1)
        await recorder.clock.advance(361)
        recorder.recorder.failed_scheduling(POD, MESSAGE, "p")
        await recorder.settled(2)
        assert len(recorder.stored()) == 2


async def test_an_event_that_could_not_be_written_is_written_again() -> None:
    async with running_recorder() as recorder:
        fault = FaultRule(RequestFault(status=403), resource="events")
        recorder.control_plane.faults = ScriptedFaults([fault])
        recorder.recorder.failed_scheduling(POD, MESSAGE, "p")
        await eventually(lambda: recorder.recorder.outbox.statistics().failed == 1)
        recorder.recorder.failed_scheduling(POD, MESSAGE, "p")
        await recorder.settled(1)
        assert len(recorder.stored()) == 1


async def test_a_busy_server_is_tried_again() -> None:
    async with running_recorder() as recorder:
        fault = FaultRule(RequestFault(status=429), resource="events", times=2)
        recorder.control_plane.faults = ScriptedFaults([fault])
        recorder.recorder.scheduled(POD, "n1", "p")
        for _ in range(2):
            await eventually(
                lambda: recorder.clock.sleepers == 2
            )  # the retry, and the count's minute
            await recorder.clock.jump()
        await recorder.settled(1)
        assert len(recorder.stored()) == 1


@pytest.mark.parametrize(
    "fault",
    [
        RequestFault(
            status=403, message="unable to create new content because it is being terminated"
        ),
        RequestFault(status=404, message='namespaces "default" not found'),
    ],
    ids=["terminating", "gone"],
)
async def test_nothing_more_is_written_in_a_namespace_that_goes(fault: RequestFault) -> None:
    async with running_recorder() as recorder:
        refusal = FaultRule(fault, resource="events", namespace="default", times=None)
        recorder.control_plane.faults = ScriptedFaults([refusal])
        recorder.recorder.failed_scheduling(POD, MESSAGE, "p")
        await eventually(lambda: recorder.recorder.outbox.statistics().failed == 1)
        for number in range(20):
            name = f"p{number}"
            recorder.recorder.failed_scheduling(Reference("default", name, "u"), MESSAGE, "p")
            recorder.recorder.failed_scheduling(Reference("kube-system", name, "u"), MESSAGE, "p")
        await recorder.settled(20)
        posted = [call for call in recorder.control_plane.audit() if call.resource == "events"]
        assert sum(call.namespace == "default" for call in posted) == 1
        await recorder.clock.advance(61)
        recorder.recorder.scheduled(POD, "n1", "p")
        await eventually(lambda: recorder.recorder.outbox.statistics().failed == 2)
        posted = [call for call in recorder.control_plane.audit() if call.resource == "events"]
        assert sum(call.namespace == "default" for call in posted) == 2


async def test_when_the_queue_is_full_events_are_dropped_and_counted() -> None:
    async with running_recorder() as recorder:
        for number in range(EVENT_QUEUE_MAX + 100):
            recorder.recorder.scheduled(Reference("default", f"p{number}", "u"), "n1", "p")
        assert recorder.recorder.outbox.statistics().dropped == 100


@pytest.mark.parametrize("size", [1023, 1024])
def test_a_note_that_fits_is_left_alone(size: int) -> None:
    assert cut_note("x" * size) == "x" * size


@given(st.text(min_size=300, max_size=1500, alphabet="aé€😀"))
def test_a_long_note_is_cut_as_kube_scheduler_cuts_within_whole_characters(note: str) -> None:
    cut = cut_note(note)
    assert len(cut.encode()) <= 1024
    if cut != note:
        assert cut.endswith(" ...")
        assert note.startswith(cut[:-4])
        assert len(cut.encode()) >= 1024 - 3


def test_cutting_ascii_keeps_1020_bytes() -> None:
    assert cut_note("x" * 1025) == "x" * 1020 + " ..."


@pytest.mark.parametrize("name", ["a", "a" * 253, "a" * 235 + "." + "b" * 17, "a" * 236 + "-b"])
def test_names_are_subdomains_of_at_most_253_bytes(name: str) -> None:
    made = event_name(name, 0x17_0000_0000_0000_00)
    assert len(made) <= 253
    assert made.startswith(name[:200])
    assert ".." not in made
    assert "-." not in made


@given(st.text(), st.text())
def test_any_text_makes_a_body_that_is_json(note: str, name: str) -> None:
    occurrence = Occurrence(Reference("", name, "u", "Node"), "Warning", "R", "A", note, "c", POD)
    document = json.loads(event_body(occurrence, "n.1", 0, "i"))
    assert document["regarding"] == {"apiVersion": "v1", "kind": "Node", "name": name, "uid": "u"}
    assert document["metadata"]["namespace"] == "default"
    assert document["related"]["name"] == "a"


def seconds(number: float) -> int:
    return round(number * NANOSECONDS)


def test_within_six_minutes_of_the_last_it_is_the_same_series() -> None:
    memory = SeriesMemory()
    assert memory.seen("k", 0, 0) is None
    memory.begin("k", "ns", "e1", 0, 0)
    for number in range(1, 11):
        series = memory.seen("k", seconds(360 * number), 0)
        assert series is not None
        assert series.count == number + 1
    assert memory.seen("k", seconds(360 * 10 + 361), 0) is None
    assert memory.seen("other", 0, 0) is None


def test_the_first_repetition_is_written_at_once_later_ones_once_a_minute() -> None:
    memory, written = SeriesMemory(), []
    memory.begin("k", "ns", "e1", 0, 0)
    for second in range(1, 200):
        series = memory.seen("k", seconds(second), 0)
        assert series is not None
        if memory.worth_writing(series, seconds(second)):
            memory.written(series, seconds(second))
            written.append((second, series.count))
    assert written == [(1, 2), (61, 62), (121, 122), (181, 182)]


def test_a_count_not_yet_written_is_due_after_a_minute_and_at_the_end() -> None:
    memory = SeriesMemory()
    memory.begin("k", "ns", "e1", 0, 0)
    for second in (1, 2):
        series = memory.seen("k", seconds(second), 0)
        assert series is not None
        if memory.worth_writing(series, seconds(second)):
            memory.written(series, seconds(second))
    assert list(memory.due(seconds(30))) == []
    assert [series.count for series in memory.due(seconds(61))] == [3]
    assert len(memory) == 1
    assert [series.count for series in memory.due(seconds(363))] == [3]
    assert len(memory) == 0


def test_the_least_recently_seen_is_forgotten_beyond_the_bound() -> None:
    memory = SeriesMemory(series_max=2)
    memory.begin("a", "ns", "1", 0, 0)
    memory.begin("b", "ns", "2", 0, 0)
    memory.seen("a", 1, 1)
    memory.begin("c", "ns", "3", 0, 0)
    assert memory.seen("b", 2, 2) is None
    assert memory.seen("a", 2, 2) is not None
    assert len(memory) == 2
