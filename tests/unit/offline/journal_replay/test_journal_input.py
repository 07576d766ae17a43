"""A journal is put together from its segments; what is missing is said, with the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from kpolicy.journal import segment_files
from kpolicy.journal.segment_files import SegmentFiles
from kpolicy.journal.segment_format import SegmentHeader
from kpolicy.offline.journal_replay.journal_input import EpochReader, read_journal
from kpolicy.offline.snapshots.snapshot_problem import (
    CUT_OFF,
    JOURNAL_GAP,
    NO_FILES,
    NOT_A_JOURNAL,
    NOT_READABLE,
    OTHER_KEY,
)
from tests.unit.journal.test_segment_files import BOUND, record


def write(folder: Path, run: str, began_ns: int, *, epochs: int = 1, redaction: str = "") -> None:
    header = SegmentHeader(run, "a test", began_ns, 7, redaction=redaction)
    files = SegmentFiles(folder, header, BOUND)
    for _ in range(epochs):
        files.begin_epoch(began_ns)
        for number in range(100):
            files.put((record(at_ns=number),), began_ns)
    files.close()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_files, "CHUNK_BYTES", 4096)
    monkeypatch.setattr(segment_files, "SEGMENTS", 64)


def test_processes_are_in_the_order_of_time(tmp_path: Path) -> None:
    for run, began_ns in (("b", 10_000_000_000), ("a", 20_000_000_000), ("c", 30_000_000_000)):
        write(tmp_path, run, began_ns)
    journal = read_journal([tmp_path])
    assert [epoch.header.run for epoch in journal.epochs] == ["b", "a", "c"]
    assert all(len(epoch.segments) > 3 for epoch in journal.epochs)
    assert all(epoch.is_whole and epoch.gap is None for epoch in journal.epochs)


def test_a_missing_segment_ends_an_epoch_and_is_named(tmp_path: Path) -> None:
    write(tmp_path, "a", 10_000_000_000, epochs=2)
    paths = sorted(tmp_path.glob("*.kpsnap"))
    paths[2].unlink()
    paths[3].unlink()
    first, rest, second = read_journal([tmp_path]).epochs
    assert first.gap is not None
    assert first.gap.code == JOURNAL_GAP
    assert "segments 3 to 4 are missing" in first.gap.message
    assert first.gap.source == str(paths[1])
    assert (first.is_whole, rest.is_whole, second.is_whole) == (True, False, True)


def test_a_segment_that_is_cut_off_ends_an_epoch(tmp_path: Path) -> None:
    write(tmp_path, "a", 10_000_000_000)
    paths = sorted(tmp_path.glob("*.kpsnap"))
    paths[1].write_bytes(paths[1].read_bytes()[:-50])
    (epoch,) = read_journal([tmp_path]).epochs
    reader = EpochReader(epoch)
    times = [found.at_ns for found in reader.records()]
    assert times == list(range(len(times)))
    assert 0 < len(times) < 100
    assert reader.problem is not None
    assert (reader.problem.code, reader.problem.source) == (CUT_OFF, str(paths[1]))


def test_what_is_no_journal_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "list.json").write_text('{"kind": "List", "items": []}')
    arguments = [tmp_path / "empty", tmp_path / "list.json", tmp_path / "nowhere"]
    journal = read_journal(arguments)
    assert journal.epochs == ()
    assert [problem.code for problem in journal.problems] == [NO_FILES, NOT_A_JOURNAL, NOT_READABLE]


def test_segments_redacted_with_different_keys_do_not_join(tmp_path: Path) -> None:
    write(tmp_path, "a", 10_000_000_000, redaction="one")
    write(tmp_path, "b", 20_000_000_000, redaction="another")
    journal = read_journal([tmp_path])
    assert journal.epochs == ()
    (problem,) = journal.problems
    assert problem.code == OTHER_KEY
