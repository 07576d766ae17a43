"""A stream of chunks as whole lines.

Owns the splitting, with the fewest copies: a chunk that ends in a line end is handed on as it is,
and one line that comes in many chunks is joined once. Must not know what a line says.
"""

from __future__ import annotations

from kpolicy.cluster.limits import WATCH_LINE_BYTES_MAX


class LineSplitter:
    """Feed chunks, get whole lines (one or many, each with its line end) or nothing yet."""

    def __init__(self, line_bytes_max: int = WATCH_LINE_BYTES_MAX) -> None:
        self._line_bytes_max = line_bytes_max
        self._parts: list[bytes] = []
        self._held = 0

    @property
    def held_bytes(self) -> int:
        """The beginning of a line whose end has not come."""
        return self._held

    @property
    def overflowed(self) -> bool:
        """Whether the line that is coming is longer than any line may be."""
        return self._held > self._line_bytes_max

    def feed(self, chunk: bytes) -> bytes:
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            self._hold(chunk)
            return b""
        if not self._held:
            if cut == len(chunk):
                return chunk
            self._hold(chunk[cut:])
            return chunk[:cut]
        self._parts.append(chunk if cut == len(chunk) else chunk[:cut])
        lines = b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        if cut < len(chunk):
            self._hold(chunk[cut:])
        return lines

    def _hold(self, part: bytes) -> None:
        if part:
            self._parts.append(part)
            self._held += len(part)
