"""The embedded control plane: a small Kubernetes API on the loopback, inside this process.

Starts and stops the server and the kubelet, and gives tests what they need besides HTTP. Needs a
running event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml

from kpolicy.clock import Clock, SystemClock, background_group
from kpolicy.testing import limits
from kpolicy.testing.apiserver.api_calls import AuditEntry, FaultPolicy, Target
from kpolicy.testing.apiserver.api_server import Serving
from kpolicy.testing.apiserver.http_server import HttpServer
from kpolicy.testing.kubelet import Kubelet, KubeletTimes
from kpolicy.testing.objects.failures import ApiError
from kpolicy.testing.objects.resource_types import BY_KIND
from kpolicy.testing.objects.store import Store, StoreSettings

NAME: Final = "kpolicy-testing"


def kubeconfig(url: str, token: str | None) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": NAME,
            "clusters": [{"name": NAME, "cluster": {"server": url}}],
            "users": [{"name": NAME, "user": {"token": token} if token else {}}],
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        },
        sort_keys=False,
    )


HOST: Final = "127.0.0.1"

_FIRST_OBJECTS: Final[tuple[Mapping[str, Any], ...]] = (
    *(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in ("default", "kube-node-lease", "kube-public", "kube-system")
    ),
    *(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": "PreemptLowerPriority",
        }
        for name, value in (
            ("system-cluster-critical", 2_000_000_000),
            ("system-node-critical", 2_000_001_000),
        )
    ),
)


class ControlPlane:
    """`async with ControlPlane() as control_plane:` serves at `control_plane.url`.

    With `tokens` (bearer token -> user name), every request must carry one of them. `faults` can be
    changed at any time.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        tokens: Mapping[str, str] | None = None,
        kubelet: KubeletTimes | None = None,
        faults: FaultPolicy | None = None,
        clock: Clock | None = None,
        store: StoreSettings | None = None,
    ) -> None:
        self._port = port
        self._tokens = tokens
        self._clock = clock or SystemClock()
        self.store: Final = Store(self._clock, store)
        self._serving = Serving(self.store, self._clock, tokens=tokens, faults=faults)
        self._kubelet = Kubelet(self.store, self._clock, kubelet) if kubelet is not None else None
        self._server: asyncio.Server | None = None
        self._tasks = AsyncExitStack()
        self._http = HttpServer(self._serving.handle)
        self.add(*_FIRST_OBJECTS)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start to serve; after `stop`, at the same port again."""
        self._server = await asyncio.get_running_loop().create_server(
            self._http.protocol,
            HOST,
            self._port,
            backlog=limits.BACKLOG_CONNECTIONS_MAX,
        )
        self._port = self._server.sockets[0].getsockname()[1]
        group = await self._tasks.enter_async_context(background_group())
        self._serving.start(group)
        if self._kubelet is not None:
            group.create_task(self._kubelet.run(), name="kubelet")

    async def stop(self) -> None:
        """Break all connections. The stored objects remain."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        await self._http.stop()
        await self._tasks.aclose()
        if server is not None:
            await server.wait_closed()

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}"

    @property
    def faults(self) -> FaultPolicy | None:
        return self._serving.faults

    @faults.setter
    def faults(self, faults: FaultPolicy | None) -> None:
        self._serving.faults = faults

    @property
    def watches(self) -> int:
        """The number of open watches."""
        return self._serving.watches()

    def cut_connections(self) -> None:
        self._http.cut_connections()

    def write_kubeconfig(self, path: Path | str) -> Path:
        """Write a kubeconfig with the first of the tokens, if there are any."""
        token = next(iter(self._tokens), None) if self._tokens else None
        target = Path(path)
        target.write_text(kubeconfig(self.url, token), encoding="utf-8")
        return target

    def add(self, *objects: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Create objects as a client would, but without HTTP and without an audit entry."""
        return [self._added(object_) for object_ in objects]

    def objects(self, kind: str, namespace: str | None = None) -> list[Mapping[str, Any]]:
        """Return the stored objects of a kind, ordered by namespace and name."""
        resource = next(resource for resource in BY_KIND.values() if resource.kind == kind)
        return [record.object for record in self.store.records(resource, namespace)]

    def audit(self) -> tuple[AuditEntry, ...]:
        return tuple(self._serving.audit)

    def _added(self, object_: Mapping[str, Any]) -> Mapping[str, Any]:
        resource = BY_KIND.get((object_.get("apiVersion", ""), object_.get("kind", "")))
        if resource is None:
            raise ValueError(
                f"no such kind here: {object_.get('apiVersion')} {object_.get('kind')}"
            )
        namespace = (object_.get("metadata") or {}).get("namespace") or "default"
        target = Target(resource, namespace if resource.namespaced else "")
        try:
            return self._serving.writes.create_object(target, dict(object_)).object
        except ApiError as error:
            raise ValueError(error.message) from error
