"""What is listed and watched, how resource versions compare, and the sink that takes the bytes.

Kubernetes allows comparing resource versions as integers since 1.35 (KEP-5504), and has always
written integers. Text that is not an integer cannot be ordered; the version seen last is used then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from kpolicy.cluster.request_failure import Status


@dataclass(frozen=True, slots=True)
class Resource:
    """What is listed and watched. `name` is used by the sink and in messages; `granted_by` is
    the role that should grant access to it."""

    name: str
    path: str
    field_selector: str = ""
    label_selector: str = ""
    granted_by: str = ""
    # Where servers without `path` may have it, in the order in which they are asked.
    older_paths: tuple[str, ...] = ()

    def variants(self) -> tuple[Resource, ...]:
        """The resource under each path where it may be served, the best first."""
        older = tuple(replace(self, path=path, older_paths=()) for path in self.older_paths)
        return (self, *older)

    def query(self) -> dict[str, str]:
        query = {}
        if self.field_selector:
            query["fieldSelector"] = self.field_selector
        if self.label_selector:
            query["labelSelector"] = self.label_selector
        return query


_DIGITS_MAX = 20  # versions are unsigned 64-bit integers


def is_older(version: str, than: str) -> bool:
    """Whether `version` is certainly older. An empty or non-numeric version is never certain."""
    left, right = _number(version), _number(than)
    return left is not None and right is not None and left < right


def newer_of(seen: str, reported: str) -> str:
    """Return the version to resume from. It never goes back; an empty version changes nothing."""
    return seen if not reported or is_older(reported, seen) else reported


def _number(version: str) -> int | None:
    digits = version.isascii() and version.isdigit() and len(version) <= _DIGITS_MAX
    return int(version) if digits else None


@dataclass(frozen=True, slots=True)
class PageRead:
    """The metadata of a list page. With a `status` (one that came instead of a list)
    the list is incomplete and must start again."""

    continue_token: str
    resource_version: str
    remaining: int = 0
    status: Status | None = None


@dataclass(frozen=True, slots=True)
class LinesRead:
    """`resource_version`: the newest in these lines, bookmarks included; empty if there is none.
    `status` is that of an ERROR event."""

    resource_version: str
    status: Status | None = None


class Sink(Protocol):
    """Takes the bytes of lists and watches. Calls for one resource never overlap.

    A `list_begin` while a list is open drops what the open list has named. Objects that a completed
    list has not named are deleted at `list_end`.
    """

    async def list_begin(self, resource: str) -> None: ...

    async def list_page(self, resource: str, body: bytes) -> PageRead: ...

    async def list_end(self, resource: str, resource_version: str) -> None: ...

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        """Take complete lines of a watch."""
