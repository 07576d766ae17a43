"""Checks once at start: the API server answers, accepts us, and lets us list what we need."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kpolicy.cluster import connection_problem as code
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.connection_problem import ConnectionProblem, problem
from kpolicy.cluster.limits import CONNECT_TIMEOUT_S
from kpolicy.cluster.patience import Patience
from kpolicy.cluster.request_failure import Failure, explain_failure
from kpolicy.cluster.watch.resource import Resource


@dataclass(frozen=True, slots=True)
class ServerVersion:
    git_version: str
    major: int
    minor: int


async def probe(
    client: ApiClient,
    needs: Sequence[Resource] = (),
    *,
    timeout_s: float = CONNECT_TIMEOUT_S,
    patience: Patience | None = None,
) -> ServerVersion | ConnectionProblem:
    """Return the server's version, after every resource in `needs` could be listed."""

    async def get(path: str, query: Mapping[str, str] | None = None) -> Response | Failure:
        async def once() -> Response | Failure:
            return await client.request("GET", path, query, timeout_s=timeout_s)

        return await (patience.ask(once) if patience is not None else once())

    if not isinstance(answer := await get("/version"), Response):
        return explain_failure(client.connection, answer, "read /version")
    if (version := _version(answer.body)) is None:
        return problem(
            code.NOT_AN_API_SERVER,
            f"{client.connection.server} answers, but not as a Kubernetes API server",
            "check the server's address in the kubeconfig",
        )
    for resource in needs:
        query = resource.query() | {"limit": "1"}
        if not isinstance(answer := await get(resource.path, query), Response):
            return explain_failure(client.connection, answer, f"list {resource.name}")
    return version


def _version(body: bytes) -> ServerVersion | None:
    try:
        document = json.loads(body)
        return ServerVersion(
            git_version=str(document["gitVersion"]),
            major=int(str(document["major"]).rstrip("+")),
            minor=int(str(document["minor"]).rstrip("+")),  # some clouds add a plus sign: "36+"
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
