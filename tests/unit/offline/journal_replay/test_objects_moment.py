"""The objects of a journal's moment are those that lists and watches had shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kpolicy.journal import segment_files
from kpolicy.journal.limits import DISK_BYTES_MIN
from kpolicy.offline.journal_replay.journal_input import read_journal
from kpolicy.offline.journal_replay.objects_moment import ObjectsMoment, objects_at
from kpolicy.offline.snapshots.cluster_snapshot import node_of
from kpolicy.offline.snapshots.json_objects import name_of
from kpolicy.offline.snapshots.snapshot_problem import Problem
from tests.unit.journal.journaled_engine import NOW_NS, JournaledEngine, lines, on_node, pending

SECOND_NS = 1_000_000_000


def moment(folder: Path, at_ns: int | None = None) -> ObjectsMoment:
    found = objects_at(read_journal([folder]), at_ns)
    assert isinstance(found, ObjectsMoment), found
    return found


def pods(found: ObjectsMoment) -> dict[str, str]:
    return {name_of(item): node_of(item) for item in found.objects if item["kind"] == "Pod"}


def versioned(item: dict[str, Any], version: int) -> dict[str, Any]:
    item["metadata"]["resourceVersion"] = str(version)
    return item


def test_watches_change_what_lists_showed(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin(nodes=2)
    placed = made.place("a", "b")
    made.clock.stand_still(60)
    made.call("watch", "pods", lines(("DELETED", on_node("a", placed["a"]))), made.now())
    made.close()
    before, after = moment(tmp_path, NOW_NS + SECOND_NS), moment(tmp_path)
    assert pods(before) == placed
    assert pods(after) == {"b": placed["b"]}
    assert (before.at_ns, after.at_ns) == (NOW_NS, NOW_NS + 60 * SECOND_NS)
    assert {item["apiVersion"] for item in after.objects} == {"v1"}
    assert sorted(name_of(item) for item in after.objects if item["kind"] == "Node") == ["n0", "n1"]


def test_what_a_new_list_does_not_name_is_gone(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin()
    made.place("a", "b")
    made.list("pods", [pending("c")])
    made.close()
    assert pods(moment(tmp_path)) == {"c": ""}


def test_an_older_state_that_comes_late_changes_nothing(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin()
    made.call("watch", "pods", lines(("ADDED", versioned(pending("a"), 7))), made.now())
    made.call("wrote", "pods", lines(("MODIFIED", versioned(on_node("a", "n1"), 10))))
    made.call("watch", "pods", lines(("MODIFIED", versioned(pending("a"), 9))), made.now())
    made.close()
    assert pods(moment(tmp_path)) == {"a": "n1"}


def test_moments_that_the_journal_does_not_have_are_problems(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin()
    made.close()
    codes = {}
    for seconds in (-1, 1):
        found = objects_at(read_journal([tmp_path]), NOW_NS + seconds * SECOND_NS)
        assert isinstance(found, Problem)
        codes[seconds] = found.code
    assert codes == {-1: "BeforeJournal", 1: "AfterJournal"}


def test_without_its_first_segment_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_files, "CHUNK_BYTES", 512)
    monkeypatch.setattr(segment_files, "SEGMENTS", 4096)
    made = JournaledEngine(tmp_path, bytes_max=DISK_BYTES_MIN)
    made.begin()
    made.place(*(f"p{number}" for number in range(4)))
    made.close()
    first, *rest = sorted(tmp_path.glob("*.kpsnap"))
    assert rest
    first.unlink()
    found = objects_at(read_journal([tmp_path]))
    assert isinstance(found, Problem)
    assert found.code == "JournalGap"
