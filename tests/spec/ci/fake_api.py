"""The few calls of GitHub's and GitLab's API that write comments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlparse

PAGE = 100


@dataclass(slots=True)
class Comments:
    """Comments in order, and the calls that were made. `refuses`: the status of every answer."""

    bodies: list[str] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    refuses: int = 0

    def page(self, number: int) -> list[dict[str, Any]]:
        listed = list(enumerate(self.bodies))[PAGE * (number - 1) : PAGE * number]
        return [{"id": place, "body": body} for place, body in listed]


@contextmanager
def api(comments: Comments) -> Iterator[str]:
    """The address of a server that keeps these comments."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            url = urlparse(self.path)
            comments.calls.append((self.command, url.path))
            token = self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or ""
            comments.tokens.add(token)
            if comments.refuses:
                self._send(comments.refuses, {})
                return
            if self.command == "GET":
                self._send(200, comments.page(int(parse_qs(url.query)["page"][0])))
                return
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.command == "POST":
                comments.bodies.append(content["body"])
            else:
                comments.bodies[int(url.path.rpartition("/")[2])] = content["body"]
            self._send(200, {})

        def __getattr__(self, name: str) -> Callable[[], None]:
            if name.startswith("do_"):
                return self._answer
            raise AttributeError(name)

        def _send(self, status: int, answer: Any) -> None:
            text = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_request(self, *_: object) -> None:
            """Quietly."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
