"""Asks a running scheduler for a page, again while it is another's turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.request_failure import Failure, Status

_BUSY: Final = 429
_TRIES_MAX: Final = 5
_WAIT_S: Final = 1.0


async def page(
    client: ApiClient, clock: Clock, path: str, query: Mapping[str, str] | None = None
) -> Response | Failure:
    for _ in range(_TRIES_MAX):
        answer = await client.request("GET", path, query)
        if not (isinstance(answer, Status) and answer.code == _BUSY):
            break
        await clock.sleep(answer.retry_after_s or _WAIT_S)
    return answer
