"""`python -m tests.attack.hanging_scheduler PART ARGUMENTS…`: `kpolicy ARGUMENTS…` as a process in
which one part stops for ever when it gets SIGURG, while everything else goes on.

Python's functions are replaced before the scheduler starts; the engine's thread is stopped by a
signal whose handler is pause(2), so that it hangs wherever it is, also inside a call.
"""

from __future__ import annotations

import asyncio
import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NoReturn

from kpolicy.cli import main
from kpolicy.cluster.api import Stream
from kpolicy.cluster.lease import LeaseThread
from kpolicy.cluster.writes.binder import Binder
from kpolicy.scheduler.runtime import EngineThread

# A real-time signal that nothing else uses.
_PAUSES: Final = signal.SIGRTMIN + 3
# Pods of the page whose decoding is stopped half-way, each with a text that the engine reads
# over: it takes some 100 ms.
_PODS: Final = 600
_UNREAD: Final = "\\n" * 100_000

has_begun = threading.Event()
engine_threads: list[EngineThread] = []


def block() -> None:
    """Blocks this thread for ever; others run on."""
    threading.Event().wait()


async def _await_for_ever() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError("the event is never set")


def _note_engine_threads() -> None:
    made = EngineThread.__init__

    def noted(self: EngineThread, *arguments: Any, **options: Any) -> None:
        made(self, *arguments, **options)
        engine_threads.append(self)

    EngineThread.__init__ = noted  # type: ignore[method-assign]


def _hangs_when_begun(owner: type, name: str) -> None:
    """From the signal on, whoever awaits this method waits for ever."""
    method = getattr(owner, name)

    async def hanging(*arguments: Any, **options: Any) -> Any:
        if has_begun.is_set():
            await _await_for_ever()
        answer = await method(*arguments, **options)
        if has_begun.is_set():
            await _await_for_ever()
        return answer

    setattr(owner, name, hanging)


def _stop_loop() -> None:
    block()  # runs as a callback of the loop


def _stop_engine_thread() -> None:
    engine_threads[0]._executor.submit(block)


def _stop_inside_a_call() -> None:
    """The engine decodes a large page, and its thread stops half-way, where it holds no lock of
    Python. Nearly all of its time goes into reading over a long text, which allocates nothing: a
    thread that stops with a lock of the allocator would stop the threads that are not to hang."""
    ctypes.CDLL(None).signal(_PAUSES, ctypes.CDLL(None).pause)
    thread = engine_threads[0]
    pod = (
        '{"metadata":{"name":"p%d","namespace":"elsewhere","uid":"elsewhere-%d"},'
        '"spec":{"schedulerName":"nobody","containers":[]},"unread":"%s"}'
    )
    items = ",".join(pod % (number, number, _UNREAD) for number in range(_PODS))
    body = f'{{"kind":"PodList","metadata":{{"resourceVersion":"1"}},"items":[{items}]}}'.encode()
    thread._executor.submit(thread.engine.list_page, "pods", body, 0)
    before = thread.engine.beats()
    (ident,) = (found.ident for found in thread._executor._threads)
    while thread.engine.beats() < before + 100:
        pass
    assert ident is not None
    signal.pthread_kill(ident, _PAUSES)


def _stop_elector() -> None:
    loop = _lease_threads[0]._loop
    assert loop is not None
    loop.call_soon_threadsafe(block)


_lease_threads: list[LeaseThread] = []


def _note_lease_threads() -> None:
    started = LeaseThread.start

    def noted(self: LeaseThread) -> None:
        _lease_threads.append(self)
        started(self)

    LeaseThread.start = noted  # type: ignore[method-assign]


# By part: what is done at the signal.
PARTS: Final[Mapping[str, Callable[[], None]]] = {
    "loop": _stop_loop,
    "engine-thread": _stop_engine_thread,
    "engine-call": _stop_inside_a_call,
    "binder": has_begun.set,
    "watch-reader": has_begun.set,
    "elector": _stop_elector,
}


def _plant(part: str) -> None:
    _note_engine_threads()
    _note_lease_threads()
    if part == "binder":
        _hangs_when_begun(Binder, "bind")
    if part == "watch-reader":
        _hangs_when_begun(Stream, "read")
    run = asyncio.run

    def with_signal(work: Any) -> Any:
        async def whole() -> Any:
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGURG, partial(loop.call_soon, PARTS[part]))
            return await work

        return run(whole())

    # Only the first loop, which is the scheduler's; the elector's is made later.
    def first(work: Any) -> Any:
        asyncio.run = run
        return with_signal(work)

    asyncio.run = first  # type: ignore[assignment]


if __name__ == "__main__":
    _plant(sys.argv[1])
    sys.exit(main(sys.argv[2:]))
