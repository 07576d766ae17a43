"""What hand-written parts cost beside the libraries that could do the same.

`python -m tests.written_by_hand` prints the figures of docs/dependencies.md.
"""

from __future__ import annotations

import asyncio
import time
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import aiohttp
import h11

from kpolicy.clock import SystemClock
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.fenced_request import always
from kpolicy.cluster.http1.answer_reader import AnswerReader
from kpolicy.cluster.http1.write_connections import WriteConnections
from kpolicy.cluster.limits import KIB, WRITE_READ_BYTES
from kpolicy.cluster.writes.binder import Binder, Binding, Bound
from kpolicy.telemetry.metrics import Histogram
from kpolicy.testing import ControlPlane, pod
from tests.unit.cluster.doubles import client

BODY = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}\n'
ANSWER = (
    b"HTTP/1.1 201 Created\r\nAudit-Id: 2b5e1c8a-0000\r\nCache-Control: no-cache, private\r\n"
    b"Content-Type: application/json\r\nX-Kubernetes-Pf-Flowschema-Uid: f0b0\r\n"
    b"X-Kubernetes-Pf-Prioritylevel-Uid: 0a9b\r\nDate: Mon, 23 Nov 2026 16:00:00 GMT\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
)
ROUNDS, TIMES = 5, 5_000
PODS, AT_ONCE = 3_000, 64
STARTS: Final = 20
OBSERVATIONS: Final = 1_000_000
BOUNDS: Final = (0.001, 0.01, 0.1, 1.0)


def by_ours() -> None:
    reader = AnswerReader(1 << 20)
    reader.feed(ANSWER)
    assert reader.whole


def by_h11() -> None:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(ANSWER)
    while not isinstance(connection.next_event(), h11.EndOfMessage):
        pass


def microseconds(read: Callable[[], None]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(TIMES):
            read()
        best = min(best, time.perf_counter() - began)
    return best / TIMES * 1e6


class AiohttpConnections(WriteConnections):
    """Writes over aiohttp's client."""

    session: aiohttp.ClientSession
    server: str

    async def ask(
        self,
        verb: str,
        target: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        timeout_s: float,
        body_bytes_max: int,
        may_send: Callable[[], bool] = always,
    ) -> AnswerReader:
        assert may_send()
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        async with self.session.request(
            verb, self.server + target, data=body, headers=headers, timeout=timeout
        ) as response:
            reader = AnswerReader(body_bytes_max)
            await response.read()
            reader.status = response.status
            return reader


async def bind_microseconds(session: aiohttp.ClientSession | None) -> float:
    """Processor time of a bind, the embedded control plane's part included."""
    async with ControlPlane() as plane, client(plane.url) as api:
        if session is not None:
            api._writes = writes = AiohttpConnections(api.connection, headers=(), connections_max=1)
            writes.session, writes.server = session, plane.url
        pods = iter(plane.add(*(pod(f"pod-{number}") for number in range(PODS))))
        began = time.process_time()
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(bind_all(api, pods))
        return (time.process_time() - began) / PODS * 1e6


async def bind_all(api: ApiClient, pods: Iterator[Mapping[str, Any]]) -> None:
    binder = Binder(api, SystemClock())
    for made in pods:
        metadata = made["metadata"]
        binding = Binding(metadata["namespace"], metadata["name"], metadata["uid"], "node")
        assert isinstance(await binder.bind(binding), Bound)


async def print_binds() -> None:
    print(f"a bind over our connections: {await bind_microseconds(None):.0f} µs")
    async with aiohttp.ClientSession() as session:
        print(f"a bind over aiohttp's client: {await bind_microseconds(session):.0f} µs")


async def print_starts() -> None:
    """The fastest start and stop of the embedded control plane."""
    times = []
    for _ in range(STARTS):
        began = time.perf_counter()
        async with ControlPlane():
            pass
        times.append(time.perf_counter() - began)
    print(f"the embedded control plane starts and stops in {min(times) * 1e3:.1f} ms")


def print_buffers() -> None:
    print(f"asyncio's TLS keeps {SSLProtocol.max_size // KIB} KiB for each connection")
    print(f"our connections share {WRITE_READ_BYTES // KIB} KiB")


def print_scrapes() -> None:
    """A scrape that adds buckets counted elsewhere, and the same observations made in Python."""
    joined = Histogram("joined", "", BOUNDS)
    joined.join(lambda: {(): ([OBSERVATIONS, 0, 0, 0, 0], 0.0005 * OBSERVATIONS)})
    began = time.process_time()
    lines = list(joined.lines())
    scrape = time.process_time() - began
    assert lines
    observed = Histogram("observed", "", BOUNDS)
    began = time.process_time()
    for _ in range(OBSERVATIONS):
        observed.observe(0.0005)
    each = time.process_time() - began
    print(f"a scrape adds {OBSERVATIONS:,} observations of the engine in {scrape * 1e6:.0f} µs")
    print(f"observing each of them in Python: {each * 1e3:.0f} ms")


if __name__ == "__main__":
    for name, read in (("ours", by_ours), ("h11", by_h11)):
        print(f"{name}: {microseconds(read):.1f} µs an answer")
    print_buffers()
    print_scrapes()
    asyncio.run(print_starts())
    asyncio.run(print_binds())
