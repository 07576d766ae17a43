"""One kept-alive connection for writes: a request out, its answer back, one at a time.

Owns the stream and the future of the answer under way. Assumes one event loop. Must not know what
is asked, whether it is sealed, nor other connections.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from kpolicy.cluster.answer_reader import AnswerReader


class Stream(Protocol):
    def write(self, data: bytes) -> None: ...

    def abort(self) -> None: ...


class Exchange(asyncio.Protocol):
    """`idle_since_s` is the loop's time at which its last answer was whole."""

    def __init__(self, generation: int) -> None:
        self.generation = generation  # of the certificates that it was opened with
        self.idle_since_s = 0.0
        self.open = False
        self._stream: Stream | None = None
        self._reader: AnswerReader | None = None
        self._answer: asyncio.Future[AnswerReader] | None = None

    async def ask(self, request: bytes, body_bytes_max: int, timeout_s: float) -> AnswerReader:
        """Raises OSError (TimeoutError among them) or ValueError, and is closed then."""
        assert self._stream is not None
        assert self._answer is None, "one request at a time"
        loop = asyncio.get_running_loop()
        self._reader = AnswerReader(body_bytes_max)
        answer: asyncio.Future[AnswerReader] = loop.create_future()
        self._answer = answer
        timer = loop.call_later(timeout_s, self._fail, TimeoutError())
        try:
            self._stream.write(request)
            reader = await answer
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()
            self._answer = self._reader = None
        if not reader.reusable:
            self.close()
        self.idle_since_s = loop.time()
        return reader

    def opened(self, stream: Stream) -> None:
        self._stream = stream
        self.open = True

    def close(self) -> None:
        self.open = False
        if self._stream is not None:
            self._stream.abort()

    # --- asyncio.Protocol ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.opened(cast("asyncio.Transport", transport))

    def data_received(self, data: bytes) -> None:
        reader, answer = self._reader, self._answer
        if reader is None or answer is None or answer.done():
            self.close()  # nothing was asked
            return
        try:
            reader.feed(data)
        except ValueError as error:
            self._fail(error)
            return
        if reader.whole:
            answer.set_result(reader)

    def connection_lost(self, error: Exception | None) -> None:
        self.open = False
        reader, answer = self._reader, self._answer
        if reader is None or answer is None or answer.done():
            return
        if error is None and reader.ended():
            answer.set_result(reader)
        else:
            self._fail(error or ConnectionResetError("the server closed the connection"))

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
