"""How long it takes to read an API server's answer to a write: our reader, and h11.

`python -m tests.unit.cluster.http1.speed` prints the figures of docs/dependencies.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import h11

from kpolicy.cluster.http1.answer_reader import AnswerReader

BODY = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}\n'
ANSWER = (
    b"HTTP/1.1 201 Created\r\nAudit-Id: 2b5e1c8a-0000\r\nCache-Control: no-cache, private\r\n"
    b"Content-Type: application/json\r\nX-Kubernetes-Pf-Flowschema-Uid: f0b0\r\n"
    b"X-Kubernetes-Pf-Prioritylevel-Uid: 0a9b\r\nDate: Mon, 23 Nov 2026 16:00:00 GMT\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
)
ROUNDS, TIMES = 5, 5_000


def by_ours() -> None:
    reader = AnswerReader(1 << 20)
    reader.feed(ANSWER)
    assert reader.whole


def by_h11() -> None:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(ANSWER)
    while not isinstance(connection.next_event(), h11.EndOfMessage):
        pass


def microseconds(read: Callable[[], None]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(TIMES):
            read()
        best = min(best, time.perf_counter() - began)
    return best / TIMES * 1e6


if __name__ == "__main__":
    for name, read in (("ours", by_ours), ("h11", by_h11)):
        print(f"{name}: {microseconds(read):.1f} µs an answer")
