"""Records a cluster: lists every kind once, as close to one moment as the API allows.

Missing permissions are reported before anything long begins. Every list is requested at the
resource version of the one before; if the server no longer has it, the list is made at a newer
version. Each object of a page goes to the snapshot writer; memory holds one page at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.connection_problem import ConnectionProblem, problem
from kpolicy.cluster.limits import LIST_PAGE_OBJECTS, LIST_PAGE_OBJECTS_MAX, LIST_PAGE_OBJECTS_MIN
from kpolicy.cluster.probe import ServerVersion, probe
from kpolicy.cluster.request_failure import (
    Cause,
    Failure,
    Status,
    Unreachable,
    explain_failure,
    requested_wait_s,
)
from kpolicy.cluster.watch.listing import Broken, Listed, read_list
from kpolicy.cluster.watch.resource import LinesRead, PageRead, Resource
from kpolicy.object_kinds import OBJECT_KINDS
from kpolicy.offline.snapshots.snapshot_problem import Problem
from kpolicy.scheduler.loop.watched_resources import READABLE, REQUIRED

KINDS: Final[Mapping[str, str]] = {kind.resource: kind.name for kind in OBJECT_KINDS}
RECORDED: Final = tuple(READABLE.values())


# How often the list of one kind may start again because its continue token expired or a page was
# too large. Pages are resized each time, so more restarts have another cause.
LIST_TRIES_MAX: Final = 12
# the growth of pages after a continue token expired, as in informers
PAGE_GROWTH: Final = 4
# the wait before a page is requested again, unless the server asks for another
RETRY_S: Final = 1.0
# the number of forbidden kinds that a message names
KINDS_NAMED_MAX: Final = 20


Progress = Callable[[int, int], None]


class Target(Protocol):
    """Where the objects go."""

    def discard(self, kind: str) -> None:
        """Forget the objects of this kind: they are listed again."""

    def add(self, item: Mapping[str, Any]) -> Problem | None:
        """Take an object, or say why not."""


class Pages:
    """Takes list pages. `is_broken`: a successful response was not a list."""

    def __init__(self, target: Target, progress: Progress | None = None) -> None:
        self.problems: list[Problem] = []
        self.is_broken = False
        self._target = target
        self._progress = progress
        self._objects_before = 0
        self._objects = 0

    async def list_begin(self, resource: str) -> None:
        """Drop what an earlier try of this list has written."""
        self._target.discard(KINDS[resource])
        self._objects = 0

    async def list_page(self, resource: str, body: bytes) -> PageRead:
        if (page := list_of(body, KINDS[resource])) is None:
            self.is_broken = True
            return PageRead("", "")
        version, kind = str(page.get("apiVersion") or ""), KINDS[resource]
        for item in page.get("items") or ():
            problem = self._target.add({"apiVersion": version, "kind": kind, **item})
            if problem is not None:
                self.problems.append(problem)
            self._objects += 1
        metadata = page["metadata"]
        remaining = int(metadata.get("remainingItemCount") or 0)
        if self._progress is not None:
            done = self._objects_before + self._objects
            self._progress(done, done + remaining)
        return PageRead(
            str(metadata.get("continue") or ""),
            str(metadata.get("resourceVersion") or ""),
            remaining,
        )

    async def list_end(self, resource: str, resource_version: str) -> None:
        self._objects_before += self._objects
        self._objects = 0

    async def lines(self, resource: str, lines: bytes) -> LinesRead:
        raise AssertionError("unreachable: a recording watches nothing")


def list_of(body: bytes, kind: str) -> dict[str, Any] | None:
    """The page of a list of this kind; None if it is something else."""
    try:
        page = json.loads(body)
    except (ValueError, RecursionError):
        return None
    is_list = isinstance(page, dict) and page.get("kind") == f"{kind}List"
    if not is_list or not isinstance(page.get("metadata"), dict):
        return None
    items = page.get("items") or []
    right = isinstance(items, list) and all(isinstance(item, dict) for item in items)
    return page if right else None


FORBIDDEN: Final = "forbidden"
NOT_SERVED: Final = "not served"
NOT_ASKED_FOR: Final = "not asked for"
_RIGHTS: Final = "deploy/rbac/snapshot-recorder.yaml has the rights"
# responses to a list at a version that is no longer, or not yet, available
_VERSION_REFUSED: Final = frozenset({400, 410, 504})


@dataclass(slots=True)
class Recording:
    """By kind: the version at which it was listed, or why it was left out."""

    cluster_version: str
    resource_versions: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def is_of_one_moment(self) -> bool:
        return len(set(self.resource_versions.values())) <= 1


async def record(
    client: ApiClient,
    target: Target,
    clock: Clock,
    *,
    wanted: Sequence[Resource] = RECORDED,
    skip_forbidden: bool = False,
    progress: Progress | None = None,
) -> Recording | ConnectionProblem:
    """List everything in `wanted` into the target."""
    if not isinstance(server := await probe(client), ServerVersion):
        return server
    made = Recording(server.git_version)
    asked = {resource.name for resource in wanted}
    made.left_out = {kind: NOT_ASKED_FOR for name, kind in KINDS.items() if name not in asked}
    allowed = await allowed_kinds(client, wanted, made, skip_forbidden=skip_forbidden)
    if isinstance(allowed, ConnectionProblem):
        return allowed
    pages = Pages(target, progress)
    version = ""
    for resource in allowed:
        listed = await _listed(client, resource, pages, clock, version)
        if not isinstance(listed, str):
            return listed
        version = made.resource_versions[KINDS[resource.name]] = listed
    made.problems = pages.problems
    return made


async def allowed_kinds(
    client: ApiClient, wanted: Sequence[Resource], made: Recording, *, skip_forbidden: bool
) -> list[Resource] | ConnectionProblem:
    """Return what can be listed, after requesting one object of each kind. What cannot is noted in
    `made`."""
    allowed: list[Resource] = []
    forbidden: list[str] = []
    for resource in wanted:
        for variant in resource.variants():
            answer = await client.request("GET", variant.path, variant.query() | {"limit": "1"})
            if not (isinstance(answer, Status) and answer.code == 404):
                break
        if isinstance(answer, Response):
            allowed.append(variant)
        elif isinstance(answer, Status) and answer.code == 403:
            forbidden.append(resource.name)
            made.left_out[KINDS[resource.name]] = FORBIDDEN
        elif isinstance(answer, Status) and answer.code == 404 and resource.name not in REQUIRED:
            made.left_out[KINDS[resource.name]] = NOT_SERVED
        else:
            return explain_failure(client.connection, answer, f"list {resource.name}")
    if not forbidden or (skip_forbidden and not REQUIRED & set(forbidden)):
        return allowed
    user = client.connection.user or "anonymous"
    more = f" and {len(forbidden) - KINDS_NAMED_MAX} more" * (len(forbidden) > KINDS_NAMED_MAX)
    message = f"{user!r} may not list {', '.join(forbidden[:KINDS_NAMED_MAX])}{more}"
    without = "" if REQUIRED & set(forbidden) else "; --skip-forbidden leaves these out"
    return problem("KPC205", message, f"{_RIGHTS}{without}")


async def _listed(
    client: ApiClient, resource: Resource, pages: Pages, clock: Clock, version: str
) -> str | ConnectionProblem:
    """Return the version at which the kind was listed: `version`, if the server still has it."""

    async def pause(failure: Failure) -> None:
        await clock.sleep(requested_wait_s(failure) or RETRY_S)

    page_objects = LIST_PAGE_OBJECTS
    for _ in range(LIST_TRIES_MAX):
        outcome = await read_list(
            client,
            resource,
            pages,
            seen="",
            not_older_than="",
            page_objects=page_objects,
            refuse_stale=False,
            pause=pause,
            exactly=version,
        )
        if pages.is_broken:
            server = client.connection.server
            text = f"{server} answers {resource.path} with something else than a list"
            return problem("KPC207", text, "is there a proxy in between?")
        if isinstance(outcome, Listed):
            return outcome.resource_version
        assert isinstance(outcome, Broken), "nothing was seen that a list could be older than"
        failure = outcome.failure
        if (
            isinstance(failure, Status)
            and failure.code in _VERSION_REFUSED
            and (version or failure.code == 410)
        ):
            version, growth = "", PAGE_GROWTH if outcome.paging else 1
            page_objects = min(LIST_PAGE_OBJECTS_MAX, page_objects * growth)
        elif (
            isinstance(failure, Unreachable)
            and failure.cause is Cause.OVERSIZED
            and page_objects > LIST_PAGE_OBJECTS_MIN
        ):
            page_objects //= 2
        else:
            return explain_failure(client.connection, failure, f"list {resource.name}")
    return explain_failure(client.connection, failure, f"list {resource.name}")
