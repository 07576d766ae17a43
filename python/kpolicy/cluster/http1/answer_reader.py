"""The answer to one request as HTTP/1.1 puts it on the wire, read as it comes.

Owns the head, the three ways in which a body ends, and the bound of its size. Pure. Assumes that
compression was not asked for. Must not know connections.
"""

from __future__ import annotations

from kpolicy.cluster.limits import CHUNK_LINE_BYTES_MAX, HEAD_BYTES_MAX

_HEAD_END = b"\r\n\r\n"
_WITHOUT_BODY = frozenset({204, 304})
_CONTINUED = range(100, 200)
_UNTIL_CLOSED = -1


class AnswerReader:
    """`feed` it until it is `whole`; ValueError when it is not HTTP, or larger than allowed."""

    def __init__(self, body_bytes_max: int) -> None:
        self._body_bytes_max = body_bytes_max
        self._held = b""  # of the head, or of a chunk's line
        self._parts: list[bytes] = []
        self._size = 0
        self._left = 0  # of the body, or of the chunk
        self._chunked = self._in_chunk = self._trailing = False
        self.status = 0
        self.headers: dict[str, str] = {}
        self.whole = self.oversized = False

    @property
    def body(self) -> bytes:
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    @property
    def reusable(self) -> bool:
        """Whether the connection can take another request."""
        closing = self.headers.get("connection", "").lower() == "close"
        return self.whole and self._left != _UNTIL_CLOSED and not closing

    def feed(self, data: bytes) -> None:
        if not self.status:
            data = self._read_head(data)
            if not self.status:
                return
        if self._chunked:
            self._read_chunks(data)
        elif data:
            self._take(data)

    def ended(self) -> bool:
        """The connection was closed: whether the answer is whole with that."""
        self.whole = self.whole or (bool(self.status) and self._left == _UNTIL_CLOSED)
        return self.whole

    def _read_head(self, data: bytes) -> bytes:
        """What lies behind the head, once it is there."""
        data = self._held + data if self._held else data
        while True:
            end = data.find(_HEAD_END)
            if end < 0:
                self._held = data
                if len(data) > HEAD_BYTES_MAX:
                    raise ValueError("the head of the answer does not end")
                return b""
            status, headers = _head(data[:end])
            data = data[end + len(_HEAD_END) :]
            if status not in _CONTINUED:
                break
        self._held, self.status, self.headers = b"", status, headers
        if status in _WITHOUT_BODY:
            self.whole = True
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            self._chunked = True
        elif (length := headers.get("content-length")) is not None:
            if not (length.isascii() and length.isdigit()):
                raise ValueError("the length of the answer is no number")
            self._left = int(length)
            self.whole = self._left == 0
            self._measure(self._left)
        else:
            self._left = _UNTIL_CLOSED
        return data

    def _take(self, data: bytes) -> None:
        if self.whole or 0 <= self._left < len(data):
            raise ValueError("more came than was announced")
        self._parts.append(data)
        if self._left == _UNTIL_CLOSED:
            self._size += len(data)
            self._measure(self._size)
        else:
            self._left -= len(data)
            self.whole = self._left == 0

    def _read_chunks(self, data: bytes) -> None:
        data = self._held + data if self._held else data
        self._held = b""
        at = 0
        while not self.whole:
            if self._in_chunk:
                part = data[at : at + self._left]
                at += len(part)
                self._left -= len(part)
                self._parts.append(part)
                if self._left:
                    return
                self._in_chunk = False
            end = data.find(b"\r\n", at)
            if end < 0:
                self._held = data[at:]
                if len(self._held) > CHUNK_LINE_BYTES_MAX:
                    raise ValueError("the line of a chunk does not end")
                return
            line, at = data[at:end], end + 2
            self._chunk_line(line)
        if at < len(data):
            raise ValueError("more came than was announced")

    def _chunk_line(self, line: bytes) -> None:
        """The size of the next chunk, the line end behind one, or a trailer."""
        if self._trailing:
            self.whole = not line
        elif line or not self._parts:
            self._left = int(line.partition(b";")[0], 16)
            if self._left < 0:
                raise ValueError("a chunk of less than nothing")
            self._in_chunk = self._left > 0
            self._trailing = not self._in_chunk
            self._size += self._left
            self._measure(self._size)

    def _measure(self, size: int) -> None:
        if size > self._body_bytes_max:
            self.oversized = True
            raise ValueError(f"the answer is larger than {self._body_bytes_max} bytes")


def _head(text: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = text.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
        raise ValueError("the answer is not HTTP/1.1")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return int(rest[:3]), headers
