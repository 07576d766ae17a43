"""Requests to the API server over TLS connections that stay open, with only the standard library.
Many threads may use it.
"""

from __future__ import annotations

import http.client
import json
import select
import ssl
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.cluster.errors import ControlPlaneError

Json = dict[str, Any]
FIRST_ERROR = 400


@dataclass(frozen=True)
class Response:
    """A response with any status."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Json:
        parsed: Json = json.loads(self.body)
        return parsed


class ApiError(ControlPlaneError):
    """The API server refused: its code, its reason ("Conflict") and its words."""

    def __init__(self, method: str, path: str, response: Response) -> None:
        self.status = response.status
        try:
            self.body = response.json()
        except ValueError:
            self.body = {"message": response.body.decode(errors="replace")[:500]}
        self.reason = str(self.body.get("reason", ""))
        super().__init__(
            f"{method} {path}: {self.status} {self.reason}: {self.body.get('message', '')}"
        )


class Connections:
    """A pool for one server and one token."""

    def __init__(self, server: str, ca_file: Path, token: str, timeout_s: float = 30) -> None:
        address = urlsplit(server)
        assert address.hostname is not None
        self._host, self._port = address.hostname, address.port
        self._tls = ssl.create_default_context(cafile=str(ca_file))
        self._token = token
        self._timeout_s = timeout_s
        self._idle: deque[http.client.HTTPSConnection] = deque()

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Sends one request, and never repeats it: the caller has to find out what became of a lost
        one."""
        if query:
            path = f"{path}{'&' if '?' in path else '?'}{urlencode(query)}"
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = self._take()
        try:
            connection.request(
                method,
                path,
                sent,
                {
                    "Authorization": f"Bearer {self._token}",
                    "Accept": "application/json",
                    **({} if sent is None else {"Content-Type": content_type}),
                    **(headers or {}),
                },
            )
            answer = connection.getresponse()
            response = Response(answer.status, dict(answer.headers.items()), answer.read())
        except BaseException:
            connection.close()
            raise
        if answer.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return response

    def checked(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Json:
        response = self.request(method, path, body, query=query, content_type=content_type)
        if response.status >= FIRST_ERROR:
            raise ApiError(method, path, response)
        return response.json()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> http.client.HTTPSConnection:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return http.client.HTTPSConnection(
                    self._host, self._port, timeout=self._timeout_s, context=self._tls
                )
            # An idle connection that has something to read was closed by the server.
            if connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()
