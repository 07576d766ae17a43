"""Reads the answer to one request from the bytes of an HTTP/1.1 connection. Pure.

Strict: refuses what RFC 9112 does not allow, and what two readers could understand differently (a
repeated Content-Length, or one beside Transfer-Encoding). We do not ask for compression.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from kpolicy.cluster.limits import CHUNK_LINE_BYTES_MAX, HEAD_BYTES_MAX

_HEAD_END: Final = b"\r\n\r\n"
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\x00-\x08\x0a-\x1f\x7f]*)?")
_FIELD: Final = re.compile(
    r"\r\n([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)", re.ASCII
)
_CHUNK_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?")
_FRAMING: Final = frozenset(("content-length", "transfer-encoding"))
_SWITCHING_PROTOCOLS: Final = 101
_WITHOUT_BODY: Final = frozenset({204, 304})
_UNTIL_CLOSED: Final = -1


class OversizedAnswerError(ValueError):
    """The body is larger than the caller allows."""


class AnswerReader:
    """`feed` it until it is `whole`. Raises ValueError for what is not an HTTP/1.1 answer."""

    def __init__(self, body_bytes_max: int) -> None:
        self._body_bytes_max = body_bytes_max
        self._unread = b""
        self._parts: list[bytes] = []
        self._size = 0
        self._left = 0  # bytes of the body or of the chunk that have not come yet
        self._keeps_open = False
        # Reads one part of the answer from these bytes at this position. Returns the position after
        # it; the same position means that more bytes are needed.
        self._read_part: Callable[[bytes, int], int] = self._read_head
        self.status = 0
        self.headers: dict[str, str] = {}  # names in lower case
        self.whole = False

    @property
    def body(self) -> bytes:
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    @property
    def is_reusable(self) -> bool:
        """Whether the connection can take another request."""
        return self.whole and self._keeps_open and self._left != _UNTIL_CLOSED

    def feed(self, data: bytes) -> None:
        data = self._unread + data if self._unread else data
        at = 0
        while at < len(data):
            if self.whole:
                raise ValueError("more bytes came than the answer has")
            after = self._read_part(data, at)
            if after == at:
                break
            at = after
        self._unread = data[at:]

    def ended(self) -> bool:
        """The server closed the connection: returns whether the answer is complete."""
        self.whole = self.whole or (bool(self.status) and self._left == _UNTIL_CLOSED)
        return self.whole

    def _read_head(self, data: bytes, at: int) -> int:
        end = data.find(_HEAD_END, at)
        if (end if end >= 0 else len(data)) - at > HEAD_BYTES_MAX:
            raise ValueError("the head of the answer does not end")
        if end < 0:
            return at
        head = _STATUS_LINE.match(data, at, end)
        status = int(head[2]) if head is not None else _SWITCHING_PROTOCOLS
        if head is None or status == _SWITCHING_PROTOCOLS:
            raise ValueError("the answer is not HTTP/1.1")
        headers = _headers(data[head.end() : end].decode("latin-1"))
        if status >= 200:  # a status below 200 announces that the answer is still to come
            self.status, self.headers = status, headers
            words = self.headers.get("connection", "").lower().split(",")
            self._keeps_open = head[1] == b"1" and "close" not in map(str.strip, words)
            self._begin_body()
        return end + len(_HEAD_END)

    def _begin_body(self) -> None:
        length, coding = (
            self.headers.get(name) for name in ("content-length", "transfer-encoding")
        )
        self._read_part = self._read_body
        if self.status in _WITHOUT_BODY:
            self.whole = True
        elif coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise ValueError("the transfer encoding of the answer is not plain chunked")
            self._read_part = self._read_chunk_line
        elif length is not None:
            if not (length.isascii() and length.isdigit()):
                raise ValueError("the Content-Length of the answer is not a number")
            self._left = int(length)
            self.whole = self._left == 0
            self._measure(self._left)
        else:
            self._left = _UNTIL_CLOSED

    def _read_body(self, data: bytes, at: int) -> int:
        if self._left == _UNTIL_CLOSED:
            self._measure(len(data) - at)
            self._parts.append(data[at:])
            return len(data)
        at = self._take(data, at)
        self.whole = self._left == 0
        return at

    def _read_chunk_line(self, data: bytes, at: int) -> int:
        end = self._line_end(data, at, CHUNK_LINE_BYTES_MAX)
        if end < 0:
            return at
        if (line := _CHUNK_LINE.fullmatch(data, at, end)) is None:
            raise ValueError("the size of a chunk is not a hexadecimal number")
        self._left = int(line[1], 16)
        self._measure(self._left)
        self._read_part = self._read_chunk if self._left else self._read_trailer
        return end + 2

    def _read_chunk(self, data: bytes, at: int) -> int:
        """Read bytes of a chunk, then the line end after it."""
        if self._left:
            return self._take(data, at)
        if len(data) - at < 2:
            return at
        if data[at : at + 2] != b"\r\n":
            raise ValueError("a chunk does not end where it should")
        self._read_part = self._read_chunk_line
        return at + 2

    def _read_trailer(self, data: bytes, at: int) -> int:
        """Check and drop one line after the last chunk."""
        end = self._line_end(data, at, HEAD_BYTES_MAX - self._left)
        if end < 0:
            return at
        _headers("\r\n" + data[at:end].decode("latin-1") if end > at else "")
        self._left += end + 2 - at  # the size of the trailers so far
        self.whole = end == at
        return end + 2

    def _take(self, data: bytes, at: int) -> int:
        part = data[at : at + self._left]
        self._parts.append(part)
        self._left -= len(part)
        return at + len(part)

    def _line_end(self, data: bytes, at: int, bytes_max: int) -> int:
        end = data.find(b"\r\n", at)
        if (end if end >= 0 else len(data)) - at > bytes_max:
            raise ValueError("a line of the answer does not end")
        return end

    def _measure(self, size: int) -> None:
        self._size += size
        if self._size > self._body_bytes_max:
            raise OversizedAnswerError(f"the answer is larger than {self._body_bytes_max} bytes")


def _headers(lines: str) -> dict[str, str]:
    """Parse header fields, each with the line end before it; names become lower case."""
    headers: dict[str, str] = {}
    size = 0
    for field in _FIELD.finditer(lines):
        name = field[1].lower()
        if name in _FRAMING and name in headers:
            raise ValueError(f"the answer has more than one {name}")
        headers[name] = field[2].rstrip(" \t")
        size += field.end() - field.start()
    if size != len(lines):
        raise ValueError("a header of the answer is malformed")
    return headers
