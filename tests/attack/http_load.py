"""Clients that misuse an HTTP server, and one that asks /livez all the while.

The prober runs in a process of its own, so that a busy attacker does not delay it.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Final

HOST: Final = "127.0.0.1"
HEAD: Final = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
PROBE: Final = HEAD + b"Connection: close\r\n\r\n"
PROBE_EVERY_S: Final = 0.05
PROBE_TIMEOUT_S: Final = 5.0
REOPEN_AFTER_S: Final = 0.2
RETRY_AFTER_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Load:
    """`clients` connections at once. Each sends `opening`, and then `drip` every `drip_s`. With
    `reopens`, a client whose connection was closed opens another one."""

    clients: int
    opening: bytes
    drip: bytes = b""
    drip_s: float = 0.5
    reads: bool = True
    reopens: bool = True


class _Client(asyncio.Protocol):
    def __init__(self, load: Load) -> None:
        self._load = load
        self.lost = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if not self._load.reads:
            transport.pause_reading()
        transport.write(self._load.opening)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.lost.done():
            self.lost.set_result(None)


async def attack(load: Load, port: int, seconds: float) -> int:
    """Returns how many connections were opened. Ends by itself."""
    ends = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        clients = [group.create_task(_misuse(load, port, ends)) for _ in range(load.clients)]
    return sum(client.result() for client in clients)


async def _misuse(load: Load, port: int, ends: float) -> int:
    opened = 0
    loop = asyncio.get_running_loop()
    while (left := ends - time.monotonic()) > 0:
        try:
            async with asyncio.timeout(left):
                _, client = await loop.create_connection(lambda: _Client(load), HOST, port)
        except TimeoutError:
            break
        except OSError:
            await asyncio.sleep(RETRY_AFTER_S)
            continue
        opened += 1
        await _hold(client, load, ends)
        if not load.reopens:
            break
        await asyncio.sleep(REOPEN_AFTER_S)
    return opened


async def _hold(client: _Client, load: Load, ends: float) -> None:
    assert client.transport is not None
    while (left := ends - time.monotonic()) > 0 and not client.lost.done():
        await asyncio.wait([client.lost], timeout=min(left, load.drip_s if load.drip else left))
        if load.drip and not client.transport.is_closing():
            client.transport.write(load.drip)
    client.transport.abort()


@dataclass(slots=True)
class Probed:
    """`gap_s`: the longest time without an answer 200."""

    answers: int = 0
    gap_s: float = field(default=0.0)


@contextmanager
def probing(port: int) -> Iterator[Probed]:
    """Asks /livez until the body ends; the result is complete after that."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_probe, args=(port, theirs), daemon=True)
    process.start()
    ours.recv()  # it has had the first answer
    probed = Probed()
    try:
        yield probed
        ours.send(None)
        probed.answers, probed.gap_s = ours.recv()
    finally:
        process.kill()
        process.join()


def _probe(port: int, pipe: Connection) -> None:
    while not _is_answered(port):
        time.sleep(PROBE_EVERY_S)
    answers, gap_s, last = 1, 0.0, time.monotonic()
    pipe.send(None)
    while not pipe.poll(PROBE_EVERY_S):
        is_answered, now = _is_answered(port), time.monotonic()
        gap_s = max(gap_s, now - last)
        if is_answered:
            answers, last = answers + 1, now
    pipe.send((answers, gap_s))


def _is_answered(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), PROBE_TIMEOUT_S) as connection:
            connection.sendall(PROBE)
            return connection.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False
