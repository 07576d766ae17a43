"""HTTP/1.1 as bytes: what a request says, how an answer looks.

Owns parsing (request line, headers, bodies by length or in chunks) and framing. Pure: bytes in,
values out. Lean on purpose: the API server's clients send few headers and small bodies, and a bind
must not cost more to read than to do. Must not know sockets nor Kubernetes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, unquote

from kpolicy.testing import limits

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"

_END: Final = b"\r\n\r\n"
_CHUNK_LINE_BYTES_MAX: Final = 1024
LAST_CHUNK: Final = b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    keep_alive: bool


@dataclass(frozen=True, slots=True)
class Malformed:
    """What cannot be read as HTTP; the connection ends with this answer."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    body: bytes
    content_type: str = JSON
    headers: Sequence[tuple[str, str]] = field(default=())


@dataclass(frozen=True, slots=True)
class Head:
    """A request whose body has not come yet."""

    request: Request
    length: int  # of the body; -1: in chunks
    expects_continue: bool


def parse_head(buffer: bytes | bytearray) -> tuple[Head, int] | Malformed | None:
    """The head at the start of the buffer and its length; None while it is incomplete."""
    end = buffer.find(_END)
    if end < 0:
        too_long = len(buffer) > limits.HEADER_BYTES_MAX
        return Malformed(431, "request header fields too large") if too_long else None
    if end > limits.HEADER_BYTES_MAX:
        return Malformed(431, "request header fields too large")
    lines = buffer[:end].decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0") or not words[1].startswith("/"):
        return Malformed(400, "malformed request line")
    if len(lines) > limits.HEADERS_MAX:
        return Malformed(431, "too many header fields")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            return Malformed(400, "malformed header field")
        headers[name.lower()] = value.strip()
    return _head(words, headers, end + len(_END))


def _head(words: Sequence[str], headers: dict[str, str], size: int) -> tuple[Head, int] | Malformed:
    length = 0
    if headers.get("transfer-encoding", "").lower() == "chunked":
        length = -1
    elif "transfer-encoding" in headers:
        return Malformed(501, "unsupported transfer encoding")
    elif "content-length" in headers:
        text = headers["content-length"]
        if not (text.isascii() and text.isdigit()):
            return Malformed(400, "malformed content length")
        if len(text) > len(str(limits.BODY_BYTES_MAX)) or int(text) > limits.BODY_BYTES_MAX:
            return Malformed(413, f"Request entity too large: limit is {limits.BODY_BYTES_MAX}")
        length = int(text)
    path, _, query = words[1].partition("?")
    connection = headers.get("connection", "").lower()
    keep_alive = connection == "keep-alive" if words[2] == "HTTP/1.0" else connection != "close"
    request = Request(
        words[0],
        unquote(path) if "%" in path else path,
        dict(parse_qsl(query, keep_blank_values=True)) if query else {},
        headers,
        b"",
        keep_alive,
    )
    expects = headers.get("expect", "").lower() == "100-continue"
    return Head(request, length, expects), size


def parse_chunked(buffer: bytes | bytearray) -> tuple[bytes, int] | Malformed | None:
    """A body in chunks from the start of the buffer and its length there; None while incomplete."""
    parts: list[bytes] = []
    at = size = 0
    while True:
        line_end = buffer.find(b"\r\n", at, at + _CHUNK_LINE_BYTES_MAX)
        if line_end < 0:
            too_long = len(buffer) - at > _CHUNK_LINE_BYTES_MAX
            return Malformed(400, "malformed chunk") if too_long else None
        try:
            length = int(bytes(buffer[at:line_end]).split(b";")[0], 16)
        except ValueError:
            return Malformed(400, "malformed chunk")
        at = line_end + 2
        if length == 0:
            end = buffer.find(b"\r\n", at)  # trailers are not used by any client of ours
            return None if end < 0 else (b"".join(parts), end + 2)
        size += length
        if length < 0 or size > limits.BODY_BYTES_MAX:
            return Malformed(413, f"Request entity too large: limit is {limits.BODY_BYTES_MAX}")
        if len(buffer) < at + length + 2:
            return None
        parts.append(bytes(buffer[at : at + length]))
        at += length + 2


def framed(answer: Answer, *, keep_alive: bool) -> bytes:
    extra = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
    if not keep_alive:
        extra += "Connection: close\r\n"
    head = (
        f"HTTP/1.1 {answer.code} {_PHRASES.get(answer.code, '')}\r\n"
        f"Content-Type: {answer.content_type}\r\n"
        f"Content-Length: {len(answer.body)}\r\n{extra}\r\n"
    )
    return head.encode("latin-1") + answer.body


def stream_head(content_type: str) -> bytes:
    return (
        f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode("latin-1")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_PHRASES: Final[Mapping[int, str]] = {status.value: status.phrase for status in HTTPStatus}
