"""However a stream is cut into chunks, the same whole lines come out."""

from __future__ import annotations

from hypothesis import given, strategies as st

from kpolicy.cluster.watch.listing import LineSplitter

CHUNKS = st.lists(st.lists(st.sampled_from([b"a", b"bc", b"\n"]), max_size=6).map(b"".join))


@given(CHUNKS)
def test_no_byte_is_lost_added_or_moved(chunks: list[bytes]) -> None:
    splitter = LineSplitter()
    lines = [splitter.feed(chunk) for chunk in chunks]
    text = b"".join(chunks)
    whole = text[: text.rfind(b"\n") + 1]
    assert b"".join(lines) == whole
    assert all(not part or part.endswith(b"\n") for part in lines)
    assert splitter.held_bytes == len(text) - len(whole)


@given(CHUNKS)
def test_a_line_comes_as_soon_as_its_end_does(chunks: list[bytes]) -> None:
    splitter = LineSplitter()
    for number, chunk in enumerate(chunks, 1):
        splitter.feed(chunk)
        text = b"".join(chunks[:number])
        assert splitter.held_bytes == len(text) - (text.rfind(b"\n") + 1)


def test_a_chunk_of_whole_lines_is_handed_on_without_a_copy() -> None:
    chunk = b'{"a":1}\n{"b":2}\n'
    assert LineSplitter().feed(chunk) is chunk


def test_a_line_without_end_is_noticed() -> None:
    splitter = LineSplitter(line_bytes_max=10)
    splitter.feed(b"x" * 10)
    assert not splitter.overflowed
    splitter.feed(b"x")
    assert splitter.overflowed
