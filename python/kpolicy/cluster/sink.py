"""Where watched bytes go: the border between this package and whoever decodes them.

Owns the protocol and its records. Assumes that the sink reads the JSON, once, and reports the few
words that list and watch need to go on. Python decodes no pod and no node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """The Status in an ERROR event, or one that came instead of a list."""

    code: int
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class PageRead:
    """`status`: it is not a whole page of the list that was asked for; what could be read is kept,
    and the list must begin anew."""

    continue_token: str
    resource_version: str
    remaining: int = 0
    status: WatchStatus | None = None


@dataclass(frozen=True, slots=True)
class LinesRead:
    """`resource_version`: the newest in these lines, bookmarks included; empty if none had one."""

    resource_version: str
    status: WatchStatus | None = None


class Sink(Protocol):
    """One list at a time per resource; calls for one resource never overlap.

    A `list_begin` while a list is open drops what the open one has named so far. What a finished
    list has not named is gone at `list_end`.
    """

    async def list_begin(self, resource: str) -> None: ...

    async def list_page(self, resource: str, body: bytes) -> PageRead: ...

    async def list_end(self, resource: str, resource_version: str) -> None: ...

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        """Whole lines of a watch."""
