"""Every answer that kpolicy's strict reader accepts, h11 reads with the same result."""

from __future__ import annotations

from dataclasses import dataclass

import h11
from hypothesis import example, given, strategies as st

from kpolicy.cluster.http1.answer_reader import AnswerReader

BODY_BYTES_MAX = 1000


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    status: int
    headers: dict[str, str]
    body: bytes


def by_ours(pieces: list[bytes]) -> ReadAnswer | None:
    """None: refused, or not whole when the connection ends."""
    reader = AnswerReader(BODY_BYTES_MAX)
    try:
        for piece in pieces:
            reader.feed(piece)
    except ValueError:
        return None
    if not reader.ended():
        return None
    return ReadAnswer(reader.status, dict(reader.headers), reader.body)


def by_h11(data: bytes) -> ReadAnswer | None:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
    connection.send(h11.EndOfMessage())
    status, headers, body = 0, {}, b""
    try:
        connection.receive_data(data)
        connection.receive_data(b"")
        while True:
            event = connection.next_event()
            match event:
                case h11.Response():
                    status = event.status_code
                    headers = {
                        name.decode(): value.decode("latin-1") for name, value in event.headers
                    }
                case h11.Data():
                    body += event.data
                case h11.EndOfMessage():
                    break
                case h11.InformationalResponse():
                    continue
                case _:
                    return None
    except h11.RemoteProtocolError:
        return None
    if connection.trailing_data[0]:
        return None
    return ReadAnswer(status, headers, body)


TOKENS = st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789-_", min_size=1, max_size=12)
VALUES = st.text("abc XYZ019-_;,=/\t\u00e9", max_size=12).map(str.strip)
FRAMING = frozenset(("content-length", "transfer-encoding", "connection"))


@st.composite
def well_formed(draw: st.DrawFn) -> bytes:
    body = draw(st.binary(max_size=60))
    names = draw(st.lists(TOKENS, max_size=4, unique_by=str.lower))
    lines = [f"{name}: {draw(VALUES)}" for name in names if name.lower() not in FRAMING]
    status = draw(st.sampled_from((200, 201, 404, 409, 503)))
    if draw(st.booleans()):
        lines.append("Transfer-Encoding: chunked")
        sent = b""
        while body:
            part, body = (body[: (size := draw(st.integers(1, 60)))], body[size:])
            extension = draw(st.sampled_from((b"", b";a=b", b";a")))
            form = draw(st.sampled_from((b"%x", b"%X", b"00%x")))
            sent += form % len(part) + extension + b"\r\n" + part + b"\r\n"
        sent += b"0\r\n" + draw(st.sampled_from((b"", b"Trailer: t\r\n"))) + b"\r\n"
    else:
        lines.append(f"Content-Length: {len(body)}")
        sent = body
    before = draw(st.sampled_from((b"", b"HTTP/1.1 100 Continue\r\n\r\n")))
    head = "\r\n".join((f"HTTP/1.1 {status} Some Reason", *lines, "", ""))
    return before + head.encode("latin-1") + sent


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A well-formed answer with a few bytes replaced, dropped or doubled."""
    data = bytearray(draw(well_formed()))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data) - 1))
        end = min(len(data), at + draw(st.integers(0, 4)))
        put = draw(
            st.sampled_from((b"", b" ", b"+", b"0x", b"_", b"\r\n", b"\n", b"\r", b"\x00", b":"))
        )
        data[at:end] = put
        data = data or bytearray(b"x")
    return bytes(data)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})
    return [data[at:end] for at, end in zip([0, *ends], ends, strict=False)]


@given(data=well_formed(), places=st.lists(st.integers(0, 500), max_size=6))
def test_both_read_a_well_formed_answer_however_it_is_cut(data: bytes, places: list[int]) -> None:
    theirs = by_h11(data)
    assert theirs is not None
    assert by_ours(cut(data, places)) == theirs


@given(data=damaged(), places=st.lists(st.integers(0, 500), max_size=6))
@example(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n", [])
@example(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 0\r\n\r\n", [])
def test_what_ours_accepts_h11_reads_the_same(data: bytes, places: list[int]) -> None:
    ours = by_ours(cut(data, places))
    if ours is not None:
        assert ours == by_h11(data)
