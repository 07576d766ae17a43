"""Records that are read ahead come in their order, and nothing is told before its turn."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from kpolicy.engine import Engine
from kpolicy.journal import segment_files
from kpolicy.journal.engine_calls import BrokenRecordError, Call, Record
from kpolicy.offline.journal_replay.calls_at_once import Decisions
from kpolicy.offline.journal_replay.journal_input import Epoch, EpochReader, read_journal
from kpolicy.offline.journal_replay.read_ahead import Ahead, AheadCalls, AheadRecord, read_ahead
from kpolicy.offline.journal_replay.same_decisions import replayed_epoch
from kpolicy.offline.limits import PIECES_AHEAD
from kpolicy.offline.snapshots.snapshot_problem import CUT_OFF
from tests.unit.engine.test_compiled_recorded_calls import KERNEL
from tests.unit.journal.journaled_engine import (
    NOW_NS,
    JournaledEngine,
    lines,
    pending,
    program,
    record_bytes,
)

ROUNDS = 40


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_files, "CHUNK_BYTES", 2048)


def recorded(folder: Path) -> JournaledEngine:
    """Of many pieces, with another policy in the middle."""
    made = JournaledEngine(folder)
    made.begin(nodes=20)
    for number in range(ROUNDS):
        if number == ROUNDS // 2:
            made.call("load", program(KERNEL))
        made.place(f"a{number}", f"b{number}")
    return made


def of(ahead: Iterable[Ahead]) -> Iterator[Record]:
    for each in ahead:
        if isinstance(each, AheadRecord):
            yield each.record
        else:
            yield from map(each.record, range(len(each.frames)))


def epoch(folder: Path) -> Epoch:
    (found,) = read_journal([folder]).epochs
    return found


def test_they_are_the_records_in_their_order(tmp_path: Path) -> None:
    recorded(tmp_path).close()
    assert len(list(EpochReader(epoch(tmp_path)).pieces())) > 4 * PIECES_AHEAD
    ahead = list(read_ahead(EpochReader(epoch(tmp_path)), Engine(), Decisions.MADE))
    assert list(of(ahead)) == list(EpochReader(epoch(tmp_path)).records())
    alone = {each.record.name for each in ahead if isinstance(each, AheadRecord)}
    assert alone == {"load", "list_begin", "list_page", "list_end"}
    assert sum(record.name == "watch" for record in of(ahead)) == 2 * ROUNDS


def test_a_replay_decides_the_same_whatever_was_read_before_a_reload(tmp_path: Path) -> None:
    recorded(tmp_path).close()
    found, _ = replayed_epoch(epoch(tmp_path), threads=2)
    assert (found.decisions, found.different, found.problems) == (2 * ROUNDS, 0, [])


def test_what_is_cut_off_later_is_no_problem_of_a_replay_that_ends_before(tmp_path: Path) -> None:
    made = recorded(tmp_path)
    made.clock.stand_still(60)
    for number in range(ROUNDS):
        made.place(f"late{number}")
    made.close()
    (segment,) = tmp_path.glob("*.kpsnap")
    segment.write_bytes(segment.read_bytes()[:-100])
    assert replayed_epoch(epoch(tmp_path), until_ns=NOW_NS + 1)[0].problems == []
    assert [each.code for each in replayed_epoch(epoch(tmp_path))[0].problems] == [CUT_OFF]


def test_a_broken_record_is_raised_when_its_turn_comes(tmp_path: Path) -> None:
    made = recorded(tmp_path)
    made.files.put((record_bytes(Call("choose", (1, 2, 3)), None, 5),), 5)
    made.call("watch", "pods", lines(("ADDED", pending("after"))), made.now())
    made.close()
    whole = len(list(EpochReader(epoch(tmp_path)).records()))
    with closing(read_ahead(EpochReader(epoch(tmp_path)), Engine(), Decisions.MADE)) as records:
        assert len(list(islice(of(records), whole - 2))) == whole - 2
        with pytest.raises(BrokenRecordError):
            next(records)


def test_arguments_that_the_engine_refuses_are_a_record_alone(tmp_path: Path) -> None:
    made = recorded(tmp_path)
    refused = record_bytes(Call("settle", ([("a", 9)], 5)), None, 5)
    made.files.put((refused,), 5)
    made.call("watch", "pods", lines(("ADDED", pending("after"))), made.now())
    made.close()
    ahead = list(read_ahead(EpochReader(epoch(tmp_path)), Engine(), Decisions.MADE))
    assert list(of(ahead)) == list(EpochReader(epoch(tmp_path)).records())
    alone = [each.record.name for each in ahead if isinstance(each, AheadRecord)]
    assert alone.count("settle") == 1
    assert isinstance(ahead[-1], AheadCalls)


def test_no_thread_outlives_a_replay_that_ends_early(tmp_path: Path) -> None:
    recorded(tmp_path).close()
    with closing(read_ahead(EpochReader(epoch(tmp_path)), Engine(), Decisions.JUDGED)) as records:
        next(records)
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("kpolicy-journal")]
