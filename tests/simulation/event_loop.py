"""An event loop on virtual time, with a network in memory.

It runs callbacks, timers and tasks. Calls "in other threads" run inline, some virtual moments
later, one after the other for each executor. `WorldTime` says when it runs. A loop may be frozen
(it does not run while time passes), blocked (one step takes that long) or killed (it never runs
again, and nothing is unwound, as with SIGKILL). It must not use a socket, a real clock or a real
thread.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from random import Random
from types import coroutine
from typing import Any, Final, TypeVar

from tests.simulation.machine_time import NEVER, WorldTime

T = TypeVar("T")

SECOND_NS: Final = 1_000_000_000
# The longest duration of a call in another thread; the shortest is 0.
CALL_S_MAX: Final = 0.002
# How often a blocking wait in another thread checks again.
JOIN_POLL_S: Final = 0.01
# Turns in which killed tasks may unwind after the run, when nothing is checked any more.
UNWIND_TURNS_MAX: Final = 2_000

_numbers = itertools.count()


class Joining:
    """The result of a function that would block another thread: it is polled until it is done."""

    def __init__(self, ended: Callable[[], bool], timeout_s: float) -> None:
        self.ended = ended
        self.timeout_s = timeout_s


@coroutine
def _step() -> Generator[None, None, None]:
    yield


class VirtualTask(asyncio.Task[T]):
    """A task whose hash is a number, not an address, so that sets of tasks have the same order in
    every run."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], **arguments: Any) -> None:
        self._number = next(_numbers)  # before asyncio puts it into a set
        super().__init__(coroutine, **arguments)

    def __hash__(self) -> int:
        return self._number


class VirtualLoop(asyncio.AbstractEventLoop):
    """`network` makes connections; the simulation gives it. `running_ns` is None when killed."""

    def __init__(self, time: WorldTime, random: Random, name: str, network: Any = None) -> None:
        self._world = time
        self._random = random
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[int, int, asyncio.TimerHandle]] = []
        self._order = itertools.count()
        self._tasks: dict[VirtualTask[Any], None] = {}
        self._executors: dict[Any, int] = {}  # when the last call in it will have ended
        self._handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None
        self.name = name
        self.network = network
        self.errors: list[dict[str, Any]] = []
        self.running_ns: int | None = time.now_ns
        self.frozen_until_ns = 0
        self.blocked_since_ns = self.blocked_until_ns = 0
        self.on_block: Callable[[], None] | None = None
        time.add(self)

    # --- turns -----------------------------------------------------------------------------------

    def next_ns(self, now_ns: int) -> int:
        """The time of its next turn."""
        stands_until_ns = max(self.frozen_until_ns, self.blocked_until_ns)
        if self._ready:
            return max(now_ns, stands_until_ns)
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not self._timers:
            return NEVER
        return max(self._timers[0][0], stands_until_ns)

    def turn(self) -> None:
        """One turn, as in asyncio: first timers that are due, then callbacks that were ready at the
        beginning."""
        now_ns = self._world.now_ns
        while self._timers and self._timers[0][0] <= now_ns:
            _, _, timer = heapq.heappop(self._timers)
            if not timer.cancelled():
                self._ready.append(timer)
        previous = events._get_running_loop()
        events._set_running_loop(self)
        try:
            for _ in range(len(self._ready)):
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
                if self.running_ns is None:  # killed in its own turn
                    return
                if self.blocked_until_ns > self._world.now_ns:
                    self._ready.rotate(1)  # the rest of the step that blocks comes first
                    return
        finally:
            events._set_running_loop(previous)

    async def block(self, seconds: float) -> None:
        """What runs now takes so long, and nothing else runs in this loop meanwhile."""
        if self.on_block is not None:
            self.on_block()
        self.blocked_since_ns = self._world.now_ns
        self.blocked_until_ns = self._world.now_ns + round(seconds * SECOND_NS)
        await _step()

    def freeze(self, seconds: float) -> None:
        """As SIGSTOP, and SIGCONT after this time."""
        self.frozen_until_ns = self._world.now_ns + round(seconds * SECOND_NS)

    def kill(self) -> None:
        if self.running_ns is not None:
            self.running_ns = None
            self._world.remove(self)

    def unwind(self) -> None:
        """After the run: ends tasks that were never ended, when nothing is checked any more."""
        self.kill()
        self.network = None
        for task in tuple(self._tasks):
            task.cancel()
        for _ in range(UNWIND_TURNS_MAX):
            if not self._ready and not self._timers:
                break
            self.running_ns = 0
            if not self._ready:
                when, order, timer = heapq.heappop(self._timers)
                heapq.heappush(self._timers, (self._world.now_ns, order, timer))
                del when
            self.turn()
        self.running_ns = None
        for task in tuple(self._tasks):
            task._log_destroy_pending = False  # type: ignore[attr-defined]

    # --- what asyncio asks -----------------------------------------------------------------------

    def time(self) -> float:
        return self._world.now_ns / SECOND_NS

    def is_running(self) -> bool:
        return self.running_ns is not None

    def is_closed(self) -> bool:
        return self.running_ns is None

    def get_debug(self) -> bool:
        return False

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        if self.running_ns is None:
            raise RuntimeError("Event loop is closed")
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        when_ns = max(round(when * SECOND_NS), self._world.now_ns)
        heapq.heappush(self._timers, (when_ns, next(self._order), timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer is skipped when it is due."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Any = None
    ) -> asyncio.Task[T]:
        task = VirtualTask(coro, loop=self, name=name, context=context)
        self._tasks[task] = None
        task.add_done_callback(lambda ended: self._tasks.pop(task, None))
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        future = self.create_future()
        key = "default" if executor is None else id(executor)
        now_ns = self._world.now_ns
        takes_ns = round(self._random.random() * CALL_S_MAX * SECOND_NS)
        starts_ns = now_ns if executor is None else max(now_ns, self._executors.get(key, 0))
        self._executors[key] = starts_ns + takes_ns
        self.call_at((starts_ns + takes_ns) / SECOND_NS, self._call, future, func, args)
        return future

    def _call(self, future: asyncio.Future[T], func: Callable[..., T], args: Any) -> None:
        # A cancelled call runs too, because a thread cannot be interrupted.
        try:
            answer = func(*args)
        except Exception as error:
            if not future.done():
                future.set_exception(error)
            return
        if isinstance(answer, Joining):
            self._join(future, answer, self.time() + answer.timeout_s)
        elif not future.done():
            future.set_result(answer)

    def _join(self, future: asyncio.Future[Any], joining: Joining, deadline: float) -> None:
        if future.done():
            return
        if joining.ended() or self.time() >= deadline:
            future.set_result(joining.ended())
        else:
            self.call_later(JOIN_POLL_S, self._join, future, joining, deadline)

    async def sock_connect(self, sock: Any, address: Any) -> None:
        """The socket only identifies the connection for `create_connection`."""
        await self.network.reach(self, address)
        self.network.tickets[sock] = address

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.Protocol], *args: Any, **options: Any
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """Connects by a socket from `sock_connect`, or by host and port."""
        sock = options.get("sock")
        if sock is not None:
            address = self.network.tickets.pop(sock)
            sock.close()
        else:
            address = (args[0], args[1])
            await self.network.reach(self, address)
        connected: tuple[asyncio.Transport, asyncio.Protocol] = self.network.connect(
            self, protocol_factory, address
        )
        return connected

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.errors.append(context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.errors.append(context)

    def set_exception_handler(self, handler: Any) -> None:
        self._handler = handler

    def get_exception_handler(self) -> Any:
        return self._handler

    async def shutdown_asyncgens(self) -> None:
        return None

    async def shutdown_default_executor(
        self,
        timeout: float | None = None,  # noqa: ASYNC109  asyncio names it so
    ) -> None:
        return None

    def close(self) -> None:
        self.kill()


def virtual_loop(time: WorldTime, random: Random, name: str, network: Any = None) -> VirtualLoop:
    """The loop has no pipes, signals and servers, because nothing here uses them."""
    return VirtualLoop(time, random, name, network)  # type: ignore[abstract]
