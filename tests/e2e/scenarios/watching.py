"""A raw watch in its own thread: the events of a namespace's pods with their resource versions. It
shares no code with kpolicy's own watch, because it helps to check that.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane

READ_TIMEOUT_S = 600.0


class Watching:
    """A context manager; it watches from its entering on."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        address = urlsplit(plane.server)
        assert address.hostname is not None
        tls = ssl.create_default_context(cafile=str(plane.ca_file))
        self._connection = http.client.HTTPSConnection(
            address.hostname, address.port or 443, timeout=READ_TIMEOUT_S, context=tls
        )
        self._path = f"/api/v1/namespaces/{namespace}/pods?watch=true"
        self._token = plane.token()
        self._bound_at: dict[str, int] = {}
        self._open = threading.Event()
        self._thread = threading.Thread(target=self._read, name="watching", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._open.wait(30)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._connection.sock is not None:
            with suppress(OSError):  # it has ended
                # Below TLS, which is being read.
                socket.socket.shutdown(self._connection.sock, socket.SHUT_RDWR)
        self._thread.join()
        self._connection.close()

    def bound_at(self, pod: str) -> int:
        """The resource version at which the pod was first seen on a node."""
        return wait_for(lambda: self._bound_at.get(pod), f"the watch to tell that {pod} is bound")

    def _read(self) -> None:
        self._connection.request(
            "GET", self._path, headers={"Authorization": f"Bearer {self._token}"}
        )
        answer = self._connection.getresponse()
        self._open.set()
        try:
            while line := answer.readline():
                found = json.loads(line)["object"]
                if found["spec"].get("nodeName"):
                    version = int(found["metadata"]["resourceVersion"])
                    self._bound_at.setdefault(found["metadata"]["name"], version)
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            return  # closed at the end
