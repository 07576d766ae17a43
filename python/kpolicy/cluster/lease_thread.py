"""An elector in a thread of its own, with its own loop and connections.

Owns the thread. While the main loop is stuck, the lease is still renewed, and its loss still acted
upon: `on_lost` is called in this thread, for example with something that ends the process. Assumes
that the client given is used by nobody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable

from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.lease import Elector

_log = logging.getLogger(__name__)


class LeaseThread:
    def __init__(self, client: ApiClient, elector: Elector, on_lost: Callable[[], None]) -> None:
        self._client = client
        self._elector = elector
        self._on_lost = on_lost
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kpolicy-lease", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._started.wait()

    def stop(self, timeout_s: float) -> bool:
        """Release the lease and end the thread; false when that took too long."""
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            # The elector may end by itself at this very moment; there is then nobody to tell.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            stopped = asyncio.run(self._elect())
        except Exception:
            _log.exception("the elector failed")
            stopped = False
        if not stopped:
            self._on_lost()

    async def _elect(self) -> bool:
        """True when it was told to stop, false when the lease was lost."""
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._started.set()
        async with self._client:
            running = asyncio.ensure_future(self._elector.run())
            stopping = asyncio.ensure_future(self._stop.wait())
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if running.done():
                running.result()
                return False
            running.cancel()
            await self._elector.release()
            return True
