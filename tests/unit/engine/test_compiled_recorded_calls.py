"""Calls that are read before their turn, and made many at a time, change the engine as single calls
do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kpolicy.engine import (
    Engine,
    KeptDifferences,
    Labelled,
    Located,
    MadeCalls,
    OtherBinds,
    RecordedCalls,
    decisions_json,
    make_calls,
    read_calls,
)
from kpolicy.engine.opinions import Result
from kpolicy.testing import node, pod
from tests.unit.journal.journaled_engine import NOW_NS, lines, on_node, page, pending, program

KERNEL = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: kernel}
spec:
  base: kube-scheduler-default
  profiles: [{schedulerName: kpolicy}]
  predicates:
    - {name: new-kernel, expression: "node.status.nodeInfo.kernelVersion == '6.1'"}
"""
EVENTS = lines(
    ("ADDED", pending("a")),
    ("MODIFIED", on_node("a", "n0")),
    ("ADDED", pending("b")),
    ("ADDED", on_node("c", "n1")),
    ("DELETED", pending("b")),
    ("MODIFIED", on_node("listed", "n1")),
)


def engine(policy: str = "") -> Engine:
    made = Engine(7, threads=1)
    assert made.load(program(policy)) == []
    for resource, items in (
        ("nodes", [node("n0", cpu="4"), node("n1", cpu="4")]),
        ("pods", [pending("listed")]),
    ):
        made.list_begin(resource)
        made.list_page(resource, page(resource, items), NOW_NS)
        made.list_end(resource, NOW_NS)
    return made


class Recorded:
    """Calls in a row, as a replay has them."""

    def __init__(self) -> None:
        self.records = b""
        self.calls: list[Any] = []

    def watch(self, resource: str, text: bytes) -> Recorded:
        start, end = self._put(text)
        self.calls.append(("watch", resource, start, end, NOW_NS, NOW_NS + 1))
        return self

    def schedule(self, uids: object, answer: bytes) -> Recorded:
        self.calls.append(("schedule", *self._line(uids), *self._put(answer)))
        return self

    def decided(self, answer: bytes, *, is_extended: bool = False) -> Recorded:
        self.calls.append(("decided", is_extended, NOW_NS + 1, *self._put(answer)))
        return self

    def settle(self, *outcomes: object) -> Recorded:
        self.calls.append(("settle", *self._line(outcomes)))
        return self

    def read(self, of: Engine) -> RecordedCalls:
        [(calls, count)] = read_calls(of, self.records, self.calls)
        assert count == len(self.calls)
        return calls

    def rows(self) -> list[int]:
        return [count for _, count in read_calls(engine(), self.records, self.calls)]

    def _line(self, argument: object) -> tuple[int, int]:
        return self._put(json.dumps([argument, NOW_NS]).encode())

    def _put(self, text: bytes) -> tuple[int, int]:
        start = len(self.records)
        self.records += text
        return start, len(self.records)


def decided(of: Engine, *uids: str) -> bytes:
    return decisions_json(*of.schedule(uids, NOW_NS)[:3])


def test_the_engine_writes_the_same_bytes_of_its_decisions_as_python_has() -> None:
    recording = engine()
    recording.watch("pods", lines(("ADDED", pending("a")), ("ADDED", pending("b"))), NOW_NS)
    recording.records = True
    uids = ["a", "unknown", "b", "listed"]
    scheduled = recording.schedule(uids, NOW_NS)
    assert len(scheduled.decisions) == len(uids)
    assert scheduled.recorded == decisions_json(*scheduled[:3])


def test_lines_leave_the_engine_as_a_watch_does() -> None:
    watching, making = engine(), engine()
    watching.watch("pods", EVENTS, NOW_NS)
    calls = Recorded().watch("pods", EVENTS).read(making)
    assert make_calls(making, calls, 5).calls == 1
    assert making.holdings() == watching.holdings()
    assert b'"default/c"' in making.holdings()
    assert (make_calls(making, calls, 5).calls, calls.made()) == (0, 1), "they are made once"
    assert making.holdings() == watching.holdings()


def test_they_stop_at_pods_that_another_scheduler_placed() -> None:
    making = engine()
    calls = Recorded().watch("pods", EVENTS).settle().read(making)

    def reported() -> MadeCalls:
        return make_calls(making, calls, 2, binds=OtherBinds.REPORTED)

    assert (reported().placed, calls.made()) == (Located("a", "default", "a", "n0"), 0)
    assert [pod.uid for pod in making.pending()] == ["a", "listed"], "it is as before that event"
    assert reported().placed == Located("listed", "default", "listed", "n1")
    assert (reported().placed, calls.made()) == (None, 2)
    assert making.pending() == []


def test_binds_of_another_scheduler_are_judged() -> None:
    making = engine()
    shown = lines(
        ("ADDED", pending("a")),
        ("MODIFIED", on_node("a", "n0")),
        ("MODIFIED", on_node("listed", "of-no-node")),
    )
    calls = Recorded().watch("pods", shown).read(making)
    made = make_calls(making, calls, 1, binds=OtherBinds.JUDGED)
    assert (made.calls, made.binds, made.placed) == (1, 2, None)
    assert made.results == {Result.SAME: 1, Result.WOULD_REJECT: 1}
    (other,) = made.disagreements
    assert (other.pod, other.node, other.at_ns) == ("default/listed", "of-no-node", NOW_NS + 1)
    assert other.result is Result.WOULD_REJECT


def test_a_pod_that_was_decided_here_is_not_of_another_scheduler() -> None:
    making = engine()
    (decision,) = making.schedule(["listed"], NOW_NS).decisions
    shown = lines(("MODIFIED", pending("listed")), ("MODIFIED", on_node("listed", decision.node)))
    calls = Recorded().watch("pods", shown).read(making)
    assert make_calls(making, calls, 1, binds=OtherBinds.REPORTED).placed is None
    assert making.located(["listed"])[0].node == decision.node


def test_lines_read_for_another_program_are_read_again() -> None:
    late = node("late", cpu="4")
    late["status"]["nodeInfo"] = {"kernelVersion": "6.1"}
    making = engine()
    calls = Recorded().watch("nodes", lines(("ADDED", late))).read(making)
    assert making.load(program(KERNEL)) == []
    make_calls(making, calls, 1)
    (decision,) = making.schedule(["listed"], NOW_NS).decisions
    assert decision.node == "late"


def test_they_end_after_other_decisions_than_were_recorded() -> None:
    first, making = engine(), engine()
    same = decided(first, "listed")
    shown = lines(("ADDED", pending("a")))
    first.watch("pods", shown, NOW_NS)
    now = decided(first, "a")
    calls = (
        Recorded()
        .schedule(["listed"], same)
        .watch("pods", shown)
        .schedule(["a"], now.replace(b'"default"', b'"other"'))
        .settle(("a", 0))
        .read(making)
    )
    made = make_calls(making, calls, 9)
    assert (made.calls, made.decisions, made.different) == (3, 2, now)
    assert make_calls(making, calls, 9).calls == 1


def test_decisions_are_judged_and_taken_over() -> None:
    making = engine()
    answer = decided(engine(), "listed")
    (placed,) = (name for name in ("n0", "n1") if name.encode() in answer)
    assert make_calls(making, Recorded().decided(answer).read(making), 1)[:2] == (1, 1)
    assert making.located(["listed"])[0].node == placed

    making = engine()
    parked = answer.replace(b",[[0],", b",[[1],")
    assert parked != answer
    made = make_calls(making, Recorded().decided(parked, is_extended=True).read(making), 1)
    (other,) = made.disagreements
    assert (other.node, other.result, other.is_extended) == ("", Result.WOULD_PLACE, True)
    assert other.other_node
    assert made.workloads == []


def test_differences_beyond_the_bound_are_counted_by_workload() -> None:
    first, making = engine(), engine()
    names = [f"p{number}" for number in range(4)]
    pods = [pending(name) for name in names]
    for shown in pods[:3]:
        shown["metadata"]["labels"] = {"app": "web"}
    added = lines(*(("ADDED", shown) for shown in pods))
    for each in (first, making):
        each.watch("pods", added, NOW_NS)
    placed = decided(first, *names)
    parked = placed.replace(b",[[0],", b",[[1],")
    # A pod that is gone, or is not served, is no difference.
    unknown = parked.replace(b"p0", b"no")
    calls = Recorded().decided(unknown).decided(parked.replace(b"p1", b"no")).read(making)
    made = make_calls(making, calls, 2, kept=KeptDifferences(3, ["app"]))
    assert [other.pod for other in made.disagreements] == ["default/p1", "default/p2", "default/p3"]
    assert made.results == {Result.NOT_JUDGED: 2, Result.WOULD_PLACE: 6}
    assert [(pod.name, results) for pod, results in made.workloads] == [
        ("p1", {Result.WOULD_PLACE: 4}),
        ("p3", {Result.WOULD_PLACE: 2}),
    ]


def test_what_is_about_objects_alone_is_made_alone() -> None:
    first, making = engine(), engine()
    answer = decided(first, "listed")
    calls = Recorded().decided(answer).watch("pods", EVENTS).read(making)
    made = make_calls(making, calls, 2, only_objects=True)
    assert (made.calls, made.results) == (2, {})
    assert b'"default/c"' in making.holdings()


@pytest.mark.parametrize("answer", [b"[", b"[1]", b'["h","1",2,[[1],[2]]]', b'["h","1",9,[]]'])
def test_decisions_of_another_form_part_two_rows(answer: bytes) -> None:
    assert Recorded().settle().decided(answer).settle().settle().rows() == [1, 2]


def test_arguments_of_another_form_part_two_rows() -> None:
    calls = Recorded().settle(("a", 0)).settle(("a", 9)).settle("a").schedule(["a", 7], b"[]")
    assert calls.settle(("a", 2)).rows() == [1, 0, 0, 1]
    assert Recorded().schedule("a", b"[]").rows() == [0, 0]


def test_a_row_ends_where_a_call_cannot_be_read() -> None:
    making = engine()
    other = lines(("ADDED", pending("other")))
    calls = Recorded().watch("pods", EVENTS).settle(("a", 9)).watch("pods", other)
    (first, _), (second, _) = read_calls(making, calls.records, calls.calls)
    assert make_calls(making, first, 9).calls == 1
    assert b'"default/other"' not in making.holdings()
    assert make_calls(making, second, 9).calls == 1
    assert b'"default/other"' in making.holdings()


def test_decisions_of_the_engine_and_of_python_are_the_same_bytes() -> None:
    """In the first and the last call, the engine writes its own decisions; there is a pod of each
    verdict."""
    making = engine()
    shown = lines(
        ("ADDED", pending("fits")),
        ("ADDED", pending('w\u00e4r "q"', priority=5)),
        ("ADDED", pending("huge") | {"spec": pod("huge", cpu="64")["spec"]}),
        ("ADDED", on_node("low", "n0")),
    )
    making.watch("pods", shown, NOW_NS)
    uids = ["fits", "huge", "unknown", "listed", 'w\u00e4r "q"']
    calls = Recorded().schedule(uids, b"[]").read(making)
    (again,) = [make_calls(making, calls, 1).different]
    watching, recording = engine(), engine()
    recording.records = True
    for each in (watching, recording):
        each.watch("pods", shown, NOW_NS)
    assert again == decided(watching, *uids)
    assert again == recording.schedule(uids, NOW_NS).recorded
    assert len(set(json.loads(again)[3][0])) > 2


def test_workloads_are_told_by_owner_and_labels() -> None:
    taking = engine()
    web = pending("web-1")
    web["metadata"] |= {
        "labels": {"app": "web"},
        "ownerReferences": [
            {"kind": "Other", "name": "no", "uid": "x"},
            {"kind": "ReplicaSet", "name": "web", "uid": "y", "controller": True},
        ],
    }
    taking.watch("pods", lines(("ADDED", web)), NOW_NS)
    assert taking.labelled(["web-1", "unknown", "listed"]) == [
        Labelled("web-1", "default", "web-1", "web", [("app", "web")]),
        Labelled("listed", "default", "listed", "", []),
    ]
