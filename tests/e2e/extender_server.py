"""An extender for tests: a real HTTP server with answers that a test sets, which records every
request. One test at a time uses it. kube-scheduler can ask it too.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    path: str
    body: bytes
    content_type: str

    @property
    def args(self) -> Json:
        return dict(json.loads(self.body))

    @property
    def pod(self) -> str:
        args = self.args
        return str(args["PodName"] if "PodName" in args else args["Pod"]["metadata"]["name"])


@dataclass(frozen=True)
class Answer:
    """The answer, sent after `wait_s`."""

    body: bytes = b"{}"
    status: int = 200
    wait: threading.Event | None = None


Handler = Callable[[Json], Any]


def keep_all(args: Json) -> Json:
    if args.get("NodeNames") is not None:
        return {"NodeNames": args["NodeNames"]}
    return {"Nodes": args["Nodes"]}


class ExtenderServer:
    """`answers`: by path, what to do with the arguments: a document, or an `Answer` as it is."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.answers: dict[str, Handler] = {}
        self.asked: list[Asked] = []
        owner = self

        class _Requests(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                asked = Asked(self.path, body, self.headers.get("Content-Type", ""))
                owner.asked.append(asked)
                answer = owner.answers[self.path](asked.args)
                if not isinstance(answer, Answer):
                    answer = Answer(json.dumps(answer).encode())
                if answer.wait is not None:
                    answer.wait.wait(30)
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *args: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Requests)
        self._server.daemon_threads = True
        scheme = "http"
        if context is not None:
            scheme = "https"
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def of(self, pod: str, path: str = "") -> list[Asked]:
        return [
            request for request in list(self.asked) if request.pod == pod and path in request.path
        ]
