"""A live cluster for verbs that ask about one: kubectl's flags, and its objects as a snapshot."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from kpolicy.cli.input_output import progress_bar
from kpolicy.cli.verb import CannotWorkError, argument

if TYPE_CHECKING:
    from kpolicy.cluster.api import ApiClient
    from kpolicy.cluster.auth.connection import Connection
    from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
    from kpolicy.recorder.record import Recording

NAMESPACE: Final = argument(
    "--namespace", "-n", metavar="NS", help="the namespace (default: that of the context)"
)


async def connect(args: argparse.Namespace) -> Connection:
    """The cluster of the flags, of the variables KPOLICY_*, or of kubectl."""
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.auth.load_connection import load_connection
    from kpolicy.cluster.connection_problem import ConnectionProblem

    variable = os.environ.get("KPOLICY_KUBECONFIG")
    kubeconfig = args.kubeconfig or (Path(variable) if variable else None)
    context = args.context or os.environ.get("KPOLICY_CONTEXT")
    connection = await load_connection(
        os.environ, SystemClock(), kubeconfig=kubeconfig, context=context
    )
    if isinstance(connection, ConnectionProblem):
        raise CannotWorkError(str(connection))
    return connection


async def listed(client: ApiClient) -> Snapshot:
    """Every object that rules read and that the user may list, as `kpolicy snapshot record` lists
    them."""
    from kpolicy.clock import SystemClock
    from kpolicy.cluster.connection_problem import ConnectionProblem
    from kpolicy.offline.snapshots.cluster_snapshot import Gathered
    from kpolicy.recorder.record import record

    gathered = Gathered()
    with progress_bar("listing the cluster") as progress:
        made = await record(client, gathered, SystemClock(), skip_forbidden=True, progress=progress)
    if isinstance(made, ConnectionProblem):
        raise CannotWorkError(str(made))
    print_left_out(made)
    now_ns = SystemClock().now_ns()
    return gathered.snapshot(client.connection.server, made.cluster_version, now_ns)


def print_left_out(made: Recording) -> None:
    """Not what nobody misses: a kind that only newer releases serve has no objects on an older
    one."""
    from kpolicy.object_kinds import OBJECT_KINDS
    from kpolicy.recorder.record import NOT_ASKED_FOR, NOT_SERVED

    newer = {(kind.name, NOT_SERVED) for kind in OBJECT_KINDS if kind.older_versions}
    missing = [
        f"{kind} ({why})"
        for kind, why in sorted(made.left_out.items())
        if why != NOT_ASKED_FOR and (kind, why) not in newer
    ]
    if missing:
        print(f"warning: left out: {', '.join(missing)}", file=sys.stderr)


async def found_pod(client: ApiClient, namespace: str, name: str) -> dict[str, Any] | None:
    """None if there is no such pod. Needs the right to list pods only, as all the rest does."""
    query = {"fieldSelector": f"metadata.name={name}"}
    path = f"/api/v1/namespaces/{quote(namespace)}/pods"
    answer = await _answered(client, path, query, f"list the pods of {namespace}")
    items = (answer or {}).get("items") or []
    return {"apiVersion": "v1", "kind": "Pod", **items[0]} if items else None


async def found_config_map(client: ApiClient, namespace: str, name: str) -> dict[str, Any] | None:
    path = f"/api/v1/namespaces/{quote(namespace)}/configmaps/{quote(name)}"
    return await _answered(client, path, {}, f"get the ConfigMap {namespace}/{name}")


async def _answered(
    client: ApiClient, path: str, query: Mapping[str, str], what: str
) -> dict[str, Any] | None:
    from kpolicy.cluster.api import Response
    from kpolicy.cluster.request_failure import Status, explain_failure

    answer = await client.request("GET", path, query)
    if isinstance(answer, Response):
        item: dict[str, Any] = json.loads(answer.body)
        return item
    if isinstance(answer, Status) and answer.code == 404:
        return None
    raise CannotWorkError(str(explain_failure(client.connection, answer, what)))


def texts_of(config_map: Mapping[str, Any]) -> dict[str, str]:
    data = config_map.get("data")
    return {str(key): str(text) for key, text in data.items()} if isinstance(data, dict) else {}
