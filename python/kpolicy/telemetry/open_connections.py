"""The open connections of a server: how many there may be, and which is closed for a new one.

A new connection is always admitted, so that no number of idle clients keeps a probe out. The limit
holds for each peer first: a peer that floods the server closes its own connections.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from kpolicy.api_times import NANOSECONDS
from kpolicy.telemetry import limits


@dataclass(eq=False, slots=True)
class OpenConnection:
    """`deadline_ns` is when it is closed, if nothing happens before. `unread_bytes` arrived since
    the last answer began. `handler` handles its requests."""

    peer: str
    deadline_ns: int
    abort: Callable[[], object]
    handler: object = None
    unread_bytes: int = 0
    is_answering: bool = False
    has_begun: bool = field(default=True)  # a head, of which bytes may be missing

    def received(self, count: int, now_ns: int) -> bool:
        """Count bytes; False if they are too many."""
        if not self.has_begun:
            self.has_begun = True
            self.deadline_ns = now_ns + _ns(limits.HTTP_HEAD_S)
        self.unread_bytes += count
        return self.unread_bytes <= limits.HTTP_UNREAD_BYTES_MAX

    def begin_answer(self, now_ns: int) -> None:
        self.is_answering, self.unread_bytes = True, 0
        self.deadline_ns = now_ns + _ns(limits.HTTP_ANSWER_S)

    def end_answer(self, now_ns: int) -> None:
        """After it, the next request may be there in part already."""
        self.is_answering, self.has_begun = False, self.unread_bytes > 0
        idle_s = limits.HTTP_HEAD_S if self.has_begun else limits.HTTP_IDLE_S
        self.deadline_ns = now_ns + _ns(idle_s)


class OpenConnections:
    def __init__(
        self,
        connections_max: int = limits.HTTP_CONNECTIONS_MAX,
        of_peer_max: int = limits.HTTP_CONNECTIONS_OF_PEER_MAX,
    ) -> None:
        self._connections_max = connections_max
        self._of_peer_max = of_peer_max
        self._open: dict[OpenConnection, None] = {}  # in the order in which they were opened

    def __len__(self) -> int:
        return len(self._open)

    def admit(
        self, peer: str, now_ns: int, abort: Callable[[], object]
    ) -> tuple[OpenConnection, OpenConnection | None]:
        """Return the new connection, and the one that must be aborted for it."""
        connection = OpenConnection(peer, now_ns + _ns(limits.HTTP_HEAD_S), abort)
        displaced = self._displaced_by(peer)
        if displaced is not None:
            self.forget(displaced)
        self._open[connection] = None
        return connection, displaced

    def displace(self) -> OpenConnection | None:
        """Return one that must be aborted, because its file descriptor is needed."""
        displaced = self._longest_waiting(self._of_the_largest_peer())
        if displaced is not None:
            self.forget(displaced)
        return displaced

    def of(self, handler: object) -> OpenConnection | None:
        """Return the connection of a handler; None if it was closed."""
        return next((found for found in self._open if found.handler is handler), None)

    def forget(self, connection: OpenConnection) -> None:
        self._open.pop(connection, None)

    def overdue(self, now_ns: int) -> list[OpenConnection]:
        return [connection for connection in self._open if connection.deadline_ns <= now_ns]

    def _displaced_by(self, peer: str) -> OpenConnection | None:
        of_peer = [connection for connection in self._open if connection.peer == peer]
        if len(of_peer) >= self._of_peer_max:
            return self._longest_waiting(of_peer)
        if len(self._open) >= self._connections_max:
            return self._longest_waiting(self._of_the_largest_peer())
        return None

    def _of_the_largest_peer(self) -> list[OpenConnection]:
        counts = Counter(connection.peer for connection in self._open)
        if not counts:
            return []
        ((largest, _),) = counts.most_common(1)
        return [connection for connection in self._open if connection.peer == largest]

    @staticmethod
    def _longest_waiting(connections: list[OpenConnection]) -> OpenConnection | None:
        """Return the oldest that is not being answered, or else the oldest."""
        return min(connections, key=lambda connection: connection.is_answering, default=None)


def peer_of(address: str) -> str:
    """Return what counts as one peer: an IPv4 address, or an IPv6 network of 64 bits, as one
    machine has all of its addresses."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((int(parsed), 64), strict=False).network_address)


def _ns(seconds: float) -> int:
    return round(seconds * NANOSECONDS)
