"""A whole journal is replayed epoch after epoch, with sums."""

from __future__ import annotations

import gc
from pathlib import Path

from kpolicy.offline.journal_replay.journal_input import read_journal
from kpolicy.offline.journal_replay.whole_journal import replay, replay_with
from kpolicy.offline.limits import OBJECTS_A_COLLECTION
from tests.unit.journal.journaled_engine import NOW_NS, JournaledEngine
from tests.unit.offline.journal_replay.test_other_policy import program


def test_the_sum_is_over_all_epochs(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin(nodes=4)
    placed = made.place("a", "b")
    made.clock.stand_still(60)
    made.begin_anew(4, placed)
    made.place("c")
    made.close()
    journal = read_journal([tmp_path])
    whole = replay(journal)
    assert (whole.decisions, whole.different, whole.is_whole) == (3, 0, True)
    assert [line["decisions"] for line in whole.line()["epochs"]] == [2, 1]
    assert replay(journal, until_ns=NOW_NS + 1).decisions == 2
    assert replay(journal, until_ns=NOW_NS - 1).engine is None
    assert replay_with(journal, program()).decisions == 3
    assert replay_with(journal, program(), until_ns=NOW_NS + 1).decisions == 2


def test_python_collects_garbage_as_before_when_a_replay_is_over(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin(nodes=4)
    made.place("a")
    made.close()
    journal = read_journal([tmp_path])
    before, during = gc.get_threshold(), set[int]()

    def look(_decisions: int) -> None:
        during.add(gc.get_threshold()[0])

    replay(journal, progress=look)
    replay_with(journal, program(), progress=look)
    assert during == {max(before[0], OBJECTS_A_COLLECTION)}
    assert gc.get_threshold() == before
