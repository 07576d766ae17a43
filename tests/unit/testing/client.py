"""A client for tests of the embedded control plane: one request, one reply, with http.client.

It works as well with a real API server, for tests that compare the two, and shares no code with
kpolicy.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

Json = dict[str, Any]

TIMEOUT_S = 20
LINES_MAX = 10_000

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

PODS = "/api/v1/namespaces/default/pods"


@dataclass(frozen=True)
class Reply:
    code: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Json:
        parsed: Json = json.loads(self.body)
        return parsed

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.json["items"]]

    @property
    def revision(self) -> int:
        return int(self.json["metadata"]["resourceVersion"])


class Client:
    def __init__(self, url: str, token: str = "", ca_file: str | None = None) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._host, self._port = parts.hostname, parts.port
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._tls = ssl.create_default_context(cafile=ca_file) if ca_file else None

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        connection = self._connect()
        sent = {**(headers or {}), **({} if body is None else {"Content-Type": content_type})}
        try:
            answer = self._ask(connection, method, _with_query(path, query), body, sent)
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, names, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **query: str) -> Reply:
        return self.send("GET", path, query=query)

    def post(self, path: str, body: object) -> Reply:
        return self.send("POST", path, body)

    def put(self, path: str, body: object) -> Reply:
        return self.send("PUT", path, body)

    def patch(self, path: str, body: object, content_type: str = MERGE, **query: str) -> Reply:
        return self.send("PATCH", path, body, content_type=content_type, query=query)

    def delete(self, path: str, body: object = None, **query: str) -> Reply:
        return self.send("DELETE", path, body, query=query)

    @contextmanager
    def watch(
        self, path: str, *, accept: str = "application/json", **query: str
    ) -> Iterator[Watching]:
        connection = self._connect()
        try:
            target = _with_query(path, {"watch": "true", **query})
            answer = self._ask(connection, "GET", target, None, {"Accept": accept})
            assert answer.status == 200, answer.read()
            yield Watching(answer)
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=TIMEOUT_S, context=self._tls
        )

    def _ask(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        body: object,
        headers: Mapping[str, str],
    ) -> http.client.HTTPResponse:
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        fields = {"Accept": "application/json", **self._headers, **headers}
        connection.request(method, target, sent, fields)
        return connection.getresponse()


def _with_query(path: str, query: Mapping[str, str] | None) -> str:
    return f"{path}?{urlencode(query)}" if query else path


class Watching:
    """The events of a watch, as they come."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self._answer = answer

    def next(self) -> Json | None:
        """The next event; None when the watch ended."""
        line = self._answer.readline()
        if not line:
            return None
        event: Json = json.loads(line)
        return event

    def take(self, count: int) -> list[tuple[str, str]]:
        """The next events, as type and name of the object."""
        events = [self.next() for _ in range(count)]
        return [
            (event["type"], event["object"]["metadata"].get("name", ""))
            for event in events
            if event is not None
        ]

    def rest(self) -> list[Json]:
        """All that comes until the end."""
        events: list[Json] = []
        for _ in range(LINES_MAX):
            event = self.next()
            if event is None:
                return events
            events.append(event)
        raise AssertionError("a watch without end")
