"""An answer is the same however its bytes are cut, and invalid answers are refused."""

from __future__ import annotations

import pytest

from kpolicy.cluster.http1.answer_reader import AnswerReader

SIZED = b"HTTP/1.1 201 Created\r\nRetry-After: 3\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: t\r\n\r\n"
)
CLOSED = b"HTTP/1.0 200 OK\r\n\r\nhello"


@pytest.mark.parametrize("answer", [SIZED, CHUNKED, CLOSED])
@pytest.mark.parametrize("step", [1, 2, 7, 1000])
def test_however_it_is_cut(answer: bytes, step: int) -> None:
    reader = AnswerReader(100)
    for at in range(0, len(answer), step):
        assert not reader.whole
        reader.feed(answer[at : at + step])
    assert reader.whole == (answer is not CLOSED)
    assert reader.ended()
    assert reader.body == b"hello"
    assert reader.is_reusable == (answer is not CLOSED)


def test_headers_are_found_by_their_name_in_small_letters() -> None:
    reader = AnswerReader(100)
    reader.feed(SIZED)
    assert (reader.status, reader.headers["retry-after"]) == (201, "3")


def test_a_connection_that_the_server_closes_is_not_used_again() -> None:
    reader = AnswerReader(100)
    reader.feed(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    assert (reader.whole, reader.is_reusable) == (True, False)


def test_half_an_answer_is_none() -> None:
    reader = AnswerReader(100)
    reader.feed(SIZED[:-1])
    assert not reader.ended()


CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "size", [b"+5", b"0x5", b"0_5", b"-5", b" 5", b"", b"\xd9\xa5", b"0" * 17 + b"5"]
)
def test_the_size_of_a_chunk_is_up_to_16_hexadecimal_digits(size: bytes) -> None:
    with pytest.raises(ValueError, match="size of a chunk"):
        AnswerReader(100).feed(CHUNKED_HEAD + size + b"\r\nhello\r\n0\r\n\r\n")


@pytest.mark.parametrize("behind", [b"", b"4\r\n", b"x\r\n", b"\n0\r\n"])
def test_a_chunk_ends_with_a_line_end(behind: bytes) -> None:
    with pytest.raises(ValueError, match="chunk"):
        AnswerReader(100).feed(CHUNKED_HEAD + b"5\r\nhello" + behind + b"0\r\n\r\n")


def test_a_chunked_body_may_be_empty() -> None:
    reader = AnswerReader(100)
    reader.feed(CHUNKED_HEAD + b"0\r\n\r\n")
    assert (reader.whole, reader.body, reader.is_reusable) == (True, b"", True)


def test_trailers_are_bounded() -> None:
    with pytest.raises(ValueError, match="does not end"):
        AnswerReader(100).feed(CHUNKED_HEAD + b"0\r\n" + b"a: b\r\n" * 20_000)


def test_a_malformed_trailer_is_refused_also_in_a_piece_of_its_own() -> None:
    reader = AnswerReader(100)
    reader.feed(CHUNKED_HEAD + b"0\r\n")
    with pytest.raises(ValueError, match="malformed"):
        reader.feed(b" Trailer: t\r\n\r\n")


def test_only_http_1_1_keeps_the_connection_open() -> None:
    reader = AnswerReader(100)
    reader.feed(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert (reader.whole, reader.is_reusable) == (True, False)


def test_close_is_found_among_other_words() -> None:
    reader = AnswerReader(100)
    reader.feed(b"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n")
    assert (reader.whole, reader.is_reusable) == (True, False)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore",
        b"x" * 100_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 1\r\n\r\na",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\na",
        b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\na",
        b"HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\na",
        b"HTTP/1.1 200 OK\r\nX: a\r\n folded\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\nContent-Length: 9\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: \x00\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ],
)
def test_what_is_no_answer_is_refused(answer: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        AnswerReader(100).feed(answer)
