"""What two policies would have decided in the hours that a journal has."""

from __future__ import annotations

from pathlib import Path

import pytest

from kpolicy import Program, compile_policy
from kpolicy.journal import segment_files
from kpolicy.offline.journal_replay.journal_input import read_journal
from kpolicy.offline.pages.plan_page import plan_page
from kpolicy.offline.plan.journal_plan import journal_plan
from kpolicy.offline.plan.node_measures import Measures
from kpolicy.offline.plan.plan_model import Change, InputPlan, Plan
from kpolicy.offline.reports.plan_markdown import plan_markdown
from kpolicy.offline.reports.plan_text import plan_text
from tests.unit.journal.journaled_engine import JournaledEngine, lines, pending
from tests.unit.offline.journal_replay.test_other_policy import FENCED
from tests.unit.offline.pages.page_reading import rows

# To this one, all nodes with room are equal.
NOTHING_SCORED = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: anywhere}
spec:
  base: none
  profiles: [{schedulerName: kpolicy}]
  predicates: [{builtin: NodeResourcesFit}]
"""


def program(policy: str = "") -> Program:
    compiled = compile_policy(policy or (), every_pod=True)
    assert compiled.program is not None, compiled.diagnostics
    return compiled.program


def planned(folder: Path, old: str, new: str) -> InputPlan:
    return journal_plan(read_journal([folder]), program(old), program(new), name="journal")


def test_a_rule_makes_changes_and_chance_makes_none(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin(nodes=4)
    placed = made.place_one_by_one("web", 20)
    made.close()
    assert planned(tmp_path, "", "").changes == ()
    found = planned(tmp_path, "", FENCED)
    on_first = sorted(name for name, where in placed.items() if where == "n0")
    assert len(on_first) >= 3
    assert sorted(change.pod for change in found.changes) == [f"default/{n}" for n in on_first]
    counts = found.counts
    assert (counts.pods, counts.old.placed, counts.new.placed) == (20, 20, 20)
    assert counts.count(Change.MOVED) == len(on_first)
    assert all(change.old == "n0" != change.new for change in found.changes)
    assert {change.rule for change in found.changes} == {"not-the-first"}


def test_what_a_journal_cannot_say_is_said_with_where_to_find_it(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin(nodes=2)
    made.place("web")
    made.close()
    plan = Plan("old", "new", (planned(tmp_path, "", ""),))
    for text in ("\n".join(plan_text(plan)), plan_markdown(plan)):
        assert "no fullness, fragmentation, cost or evictions of a journal" in text
        assert "kpolicy simulate" in text
    missing = plan.line()["inputs"][0]["notMeasured"]
    assert missing == ["fullness", "fragmentation", "cost", "evictions"]
    page = plan_page(plan.line())
    assert [row[:2] for row in rows(page, "What the plan does not measure")] == [
        ["journal", ", ".join(missing)]
    ]
    assert "nodes in use" not in page
    without = Plan("old", "new", (InputPlan("snapshot", "s", {}, (), Measures()),))
    assert "journal" not in "\n".join(plan_text(without))
    assert "What the plan does not measure" not in plan_page(without.line())


def test_why_a_pod_would_have_been_parked(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin(nodes=1)
    made.place("a", "b")
    made.close()
    found = planned(tmp_path, "", FENCED)
    assert [change.change for change in found.changes] == [Change.PARKED, Change.PARKED]
    assert {change.rule for change in found.changes} == {"not-the-first"}
    assert all(change.message.startswith("0/1 nodes are available") for change in found.changes)


def test_the_new_policy_takes_the_node_of_the_old_one_where_it_is_as_good(tmp_path: Path) -> None:
    """The recorded node is one that the old policy rejects: it wants another, which the new policy
    finds as good as any."""
    made = JournaledEngine(tmp_path)
    made.begin(nodes=6)
    placed = made.place(*(f"web-{number}" for number in range(12)))
    made.close()
    assert "n0" in placed.values()
    rejecting = NOTHING_SCORED.replace(
        "predicates: [", "predicates: [{name: a, expression: \"node.name != 'n0'\"}, "
    )
    assert planned(tmp_path, rejecting, NOTHING_SCORED).changes == ()


def test_of_a_pod_that_is_tried_often_the_last_decision_counts(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin(nodes=1, policy=FENCED)
    made.call("watch", "pods", lines(("ADDED", pending("waits"))), made.now())
    for _ in range(3):
        made.call("schedule", ["waits"], made.now())
    made.close()
    found = planned(tmp_path, FENCED, "")
    (change,) = found.changes
    assert (change.change, change.old, change.new) == (Change.PLACED, "", "n0")
    assert (change.rule, change.message) == ("not-the-first", "")
    assert (found.decisions, found.counts.pods) == (3, 1)
    assert (found.counts.old.parked, found.counts.new.placed) == (1, 1)


def test_a_missing_segment_is_named_and_what_comes_before_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_files, "CHUNK_BYTES", 4096)
    monkeypatch.setattr(segment_files, "SEGMENTS", 64)
    made = JournaledEngine(tmp_path, bytes_max=1 << 18)
    made.begin(nodes=4)
    made.place_one_by_one("web", 90)
    made.close()
    segments = sorted(tmp_path.glob("*.kpsnap"))
    assert len(segments) >= 3
    segments[1].unlink()
    found = planned(tmp_path, "", FENCED)
    assert 0 < found.counts.pods < 90
    gap = found.problems[0]
    assert (gap.code, gap.source) == ("JournalGap", str(segments[0]))
    assert "segment 2 is missing" in gap.message
