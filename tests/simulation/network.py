"""The network between loops: connections are queues, with latency, breaks and silence.

Bytes keep their order on a connection; there is no order between connections. All loops are on one
`WorldTime`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from tests.simulation.event_loop import SECOND_NS, VirtualLoop
from tests.simulation.machine_time import WorldTime

LATENCY_S_MIN: Final = 0.0001
LATENCY_S_MAX: Final = 0.003
# How long the kernel waits for an answer before it gives a connection up.
CONNECT_GIVEN_UP_S: Final = 120.0


@dataclass(slots=True)
class Link:
    """The state of the network between one host and the server."""

    refuses: bool = False  # nobody listens: connections are refused at once
    silent: bool = False  # packets vanish in both directions; connections stay
    deaf: bool = False  # bytes to the host vanish
    mute: bool = False  # bytes from the host vanish
    latency_s: float = 0.0  # additional latency


class End(asyncio.Transport):
    """One end of a connection."""

    def __init__(self, network: Network, loop: VirtualLoop, host: str) -> None:
        super().__init__()
        self._network = network
        self._loop = loop
        self._protocol: asyncio.Protocol | None = None
        self._closed = False
        self._arrives_ns = 0  # when the last bytes sent to us arrive
        self._inbox: deque[bytes] = deque()  # not empty only while reading is paused
        self._paused = False
        self.host = host  # of the client, at both ends
        self.peer: End | None = None
        self.lossy = False  # all bytes from here vanish for good: half open
        self.tears = False  # the next bytes break off in the middle, and the connection breaks
        self.lag_s = 0.0  # additional latency of bytes to this end

    # --- asyncio.Transport -----------------------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("10.0.0.1", 80) if name == "peername" else default

    def is_closing(self) -> bool:
        return self._closed

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self._protocol is not None
        return self._protocol

    def is_reading(self) -> bool:
        return not self._paused

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        if self._paused:
            self._paused = False
            self._loop.call_soon(self._receive, b"")

    def get_write_buffer_size(self) -> int:
        return 0

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return (0, 1 << 20)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is ever buffered here."""

    def write(self, data: Any) -> None:
        if self._closed or self.peer is None or self.lossy:
            return
        if self.tears:
            self.peer.arrive(bytes(data[: len(data) // 2]))
            self.abort()
        else:
            self.peer.arrive(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(bytes(data) for data in list_of_data))

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        self._end(None)

    def abort(self) -> None:
        self._end(None, reset=True)

    # --- the network -----------------------------------------------------------------------------

    def begin(self, protocol: asyncio.Protocol) -> None:
        self._protocol = protocol
        protocol.connection_made(self)

    def arrive(self, data: bytes) -> None:
        """Bytes for this end arrive, some time later."""
        link = self._network.link(self.host)
        if self._is_lost(link):
            self.lossy = True  # after a hole in the stream, no byte counts
            if self.peer is not None:
                self.peer.lossy = True
            return
        self._loop.call_at(self._due(link), self._receive, data)

    def arrive_end(self, *, reset: bool) -> None:
        link = self._network.link(self.host)
        if not (self._is_lost(link) or self.lossy):
            self._loop.call_at(self._due(link), self._lost, reset)

    def vanish(self) -> None:
        """The process has died, and its kernel closes the connection."""
        if not self._closed:
            self._closed = True
            if self.peer is not None:
                self.peer.arrive_end(reset=True)

    def _is_lost(self, link: Link) -> bool:
        """Whether bytes on their way to this end are lost."""
        return link.silent or (link.deaf if self.host == host_of(self._loop) else link.mute)

    def _due(self, link: Link) -> float:
        latency_s = self._network.latency_s() + link.latency_s + self.lag_s
        now_ns = self._network.time.now_ns
        self._arrives_ns = max(self._arrives_ns + 1, now_ns + round(latency_s * SECOND_NS))
        return self._arrives_ns / SECOND_NS

    def _receive(self, data: bytes) -> None:
        if data:
            self._inbox.append(data)
        while self._inbox and not (self._closed or self._paused or self._protocol is None):
            self._protocol.data_received(self._inbox.popleft())

    def _lost(self, reset: bool) -> None:
        if self._closed:
            return
        self._closed = True
        self._network.forget(self)
        if self._protocol is not None:
            if not reset:
                self._protocol.eof_received()
            error = ConnectionResetError(104, "Connection reset by peer") if reset else None
            self._protocol.connection_lost(error)

    def _end(self, error: Exception | None, *, reset: bool = False) -> None:
        if self._closed:
            return
        self._closed = True
        self._network.forget(self)
        if self.peer is not None:
            self.peer.arrive_end(reset=reset)
        if self._protocol is not None:
            self._loop.call_soon(self._protocol.connection_lost, error)


class Network:
    """Servers by address, and many hosts. `accept` makes a server's protocol for a connection."""

    def __init__(self, time: WorldTime, random: Random) -> None:
        self.time = time
        self._random = random
        self._links: dict[str, Link] = {}
        self._ends: dict[End, None] = {}
        self.tickets: dict[Any, Any] = {}
        self.server_loop: VirtualLoop | None = None
        self.accept: dict[Any, Callable[[End], asyncio.Protocol]] = {}
        self.listens = True

    def latency_s(self) -> float:
        return LATENCY_S_MIN + self._random.random() * (LATENCY_S_MAX - LATENCY_S_MIN)

    def link(self, host: str) -> Link:
        return self._links.setdefault(host, Link())

    async def reach(self, loop: VirtualLoop, address: Any) -> None:
        """Opens a connection."""
        host = host_of(loop)
        link = self.link(host)
        if link.silent or link.deaf or link.mute:
            await asyncio.sleep(CONNECT_GIVEN_UP_S)
            raise TimeoutError(110, "Connection timed out")
        await asyncio.sleep(2 * (self.latency_s() + link.latency_s))
        if link.refuses or not self.listens or address not in self.accept:
            raise ConnectionRefusedError(111, f"Connection refused: {address}")

    def connect(
        self, loop: VirtualLoop, factory: Callable[[], asyncio.Protocol], address: Any
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        assert self.server_loop is not None
        host = host_of(loop)
        ours, theirs = End(self, loop, host), End(self, self.server_loop, host)
        ours.peer, theirs.peer = theirs, ours
        self._ends[ours] = self._ends[theirs] = None
        self.server_loop.call_soon(self._accept, theirs, address)
        protocol = factory()
        ours.begin(protocol)
        return ours, protocol

    def _accept(self, end: End, address: Any) -> None:
        if not end.is_closing() and address in self.accept:
            end.begin(self.accept[address](end))

    def forget(self, end: End) -> None:
        self._ends.pop(end, None)

    def served(self, host: str) -> list[End]:
        """The server's ends of the connections of a host."""
        return [end for end in self._ends if end.host == host and end._loop is self.server_loop]

    def vanish(self, loop: VirtualLoop) -> None:
        """A process died; its ends of connections vanish."""
        for end in [end for end in self._ends if end._loop is loop]:
            self.forget(end)
            end.vanish()


def host_of(loop: VirtualLoop) -> str:
    """Loops are named `host/thread`; each process is on a host of its own."""
    return loop.name.partition("/")[0]
