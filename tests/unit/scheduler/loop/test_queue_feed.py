"""The informers' sink: which pods the queue gets, and reports about unreadable objects."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kpolicy.engine import Wake
from kpolicy.scheduler.binding.reservations import DELETED, LEFT, Reservations
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import EngineSink, QueueFeed, Signals
from kpolicy.testing import pod
from tests.manual_clock import ManualClock
from tests.unit.scheduler.faulty_engine import FaultyEngine, applied
from tests.unit.scheduler.runtimes import runtime_of


class CountedSignals(Signals):
    """Counts how often work came."""

    times = 0

    def work_came(self) -> None:
        object.__setattr__(self, "times", self.times + 1)


class Rig:
    def __init__(self, *profiles: str) -> None:
        clock = ManualClock()
        self.left: list[str] = []
        self.engine, self.queue = FaultyEngine(), Queue(on_left=self._note_left)
        self.runtime = runtime_of(self.engine, clock)
        self.signals = CountedSignals()
        self.feed = QueueFeed(self.queue, clock, self.signals)
        self.reservations = Reservations(1, self.signals.work_came)
        self.sink = EngineSink(
            self.runtime, self.feed, self.reservations, on_heard=self._note_resource
        )
        self.resources: list[str] = []
        self.feed.serve(frozenset(profiles))

    def _note_left(self, uid: str) -> None:
        self.left.append(uid)
        self.reservations.pod_left(uid)

    def _note_resource(self, resource: str) -> None:
        self.resources.append(resource)

    @property
    def pokes(self) -> int:
        return self.signals.times


@contextmanager
def rig_of(*profiles: str) -> Iterator[Rig]:
    rig = Rig(*profiles)
    try:
        yield rig
    finally:
        rig.runtime.engine.stop()


@pytest.fixture
def rig() -> Iterator[Rig]:
    with rig_of("kpolicy") as made:
        yield made


def stored(name: str, version: str = "5", **words: Any) -> dict[str, Any]:
    made = pod(name, **words)
    made["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": version}
    return made


def page(*items: dict[str, Any], token: str = "") -> bytes:
    metadata = {"resourceVersion": "9", "continue": token}
    return json.dumps({"metadata": metadata, "items": items}).encode()


def line(kind: str, item: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


async def test_a_list_fills_the_queue_and_what_it_does_not_name_is_gone(rig: Rig) -> None:
    await rig.sink.list_begin("pods")
    read = await rig.sink.list_page("pods", page(stored("a"), stored("b"), token="more"))
    assert (read.continue_token, read.resource_version) == ("more", "9")
    await rig.sink.list_page("pods", page(stored("c")))
    await rig.sink.list_end("pods", "9")
    assert {pod.name for pod in rig.queue.pop_batch(10, 0)} == {"a", "b", "c"}
    assert rig.pokes
    await rig.sink.list_begin("pods")
    await rig.sink.list_page("pods", page(stored("b")))
    await rig.sink.list_end("pods", "10")
    assert (len(rig.queue), sorted(rig.left)) == (1, ["uid-a", "uid-c"])
    assert rig.runtime.metrics.engine_call_seconds.count(("list_page",)) == 3


async def test_only_pods_of_served_profiles_come_into_the_queue() -> None:
    lines = b"".join(
        line("ADDED", stored(name, scheduler_name=profile))
        for name, profile in (("a", "kpolicy"), ("b", "batch"), ("c", "default-scheduler"))
    )
    with rig_of("kpolicy", "batch") as two, rig_of("*") as everyone:
        await two.sink.lines("pods", lines)
        assert {pod.name for pod in two.queue.pop_batch(10, 0)} == {"a", "b"}
        await everyone.sink.lines("pods", lines)
        assert len(everyone.queue) == 3


async def test_a_pod_on_a_node_needs_us_no_more(rig: Rig) -> None:
    await rig.sink.lines("pods", line("ADDED", stored("a")) + line("ADDED", stored("b")))
    await rig.sink.lines("pods", line("MODIFIED", stored("a", node_name="n")))
    await rig.sink.lines("pods", line("DELETED", stored("b")))
    assert (len(rig.queue), rig.left) == (0, ["uid-a", "uid-b"])


async def test_wakes_move_parked_pods_and_say_why(rig: Rig) -> None:
    await rig.sink.lines("pods", line("ADDED", stored("a")))
    rig.queue.pop_batch(1, 0)
    rig.queue.parked("uid-a", ["Fit"], 0)
    pokes = rig.pokes
    await rig.feed.take_wakes([Wake("uid-a", "NodeAdd")])
    assert rig.queue.statistics().incoming["backoff", "NodeAdd"] == 1
    assert rig.pokes == pokes + 1


async def test_many_pods_are_taken_in_slices_and_none_is_lost(rig: Rig) -> None:
    lines = b"".join(line("ADDED", stored(f"p{number}")) for number in range(4500))
    await rig.sink.lines("pods", lines)
    assert len(rig.queue) == 4500


async def test_what_the_watch_says_of_itself_is_passed_on(rig: Rig) -> None:
    rig.engine.watch = lambda *_: applied(  # type: ignore[method-assign]
        "7", status=(410, "Expired", "too old")
    )
    read = await rig.sink.lines("pods", b"")
    assert read.resource_version == "7"
    assert read.status is not None
    assert (read.status.code, read.status.reason, read.status.message) == (
        410,
        "Expired",
        "too old",
    )


async def test_an_unreadable_object_is_counted_each_time_and_named_once(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    bad = stored("bad")
    bad["spec"]["containers"] = 1
    with caplog.at_level(logging.WARNING, "kpolicy"):
        for _ in range(3):
            await rig.sink.lines("pods", line("MODIFIED", bad) + line("ADDED", stored("good")))
    assert rig.sink.unreadable == {"pods": 3}
    assert [record.getMessage() for record in caplog.records] == [
        "cannot read pods Pod default/bad: it is left out of every decision"
    ]
    assert len(rig.queue) == 1, "only that object may fail"


async def test_a_placement_on_a_deleted_node_is_withdrawn_before_its_bind(rig: Rig) -> None:
    deleted, kept = rig.reservations.begin("a", "n1"), rig.reservations.begin("b", "n2")
    nodes = [{"metadata": {"name": name, "resourceVersion": "1"}} for name in ("n1", "n2")]
    await rig.sink.lines("nodes", b"".join(line("ADDED", found) for found in nodes))
    assert (deleted.withdrawn, kept.withdrawn) == (None, None)
    await rig.sink.lines("nodes", line("DELETED", nodes[0]))
    assert deleted.withdrawn is not None
    assert deleted.withdrawn.message == "node n1 was deleted before the bind"
    await rig.sink.list_begin("nodes")
    await rig.sink.list_end("nodes", "9")
    assert kept.withdrawn is not None, "the new list does not name it"


async def test_a_placement_ends_before_its_bind_when_its_pod_is_deleted_or_bound_elsewhere(
    rig: Rig,
) -> None:
    await rig.sink.lines("pods", b"".join(line("ADDED", stored(name)) for name in "abc"))
    deleted, bound, kept = (rig.reservations.begin(f"uid-{name}", "n1") for name in "abc")
    await rig.sink.lines("pods", line("MODIFIED", stored("b", node_name="n2")))
    await rig.sink.lines("pods", line("DELETED", stored("a")))
    assert (deleted.withdrawn, bound.withdrawn, kept.withdrawn) == (DELETED, LEFT, None)
