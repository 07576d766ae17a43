"""Records a cluster: lists every kind once, as close to one moment as the API allows.

Missing permissions are reported before anything long begins. Every list is requested at the
resource version of the one before; if the server no longer has it, the list is made at a newer
version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kpolicy.clock import Clock
from kpolicy.cluster import connection_problem as code
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.connection_problem import ConnectionProblem, problem
from kpolicy.cluster.limits import (
    LIST_PAGE_OBJECTS,
    LIST_PAGE_OBJECTS_MAX,
    LIST_PAGE_OBJECTS_MIN,
)
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
from kpolicy.cluster.watch.resource import Resource
from kpolicy.offline.snapshot_file.writer import Writer
from kpolicy.offline.snapshots.snapshot_problem import Problem
from kpolicy.recorder.list_pages import (
    KINDS,
    KINDS_NAMED_MAX,
    LIST_TRIES_MAX,
    PAGE_GROWTH,
    RECORDED,
    RETRY_S,
    Pages,
    Progress,
)
from kpolicy.scheduler.loop.watched_resources import REQUIRED

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
    writer: Writer,
    clock: Clock,
    *,
    wanted: Sequence[Resource] = RECORDED,
    skip_forbidden: bool = False,
    progress: Progress | None = None,
) -> Recording | ConnectionProblem:
    """List everything in `wanted` into the writer."""
    if not isinstance(server := await probe(client), ServerVersion):
        return server
    made = Recording(server.git_version)
    asked = {resource.name for resource in wanted}
    made.left_out = {kind: NOT_ASKED_FOR for name, kind in KINDS.items() if name not in asked}
    allowed = await _allowed(client, wanted, made, skip_forbidden=skip_forbidden)
    if isinstance(allowed, ConnectionProblem):
        return allowed
    pages = Pages(writer, progress)
    version = ""
    for resource in allowed:
        listed = await _listed(client, resource, pages, clock, version)
        if not isinstance(listed, str):
            return listed
        version = made.resource_versions[KINDS[resource.name]] = listed
    made.problems = pages.problems
    return made


async def _allowed(
    client: ApiClient, wanted: Sequence[Resource], made: Recording, *, skip_forbidden: bool
) -> list[Resource] | ConnectionProblem:
    """Return what can be listed, after requesting one object of each kind."""
    allowed: list[Resource] = []
    forbidden: list[str] = []
    for resource in wanted:
        answer = await client.request("GET", resource.path, resource.query() | {"limit": "1"})
        if isinstance(answer, Response):
            allowed.append(resource)
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
    return problem(code.FORBIDDEN, message, f"{_RIGHTS}{without}")


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
            return problem(code.NOT_AN_API_SERVER, text, "is there a proxy in between?")
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
