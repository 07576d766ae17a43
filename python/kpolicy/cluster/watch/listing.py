"""Lists one resource, page by page, into the sink.

Retries single pages. Whatever ends the list is returned as a value; the caller decides what
follows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.limits import LIST_PAGE_TRIES_MAX, LIST_PAGES_MAX, PAGE_BYTES_MAX
from kpolicy.cluster.request_failure import Cause, Failure, Status, TimedOut, Unreachable
from kpolicy.cluster.watch.resource import Resource, Sink, is_older


@dataclass(frozen=True, slots=True)
class Listed:
    resource_version: str
    bytes_read: int


@dataclass(frozen=True, slots=True)
class Stale:
    """The server listed a state older than one that was already seen."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class Broken:
    """The list ended early; `paging` says whether pages had been read before."""

    failure: Failure
    paging: bool


async def read_list(
    client: ApiClient,
    resource: Resource,
    sink: Sink,
    *,
    seen: str,
    not_older_than: str,
    page_objects: int,
    refuse_stale: bool,
    pause: Callable[[Failure], Awaitable[None]],
    exactly: str = "",
    on_page: Callable[[], None] = lambda: None,
) -> Listed | Stale | Broken:
    """List everything, page by page.

    A page that fails for a moment is requested again after `pause`; pages read before remain valid.
    With `exactly`, the list is made at that version. `on_page` is called for each page the sink has
    taken.
    """
    query = resource.query() | {"limit": str(page_objects)}
    if not_older_than:
        query |= {"resourceVersion": not_older_than, "resourceVersionMatch": "NotOlderThan"}
    if exactly:
        query |= {"resourceVersion": exactly, "resourceVersionMatch": "Exact"}
    await sink.list_begin(resource.name)
    size = 0
    for number in range(LIST_PAGES_MAX):
        if not isinstance(page := await _page(client, resource.path, query, pause), bytes):
            return Broken(page, paging=number > 0)
        size += len(page)
        read = await sink.list_page(resource.name, page)
        on_page()
        if read.status is not None:
            status = Status(read.status.code, read.status.reason, read.status.message)
            return Broken(status, paging=number > 0)
        if refuse_stale and is_older(read.resource_version, seen):
            return Stale(read.resource_version)
        if not read.continue_token:
            await sink.list_end(resource.name, read.resource_version)
            return Listed(read.resource_version, size)
        # the token contains the version; the API server refuses both together
        query.pop("resourceVersion", None)
        query.pop("resourceVersionMatch", None)
        query["continue"] = read.continue_token
    text = f"the list did not end after {LIST_PAGES_MAX} pages"
    return Broken(Unreachable(Cause.OVERSIZED, text, sent=True), paging=True)


async def _page(
    client: ApiClient,
    path: str,
    query: dict[str, str],
    pause: Callable[[Failure], Awaitable[None]],
) -> bytes | Failure:
    for attempt in range(1, LIST_PAGE_TRIES_MAX + 1):
        answer = await client.request("GET", path, query, body_bytes_max=PAGE_BYTES_MAX)
        match answer:
            case Status() as status:
                again = status.transient and status.code != 504
            case Unreachable() as failure:
                again = failure.cause is Cause.LOST
            case TimedOut():
                again = True
            case response:
                return response.body
        if not again or attempt == LIST_PAGE_TRIES_MAX:
            return answer
        await pause(answer)
    raise AssertionError("unreachable: the last attempt returns")
