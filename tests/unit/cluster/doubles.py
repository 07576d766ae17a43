"""Connections and clients for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kpolicy.clock import Clock, SystemClock
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.auth.connection import Authorization, Connection, FixedAuthorization
from kpolicy.cluster.auth.tls import TlsMaterial
from tests.manual_clock import ManualClock


def connection(
    url: str, authorization: Authorization | None = None, tls: TlsMaterial | None = None
) -> Connection:
    return Connection(
        server=url,
        authorization=authorization or FixedAuthorization(),
        namespace="default",
        user="test",
        source="a test",
        tls=tls,
    )


def client(url: str, clock: Clock | None = None) -> ApiClient:
    return ApiClient(connection(url), clock or SystemClock())


class ImpatientClock(ManualClock):
    """Every sleep is over at once and is kept: for code that retries against a real socket."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self.advance(seconds)


async def eventually(true: Callable[[], bool], passes: int = 200_000) -> None:
    """Let the loop and its sockets run until something is so. Nobody sleeps."""
    for _ in range(passes):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not become so")
