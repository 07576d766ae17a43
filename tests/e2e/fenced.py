"""The scheduler's account in a cluster with its roles and fences, by a token of the API server, and
how it attacks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.cluster.client import Client, wait_for
from tests.cluster.connection import ApiError
from tests.cluster.control_plane import ControlPlane
from tests.e2e.rendered import NAMESPACE

Json = dict[str, Any]

REFUSED: Final = 422
LOAD: Final = "load"


@contextmanager
def account_of_scheduler(cluster: ControlPlane) -> Iterator[Client]:
    """Its fences are in force on return. Needs the namespace `load`."""
    token = cluster.kubectl("create", "token", "kpolicy", "-n", NAMESPACE).strip()
    client = Client(cluster.server, cluster.ca_file, token)
    cluster.admin.create_pod("sentinel", namespace=LOAD, scheduler_name="kpolicy")
    attack = {"metadata": {"labels": {"a": "b"}}}
    wait_for(lambda: patch_status(client, "sentinel", attack) == REFUSED, "the fences")
    try:
        yield client
    finally:
        client.close()


def patch_status(client: Client, pod: str, patch: Json, namespace: str = LOAD) -> int:
    return patched(client, f"/api/v1/namespaces/{namespace}/pods/{pod}/status", patch, "strategic")


def patched(client: Client, path: str, patch: Json, kind: str = "merge") -> int:
    try:
        client.patch(path, patch, kind=kind)
    except ApiError as error:
        return error.status
    return 200
