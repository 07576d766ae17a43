"""Listens, accepts connections and closes those that are overdue or displaced.

asyncio's own server logs without end when the process has no file descriptors left. Here one of our
connections is closed for a new one; if there is none, a spare descriptor is used.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import ssl
from collections.abc import Callable
from typing import Final

from kpolicy.clock import NO_PULSE, Clock, Pulse, task_group
from kpolicy.telemetry import limits
from kpolicy.telemetry.conversation import Conversation
from kpolicy.telemetry.open_connections import OpenConnection, OpenConnections, peer_of

# The process, or the machine, has no room for another connection.
_NO_ROOM: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_log = logging.getLogger(__name__)


async def listening_sockets(address: str, port: int) -> list[socket.socket]:
    """Bind all addresses of a name, or none of them. Raises OSError."""
    loop, found = asyncio.get_running_loop(), list[socket.socket]()
    resolved = await loop.getaddrinfo(
        address or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    try:
        for family, _, _, _, bound in dict.fromkeys(resolved):
            made = socket.create_server(bound[:2], family=family, backlog=limits.HTTP_BACKLOG)
            made.setblocking(False)
            found.append(made)
    except OSError:
        for made in found:
            made.close()
        raise
    return found


class Acceptor:
    """`new_handler` makes the handler of a connection's requests."""

    def __init__(
        self,
        new_handler: Callable[[], asyncio.Protocol],
        connections: OpenConnections,
        clock: Clock,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._new_handler = new_handler
        self._clock = clock
        self._tls = tls
        self._connections = connections
        self._spare = _Spare()

    async def run(self, sockets: list[socket.socket], pulse: Pulse = NO_PULSE) -> None:
        """Serve until cancelled."""
        try:
            async with task_group() as group:
                for listening in sockets:
                    group.create_task(self._accept_all(listening, group))
                await self._sweep(pulse)
        finally:
            self._spare.close()

    async def _sweep(self, pulse: Pulse) -> None:
        while True:
            pulse.beat()
            await self._clock.sleep(limits.HTTP_SWEEP_S)
            for connection in self._connections.overdue(self._clock.monotonic_ns()):
                self._connections.forget(connection)
                connection.abort()
            self._spare.open()

    async def _accept_all(self, listening: socket.socket, group: asyncio.TaskGroup) -> None:
        while True:
            # Without files `accept` fails even if no client waits, so that it is not asked before.
            await _is_readable(listening)
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                continue
            except OSError as error:
                if error.errno in _NO_ROOM:
                    await self._make_room(error)
                else:  # on Linux, an error of the network that the connection had before
                    _log.warning("a connection to the health server failed: %s", error.strerror)
                    await self._clock.sleep(limits.HTTP_ACCEPT_AGAIN_S)
                continue
            accepted.setblocking(False)
            self._begin(accepted, peer_of(str(address[0])), group)

    def _begin(self, accepted: socket.socket, peer: str, group: asyncio.TaskGroup) -> None:
        connection, displaced = self._connections.admit(
            peer, self._clock.monotonic_ns(), accepted.close
        )
        if displaced is not None:
            displaced.abort()
        task = group.create_task(self._converse(accepted, connection))
        # It may be cancelled before it has run at all.
        task.add_done_callback(lambda done: accepted.close() if done.cancelled() else None)
        connection.abort = task.cancel

    async def _converse(self, accepted: socket.socket, connection: OpenConnection) -> None:
        """Hand the socket to a conversation, after the handshake if there is TLS."""
        connection.handler = handler = self._new_handler()
        conversation = Conversation(handler, connection, self._connections, self._clock)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: conversation,
                accepted,
                ssl=self._tls,
                ssl_handshake_timeout=limits.HTTP_HEAD_S if self._tls is not None else None,
            )
        except OSError:  # no handshake, or the client has gone
            self._connections.forget(connection)
            accepted.close()
        except asyncio.CancelledError:
            self._connections.forget(connection)
            raise

    async def _make_room(self, error: OSError) -> None:
        displaced = self._connections.displace()
        _log.warning(
            "no file is left for a connection to the health server (%s): raise `ulimit -n`",
            error.strerror,
            extra={"connections": len(self._connections) + (displaced is not None)},
        )
        if displaced is not None:
            displaced.abort()
            await asyncio.sleep(0)  # the transport closes its socket in the next round
            await asyncio.sleep(0)
        elif not self._spare.close():
            await self._clock.sleep(limits.HTTP_ACCEPT_AGAIN_S)


async def _is_readable(listening: socket.socket) -> None:
    """Wait for a client. Other connections are read in each round of the loop meanwhile."""
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not readable.done():
            readable.set_result(None)

    loop.add_reader(listening, wake)
    try:
        await readable
    finally:
        loop.remove_reader(listening)


class _Spare:
    """A file descriptor that is kept for the moment in which there is no other."""

    def __init__(self) -> None:
        self._file: int | None = None
        self.open()

    def open(self) -> None:
        if self._file is None:
            try:
                self._file = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._file = None

    def close(self) -> bool:
        """Return whether a file descriptor is free now."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
        return file is not None
