"""Requests that are sent only if the caller still may, asked when their connection is there.

Connecting, also through a proxy, may take seconds, and a process may stand still for longer: the
lease of a leader may be over by then. Writes without a proxy ask in `http1/write_connections.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import ClassVar, Final

import aiohttp
from aiohttp.connector import Connection

from kpolicy.cluster.request_failure import Cause, Unreachable

FENCED: Final = Unreachable(Cause.FENCED, "the lease was over before it was sent", sent=False)


def always() -> bool:
    return True


class NotSentError(Exception):
    """The caller might not send the request any more."""


class FencedRequest(aiohttp.ClientRequest):
    """`may_send` is that of the task whose request is sent."""

    may_send: ClassVar[ContextVar[Callable[[], bool]]] = ContextVar("may_send", default=always)

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        if not self.may_send.get()():
            raise NotSentError
        return await super().send(conn)
