"""Segments rotate, the folder stays within its bound, and a full disk leaves whole pieces."""

from __future__ import annotations

import errno
import random
from pathlib import Path

import pytest

from kpolicy.journal import segment_files
from kpolicy.journal.engine_calls import Call
from kpolicy.journal.segment_files import JournalFullError, SegmentFiles
from kpolicy.journal.segment_format import SegmentHeader
from kpolicy.offline.journal_replay.journal_input import EpochReader, read_journal
from tests.unit.journal.journaled_engine import record_bytes

BOUND = 1 << 20
NOISE = random.Random(1)


def header(run: str = "run") -> SegmentHeader:
    return SegmentHeader(run, "a test", 1_000_000_000, 7)


def record(size: int = 1000, at_ns: int = 5) -> bytes:
    """Noise does not pack."""
    return record_bytes(Call("watch", ("pods", NOISE.randbytes(size), 5)), None, at_ns)


def fill(files: SegmentFiles) -> None:
    while True:
        files.put((record(),), 6)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.kpsnap"))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_files, "CHUNK_BYTES", 4096)


def test_records_come_back_from_all_segments(tmp_path: Path) -> None:
    files = SegmentFiles(tmp_path, header(), BOUND)
    files.begin_epoch(5)
    written = [record(at_ns=number) for number in range(300)]
    for number, each in enumerate(written):
        files.put((each,), number)
    files.close()
    paths = sorted(tmp_path.glob("*.kpsnap"))
    assert len(paths) > 3
    assert all(path.stat().st_mode & 0o077 == 0 for path in paths), "only its owner reads it"
    journal = read_journal([tmp_path])
    (epoch,) = journal.epochs
    assert [found.at_ns for found in EpochReader(epoch).records()] == list(range(300))


def test_the_oldest_epochs_go_when_the_bound_is_reached(tmp_path: Path) -> None:
    files = SegmentFiles(tmp_path, header(), BOUND)
    for number in range(10):
        files.begin_epoch(number)
        while not files.is_worn:
            files.put((record(),), 5)
            assert size_of(tmp_path) <= BOUND
    files.close()
    journal = read_journal([tmp_path])
    assert journal.problems == ()
    epochs = [epoch.header.epoch for epoch in journal.epochs]
    assert epochs[-1] == 10
    assert 1 <= len(epochs) <= 3
    assert all(epoch.is_whole for epoch in journal.epochs)


def test_processes_before_count_for_the_bound(tmp_path: Path) -> None:
    first = SegmentFiles(tmp_path, header("first"), BOUND)
    first.begin_epoch(5)
    while not first.is_worn:
        first.put((record(),), 5)
    first.close()
    second = SegmentFiles(tmp_path, header("second"), BOUND)
    second.begin_epoch(6)
    with pytest.raises(JournalFullError):
        fill(second)
    second.give_up()
    assert size_of(tmp_path) <= BOUND
    assert {epoch.header.run for epoch in read_journal([tmp_path]).epochs} == {"second"}
    second.close()


def test_one_process_writes_into_a_folder(tmp_path: Path) -> None:
    files = SegmentFiles(tmp_path, header(), BOUND)
    with pytest.raises(BlockingIOError):
        SegmentFiles(tmp_path, header("other"), BOUND)
    files.close()
    SegmentFiles(tmp_path, header("other"), BOUND).close()


class FullDisk:
    """A stream that takes some bytes more."""

    def __init__(self, stream: object, left: int) -> None:
        self._stream, self._left = stream, left

    def write(self, piece: memoryview) -> int:
        if self._left <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written: int = self._stream.write(piece[: self._left])  # type: ignore[attr-defined]
        self._left -= written
        return written

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def test_a_full_disk_leaves_whole_pieces(tmp_path: Path) -> None:
    files = SegmentFiles(tmp_path, header(), BOUND)
    files.begin_epoch(5)
    files.put((record(),), 5)
    files.flush()
    files._stream = FullDisk(files._stream, 100)  # type: ignore[assignment]
    files.put((record(),), 6)
    with pytest.raises(OSError, match="No space"):
        files.flush()
    files.give_up()
    (epoch,) = read_journal([tmp_path]).epochs
    reader = EpochReader(epoch)
    assert [found.at_ns for found in reader.records()] == [5]
    assert reader.problem is None, "nothing of the piece is there"
    files.begin_epoch(8, "No space left on device", 6)
    files.put((record(),), 9)
    files.close()
    after = read_journal([tmp_path]).epochs[-1]
    assert (after.header.gap, after.header.gap_from_ns) == ("No space left on device", 6)


def test_a_segment_that_cannot_begin_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = SegmentFiles(tmp_path, header(), BOUND)
    monkeypatch.setattr(segment_files, "header_bytes", lambda _: bytes(2 * BOUND))
    with pytest.raises(JournalFullError):
        files.begin_epoch(5)
    assert list(tmp_path.glob("*.kpsnap")) == []
    files.close()
