"""What tests run against: the embedded control plane in a thread, or a real API server.

A test that takes `server` runs with both: what it shows of the embedded control plane holds of a
real API server.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from kpolicy.testing import ControlPlane
from tests.unit.testing.client import Client, Reply

T = TypeVar("T")

WAIT_S = 20


@dataclass(frozen=True)
class Server:
    client: Client
    namespace: str
    minor: int  # of the release of Kubernetes

    def path(self, plural: str, name: str = "", subresource: str = "", group: str = "") -> str:
        root = f"/apis/{group}/v1" if group else "/api/v1"
        parts = (root, "namespaces", self.namespace, plural, name, subresource)
        return "/".join(part for part in parts if part)

    @property
    def pods(self) -> str:
        return self.path("pods")

    def bind(self, name: str, node: str, **metadata: object) -> Reply:
        body = {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": node}}
        return self.client.post(self.path("pods", name, "binding"), body)


class Embedded:
    """A control plane with a loop of its own, so that tests can be plain and synchronous."""

    def __init__(self, control_plane: ControlPlane, loop: asyncio.AbstractEventLoop) -> None:
        self.control_plane = control_plane
        self._loop = loop

    def do(self, work: Callable[[ControlPlane], T]) -> T:
        """Something with the control plane, on its loop."""

        async def done() -> T:
            return work(self.control_plane)

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(WAIT_S)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_S)

    @property
    def client(self) -> Client:
        return Client(self.control_plane.url)


@contextmanager
def embedded(make: Callable[[], ControlPlane]) -> Iterator[Embedded]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="embedded control plane")
    thread.start()

    async def started() -> ControlPlane:
        control_plane = make()
        await control_plane.start()
        return control_plane

    try:
        control_plane = asyncio.run_coroutine_threadsafe(started(), loop).result(WAIT_S)
        try:
            yield Embedded(control_plane, loop)
        finally:
            asyncio.run_coroutine_threadsafe(control_plane.stop(), loop).result(WAIT_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(WAIT_S)
        loop.close()
