"""A small typed synchronous client for tests: requests by path, and the actions that tests use
most.

Many threads may use it. It never retries, and shares no code with kpolicy's own client, because it
helps to check that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from tests.cluster import objects
from tests.cluster.connection import ApiError, Connections, Json, Response
from tests.cluster.errors import ControlPlaneError

NOT_FOUND = 404
CREATE_THREADS = 8
LIST_CHUNK = 5000
PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
T = TypeVar("T")


class Client:
    """The API server as one user sees it."""

    def __init__(self, server: str, ca_file: Path, token: str, timeout_s: float = 30) -> None:
        self._connections = Connections(server, ca_file, token, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connections.close()

    # By path -------------------------------------------------------------------------------

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        kind: str = "",
    ) -> Response:
        """Whatever the status is; the verbs below raise ApiError from 400 on. `kind`: of a patch,
        as below."""
        content_type = PATCH_TYPES.get(kind, "application/json")
        return self._connections.request(method, path, body, query=query, content_type=content_type)

    def get(self, path: str, **query: str) -> Json:
        return self._connections.checked("GET", path, query=query)

    def exists(self, path: str) -> bool:
        try:
            self.get(path)
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return False
        return True

    def list(self, path: str, *, labels: str = "", fields: str = "") -> list[Json]:
        """All items, in as many chunks as it takes."""
        query = {"limit": str(LIST_CHUNK)}
        if labels:
            query["labelSelector"] = labels
        if fields:
            query["fieldSelector"] = fields
        items: list[Json] = []
        while True:
            page = self.get(path, **query)
            items.extend(page["items"])
            query["continue"] = page["metadata"].get("continue", "")
            if not query["continue"]:
                return items

    def create(self, path: str, body: Mapping[str, Any]) -> Json:
        return self._connections.checked("POST", path, body)

    def replace(self, path: str, body: Mapping[str, Any]) -> Json:
        return self._connections.checked("PUT", path, body)

    def patch(self, path: str, body: object, *, kind: str = "merge") -> Json:
        """`kind` is merge, strategic, json or apply."""
        query = {"fieldManager": "tests", "force": "true"} if kind == "apply" else None
        return self._connections.checked(
            "PATCH", path, body, query=query, content_type=PATCH_TYPES[kind]
        )

    def delete(self, path: str, *, missing_ok: bool = False, labels: str = "") -> None:
        """At once: no kubelet would ever confirm a graceful end. Of a collection, all with those
        labels: "/api/v1/nodes", "/api/v1/namespaces/ns/pods"."""
        query = {"gracePeriodSeconds": "0", **({"labelSelector": labels} if labels else {})}
        try:
            self._connections.checked("DELETE", path, query=query)
        except ApiError as error:
            if not (missing_ok and error.status == NOT_FOUND):
                raise

    # What tests do most --------------------------------------------------------------------

    def create_namespace(self, name: str) -> None:
        self.create("/api/v1/namespaces", {"metadata": {"name": name}})

    def create_node(self, name: str, **fields: Any) -> Json:
        """A ready node; the fields are those of `objects.node`."""
        wanted = objects.node(name, **fields)
        created = self.create("/api/v1/nodes", wanted)
        if created.get("status", {}).get("allocatable") == wanted["status"]["allocatable"]:
            return created
        return self.patch(f"/api/v1/nodes/{name}/status", {"status": wanted["status"]})

    def create_nodes(
        self,
        count: int,
        *,
        prefix: str = "node",
        each: Callable[[int], Mapping[str, Any]] = lambda _: {},
        **fields: Any,
    ) -> Sequence[str]:
        """`each(i)` gives the fields in which node i differs, say its zone."""
        names = [f"{prefix}-{index}" for index in range(count)]
        work = ((name, {**fields, **each(index)}) for index, name in enumerate(names))
        _in_threads(lambda item: self.create_node(item[0], **item[1]), work)
        return names

    def create_pod(self, name: str, *, namespace: str = "default", **fields: Any) -> Json:
        """A pod; the fields are those of `objects.pod`."""
        body = objects.pod(name, namespace=namespace, **fields)
        return self.create(f"/api/v1/namespaces/{namespace}/pods", body)

    def create_pods(
        self,
        count: int,
        *,
        namespace: str = "default",
        prefix: str = "pod",
        each: Callable[[int], Mapping[str, Any]] = lambda _: {},
        **fields: Any,
    ) -> Sequence[str]:
        names = [f"{prefix}-{index}" for index in range(count)]
        work = ((name, {**fields, **each(index)}) for index, name in enumerate(names))
        _in_threads(lambda item: self.create_pod(item[0], namespace=namespace, **item[1]), work)
        return names

    def pod(self, name: str, *, namespace: str = "default") -> Json:
        return self.get(f"/api/v1/namespaces/{namespace}/pods/{name}")

    def pods(self, namespace: str | None = None, *, labels: str = "") -> Sequence[Json]:
        scope = "" if namespace is None else f"/namespaces/{namespace}"
        return self.list(f"/api/v1{scope}/pods", labels=labels)

    def placements(self, namespace: str | None = None) -> dict[str, str]:
        """Node by pod name, for the pods that are bound."""
        return {
            item["metadata"]["name"]: item["spec"]["nodeName"]
            for item in self.pods(namespace)
            if item["spec"].get("nodeName")
        }

    def bind(
        self, pod: str, node: str, *, namespace: str = "default", uid: str | None = None
    ) -> Response:
        """POST pods/binding, as a scheduler does; the response whatever its status."""
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/binding"
        return self.request("POST", path, objects.binding(namespace, pod, node, uid))

    def delete_pod(self, name: str, *, namespace: str = "default") -> None:
        self.delete(f"/api/v1/namespaces/{namespace}/pods/{name}", missing_ok=True)


def wait_for(
    predicate: Callable[[], T | None], what: str, *, timeout_s: float = 30, every_s: float = 0.05
) -> T:
    """The first truthy value of the predicate; an error that names `what` after the timeout.

    What the API refuses, and connections that break, count as not yet.
    """
    ends_at = time.monotonic() + timeout_s
    last: object = None
    while time.monotonic() < ends_at:
        try:
            value = predicate()
        except (ApiError, OSError, ValueError) as error:
            last = error
        else:
            if value:
                return value
            last = value
        time.sleep(every_s)
    raise ControlPlaneError(f"waited {timeout_s:.0f} s in vain for {what}; the last was: {last!r}")


def _in_threads(call: Callable[[T], object], work: Iterable[T]) -> None:
    with ThreadPoolExecutor(CREATE_THREADS) as threads:
        for done in [threads.submit(call, item) for item in work]:
            done.result()
