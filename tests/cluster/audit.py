"""Reads the API server's audit log: who wrote what, when, and with which result.

components.py has the audit policy. The log has one JSON event a line, written before the request is
answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

CREATED = 201


@dataclass(frozen=True)
class AuditEvent:
    """An answered request; at stage ResponseStarted, an opened watch. Only requests that the audit
    policy records with their bodies have `request` and `response`.
    """

    audit_id: str
    stage: str
    verb: str
    user: str
    user_agent: str
    uri: str
    api_group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    message: str  # of a refusal
    received_at: datetime
    answered_at: datetime
    request: Mapping[str, Any] | None
    response: Mapping[str, Any] | None

    @property
    def is_dry_run(self) -> bool:
        return "dryRun=" in self.uri

    @property
    def writes(self) -> bool:
        verbs = {"create", "update", "patch", "delete", "deletecollection"}
        return self.verb in verbs and not self.is_dry_run

    @property
    def what(self) -> str:
        """As in RBAC: "pods/binding", "leases.coordination.k8s.io"."""
        resource = f"{self.resource}.{self.api_group}" if self.api_group else self.resource
        return f"{resource}/{self.subresource}" if self.subresource else resource


@dataclass(frozen=True)
class Bind:
    """A bind request, and the API server's answer."""

    namespace: str
    pod: str
    uid: str
    node: str
    user: str
    code: int
    received_at: datetime
    answered_at: datetime

    @property
    def succeeded(self) -> bool:
        return self.code == CREATED


def binds(events: Iterable[AuditEvent], namespace: str = "") -> tuple[Bind, ...]:
    """The attempts to bind among those events, in the order they were answered; of one namespace,
    or of all."""
    return tuple(
        Bind(
            namespace=event.namespace,
            pod=event.name,
            uid=str(event.request.get("metadata", {}).get("uid", "")),
            node=str(event.request.get("target", {}).get("name", "")),
            user=event.user,
            code=event.code,
            received_at=event.received_at,
            answered_at=event.answered_at,
        )
        for event in events
        if event.what == "pods/binding" and event.writes and event.request is not None
        if namespace in ("", event.namespace)
    )


class AuditLog:
    """Reads on from where it was, so that asking often is cheap."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._events: list[AuditEvent] = []

    def events(self) -> tuple[AuditEvent, ...]:
        if self._path.exists():
            with self._path.open("rb") as log:
                log.seek(self._offset)
                text = log.read()
            whole = text[: text.rfind(b"\n") + 1]  # the last line may be half written
            self._offset += len(whole)
            self._events.extend(parse_event(json.loads(line)) for line in whole.splitlines())
        return tuple(self._events)


def parse_event(raw: Mapping[str, Any]) -> AuditEvent:
    target = raw.get("objectRef", {})
    return AuditEvent(
        audit_id=raw["auditID"],
        stage=raw["stage"],
        verb=raw["verb"],
        user=raw["user"].get("username", ""),
        user_agent=raw.get("userAgent", ""),
        uri=raw["requestURI"],
        api_group=target.get("apiGroup", ""),
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=raw.get("responseStatus", {}).get("code", 0),
        message=raw.get("responseStatus", {}).get("message", ""),
        received_at=datetime.fromisoformat(raw["requestReceivedTimestamp"]),
        answered_at=datetime.fromisoformat(raw["stageTimestamp"]),
        request=raw.get("requestObject"),
        response=raw.get("responseObject"),
    )
