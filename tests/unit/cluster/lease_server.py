"""One Lease in memory, behind the client's own interface, on a manual clock.

It checks resource versions as an API server does, and answers late, loses answers or refuses when a
test asks for that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from kpolicy.clock import NO_PULSE, Pulse
from kpolicy.cluster.api import JSON, ApiClient, Response
from kpolicy.cluster.fenced_request import always
from kpolicy.cluster.request_failure import Cause, Failure, Status, Unreachable
from tests.manual_clock import ManualClock
from tests.unit.cluster.doubles import connection

LOST = Unreachable(Cause.LOST, "the connection was lost", sent=True)


class LeaseServer:
    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.document: dict[str, Any] | None = None
        self.version = 0
        self.writes: list[tuple[str, str]] = []  # verb, holder

    @property
    def holder(self) -> str:
        return str(self.document["spec"]["holderIdentity"]) if self.document else ""

    def write(self, verb: str, body: bytes) -> Response | Status:
        document = json.loads(body)
        asked = document["metadata"].get("resourceVersion")
        if verb == "POST" and self.document is not None:
            return Status(409, "AlreadyExists", "exists")
        if verb == "PUT" and (self.document is None or asked != str(self.version)):
            return Status(409, "Conflict", "the object has been modified")
        self.version += 1
        document["metadata"]["resourceVersion"] = str(self.version)
        self.document = document
        self.writes.append((verb, self.holder))
        return self.read()

    def read(self) -> Response | Status:
        if self.document is None:
            return Status(404, "NotFound", "not found")
        return Response(200, {}, json.dumps(self.document).encode())


class LeaseClient(ApiClient):
    """A client of one candidate: its own network, its own trouble."""

    def __init__(self, server: LeaseServer, clock: ManualClock | None = None) -> None:
        super().__init__(connection("http://unused"), clock or server.clock)
        self.server = server
        self.clock = clock or server.clock
        self.trouble: Failure | None = None
        self.lose_answers = False
        self.answer_after_s = 0.0
        self.asked: list[str] = []

    async def request(
        self,
        verb: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        *,
        content_type: str = JSON,
        timeout_s: float = 60.0,
        body_bytes_max: int = 0,
        traceparent: str | None = None,
        pulse: Pulse = NO_PULSE,
        may_send: Callable[[], bool] = always,
    ) -> Response | Failure:
        self.asked.append(verb)
        if self.trouble is not None:
            return self.trouble
        answer = self.server.read() if body is None else self.server.write(verb, body)
        if self.answer_after_s:
            await self.clock.sleep(self.answer_after_s)
        return LOST if self.lose_answers else answer
