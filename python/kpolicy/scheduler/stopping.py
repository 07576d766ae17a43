"""That the run is to end, since when, and what is not waited for once it is.

Owns the moment of the first `begin`: the whole way out is measured from there. Assumes one event
loop. Must not know what has to be done on the way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from kpolicy.clock import NANOSECONDS, Clock

Result = TypeVar("Result")


class Stopping:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()
        self._began_ns = 0

    def begin(self) -> None:
        self._began_ns = self._began_ns or self._clock.monotonic_ns()
        self._event.set()

    @property
    def has_begun(self) -> bool:
        return self._event.is_set()

    async def wait(self) -> None:
        await self._event.wait()

    def left_s(self, of_s: float) -> float:
        """What is left of so many seconds since it began."""
        since_s = (self._clock.monotonic_ns() - self._began_ns) / NANOSECONDS
        return max(0.0, of_s - since_s)

    async def or_stopped(self, work: Coroutine[Any, Any, Result]) -> Result | None:
        """What the work gives, or None when the end was sooner."""
        working = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            working.cancel()
            stopping.cancel()
