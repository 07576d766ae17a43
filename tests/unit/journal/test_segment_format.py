"""A segment is read up to where it was cut or damaged, and nothing after that."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import takewhile

import pytest

from kpolicy.journal.limits import PIECE_MEMORY_BYTES_MAX
from kpolicy.journal.segment_format import (
    END,
    Piece,
    Segment,
    SegmentHeader,
    header_bytes,
    opened,
    unpacked,
)
from kpolicy.offline.snapshot_file.reader import read_recording
from kpolicy.offline.snapshots.snapshot_problem import (
    CUT_OFF,
    DAMAGED,
    JOURNAL_SEGMENT,
    NEWER_FORMAT,
    NOT_A_JOURNAL,
    Problem,
)

HEADER = SegmentHeader("run", "a test", 5, 7, cluster_version="v1.37.0")
CHUNKS = [b"one" * 50, b"two" * 500, b"three" * 5]


def pieces() -> list[bytes]:
    """All through the same memory, where a shorter one follows a longer one."""
    piece, found = Piece(), []
    for chunk in CHUNKS:
        piece.put((chunk[:7], chunk[7:]))
        found.append(piece.packed())
        piece.clear()
    return found


WHOLE = header_bytes(HEADER) + b"".join(pieces()) + END


def read(text: bytes) -> tuple[Segment, list[bytes | str]]:
    """What each piece unpacks to: its content, or why there is none."""
    segment = opened("a.kpsnap", io.BytesIO(text))
    assert isinstance(segment, Segment)
    return segment, list(map(unpacked, segment.pieces()))


def refused(text: bytes) -> Problem:
    problem = opened("a.kpsnap", io.BytesIO(text))
    assert isinstance(problem, Problem)
    return problem


def test_a_segment_comes_back_as_it_was_written() -> None:
    segment, chunks = read(WHOLE)
    assert (segment.header, chunks) == (HEADER, CHUNKS)
    assert (segment.problem, segment.is_open) == (None, False)


def test_after_a_large_piece_the_next_one_is_whole() -> None:
    piece = Piece()
    piece.put((b"large" * PIECE_MEMORY_BYTES_MAX,))
    piece.clear()
    piece.put((b"sma", b"ll"))
    _, chunks = read(header_bytes(HEADER) + piece.packed() + END)
    assert chunks == [b"small"]


def test_wherever_it_is_cut_whole_pieces_are_read() -> None:
    start = len(header_bytes(HEADER))
    ends = [start]
    for piece in pieces():
        ends.append(ends[-1] + len(piece))
    for length in range(start, len(WHOLE) - 1):
        segment, chunks = read(WHOLE[:length])
        assert chunks == CHUNKS[: sum(end <= length for end in ends[1:])], length
        assert segment.is_open == (length in ends), length
        code = segment.problem.code if segment.problem is not None else ""
        assert code == ("" if length in ends else CUT_OFF), length


def test_cut_in_its_header_it_is_refused() -> None:
    for length in range(1, len(header_bytes(HEADER))):
        assert refused(WHOLE[:length]).code in (CUT_OFF, NOT_A_JOURNAL), length
    assert refused(b"").code == NOT_A_JOURNAL


def test_a_changed_byte_is_found() -> None:
    """Whatever byte: no other records are read than those before it."""
    for at in range(len(header_bytes(HEADER)), len(WHOLE) - len(END)):
        text = bytearray(WHOLE)
        text[at] ^= 0x55
        segment, chunks = read(bytes(text))
        whole = list(takewhile(lambda chunk: isinstance(chunk, bytes), chunks))
        assert whole == CHUNKS[: len(whole)]
        if segment.problem is None:
            assert len(whole) < len(chunks), at
        else:
            assert segment.problem.code == CUT_OFF


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"apiVersion: v1\nkind: List\nitems: []\n" * 3, NOT_A_JOURNAL),
        (WHOLE[:8] + b"\x00\x01" + WHOLE[10:], NOT_A_JOURNAL),
        (WHOLE[:8] + b"\x00\x09" + WHOLE[10:], NEWER_FORMAT),
        (WHOLE.replace(b'"seed":7', b'"seed":8'), DAMAGED),
    ],
    ids=["another file", "a snapshot", "another version", "a changed header"],
)
def test_what_is_no_segment_is_refused(text: bytes, code: str) -> None:
    assert refused(text).code == code


@pytest.mark.parametrize(
    "wrong", [{"seed": -1}, {"run": 5}, {"number": True}, {"seed": 2**64}, {"kept_labels": (5,)}]
)
def test_a_header_with_other_types_is_damage(wrong: dict[str, object]) -> None:
    assert refused(header_bytes(replace(HEADER, **wrong))).code == DAMAGED  # type: ignore[arg-type]


def test_where_a_snapshot_is_needed_a_segment_is_named_as_such() -> None:
    problem = read_recording("a.kpsnap", WHOLE)
    assert isinstance(problem, Problem)
    assert problem.code == JOURNAL_SEGMENT
    assert "kpolicy replay" in problem.hint
