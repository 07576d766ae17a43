"""What another policy would have decided, in the cluster as it was, whoever decided."""

from __future__ import annotations

from pathlib import Path

from kpolicy import Program, compile_policy
from kpolicy.engine.opinions import Result
from kpolicy.offline.journal_replay.journal_input import read_journal
from kpolicy.offline.journal_replay.other_policy import Compared, OtherPolicy
from kpolicy.testing import node
from tests.unit.journal.journaled_engine import JournaledEngine, lines, on_node, pending

FENCED = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: fenced}
spec:
  base: kube-scheduler-default
  profiles: [{schedulerName: kpolicy}]
  predicates:
    - {name: not-the-first, expression: "node.name != 'n0'"}
"""


def program(policy: str = "") -> Program:
    compiled = compile_policy(policy or (), every_pod=True)
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program


def compare(folder: Path, policy: str = "") -> Compared:
    other = OtherPolicy(program(policy), threads=1)
    for epoch in read_journal([folder]).epochs:
        other.replay(epoch)
    return other.compared


def test_the_policy_that_decided_has_no_differences(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin(nodes=10)
    made.place(*(f"p{number}" for number in range(40)))
    made.close()
    found = compare(tmp_path)
    assert (found.decisions, found.different, found.results[Result.SAME]) == (40, 0, 40)


def test_one_difference_does_not_cause_the_next(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin(nodes=4)
    placed = made.place_one_by_one("web", 20)
    made.close()
    found = compare(tmp_path, FENCED)
    rejected = sorted(name for name, where in placed.items() if where == "n0")
    assert len(rejected) >= 3
    assert found.results[Result.WOULD_REJECT] == len(rejected) == found.different
    assert sorted(each.pod for each in found.differences) == [
        f"default/{name}" for name in rejected
    ]
    assert all(each.node == "n0" != each.other_node for each in found.differences)
    line = found.line()
    assert line["summary"]["results"]["would_reject"] == len(rejected)
    assert line["workloads"][f"default/{rejected[0]}"] == {"would_reject": 1}


def test_what_was_parked_may_have_a_place(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin(nodes=1, policy=FENCED)
    made.call("watch", "pods", lines(("ADDED", pending("waits"))), made.now())
    made.call("schedule", ["waits"], made.now())
    made.close()
    found = compare(tmp_path)
    (difference,) = found.differences
    assert (difference.result, difference.node, difference.other_node) == (
        Result.WOULD_PLACE,
        "",
        "n0",
    )


def test_binds_of_another_scheduler_are_compared_when_the_watch_shows_them(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path, recorder="kpolicy snapshot record")
    made.list("nodes", [node("n0", cpu="4"), node("n1", cpu="2")])
    made.list("pods", [pending("listed"), on_node("there", "n1")])
    events = [("ADDED", pending("a")), ("MODIFIED", on_node("a", "n0")), ("ADDED", pending("b"))]
    made.call("watch", "pods", lines(*events), made.now())
    made.call("watch", "pods", lines(("MODIFIED", on_node("listed", "n1"))), made.now())
    made.close()
    found = compare(tmp_path, FENCED)
    assert (found.decisions, found.binds) == (2, 2)
    assert [each.pod for each in found.differences] == ["default/a"]
    assert found.differences[0].result is Result.WOULD_REJECT
    assert "nodes" not in found.absent
    assert "persistentvolumes" in found.absent


def test_a_later_epoch_is_compared_too(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin(nodes=4)
    placed = made.place("a")
    made.begin_anew(4, placed)
    made.place("b", "c")
    made.close()
    assert compare(tmp_path).decisions == 3
