"""What is listed and watched, how resource versions compare, and the sink that takes the bytes.

Kubernetes allows comparing resource versions as integers since 1.35 (KEP-5504), and has always
written integers. Text that is not an integer cannot be ordered; the version seen last is used then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Resource:
    """What is listed and watched. `name` is what the sink and people call it, `granted_by` the role
    that should allow it."""

    name: str
    path: str
    field_selector: str = ""
    label_selector: str = ""
    granted_by: str = ""

    def query(self) -> dict[str, str]:
        query = {}
        if self.field_selector:
            query["fieldSelector"] = self.field_selector
        if self.label_selector:
            query["labelSelector"] = self.label_selector
        return query


_DIGITS_MAX = 20  # they are unsigned 64 bit


def is_older(version: str, than: str) -> bool:
    """Whether `version` is certainly older; empty or not numeric is never certain."""
    left, right = _number(version), _number(than)
    return left is not None and right is not None and left < right


def newer_of(seen: str, reported: str) -> str:
    """What to resume from: never goes back, and nothing reported changes nothing."""
    return seen if not reported or is_older(reported, seen) else reported


def _number(version: str) -> int | None:
    digits = version.isascii() and version.isdigit() and len(version) <= _DIGITS_MAX
    return int(version) if digits else None


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
