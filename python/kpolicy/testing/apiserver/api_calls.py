"""Requests, answers, calls (who asks for which verb of which object), audit entries, and faults.

A `FaultPolicy` is asked about each call and each watch event and returns a fault or none; the API
server carries it out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, TypeVar

from kpolicy.testing.objects.resource_types import BY_PATH, NAMESPACES, Resource

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names are found in lower case
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    body: bytes
    content_type: str = JSON
    headers: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Target:
    resource: Resource
    namespace: str
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    user: str
    verb: str
    target: Target
    path: str

    @property
    def resource(self) -> str:
        return self.target.resource.plural

    @property
    def subresource(self) -> str:
        return self.target.subresource

    @property
    def namespace(self) -> str:
        return self.target.namespace

    @property
    def name(self) -> str:
        return self.target.name

    @property
    def is_write(self) -> bool:
        return self.verb in WRITES


WRITES: Final = frozenset(("create", "update", "patch", "delete", "deletecollection"))

_OBJECT_VERBS: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION_VERBS: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}


_PATH: Final = re.compile(
    "/(?:api/(?P<core>[^/]+)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    rf"(?:/namespaces/(?P<namespace>[^/]+)(?!/(?:{'|'.join(NAMESPACES.subresources)})(?:/|$)))?"
    "/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<subresource>[^/]+))?)?/?"
)


def target_of(path: str) -> Target | None:
    """Return the resource that a path names; None for any other path."""
    if (found := _PATH.fullmatch(path)) is None:
        return None
    version = found["core"] or found["version"]
    resource = BY_PATH.get((found["group"] or "", version, found["plural"]))
    namespace, name = found["namespace"] or "", found["name"] or ""
    subresource = found["subresource"] or ""
    if resource is None or (subresource and subresource not in resource.subresources):
        return None
    # Only a list or watch of all namespaces names a namespaced resource without its namespace.
    if resource.namespaced != bool(namespace) and (namespace or name):
        return None
    return Target(resource, namespace, name, subresource)


def verb_of(method: str, target: Target, query: Mapping[str, str]) -> str | None:
    """Return the verb; None if the resource does not support the method."""
    if target.subresource == "binding":
        return "create" if method == "POST" else None
    if target.name:
        verb = _OBJECT_VERBS.get(method)
        return None if target.subresource and verb == "delete" else verb
    verb = _COLLECTION_VERBS.get(method)
    if verb == "list" and query.get("watch", "").lower() in ("1", "true"):
        return "watch"
    whole_cluster = target.resource.namespaced and not target.namespace
    return None if whole_cluster and verb != "list" else verb


@dataclass(frozen=True, slots=True)
class AuditEntry:
    user: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str  # as in the path: empty for creations and collections
    code: int
    time_ns: int

    @classmethod
    def of(cls, call: Call, code: int, time_ns: int) -> AuditEntry:
        return cls(
            call.user,
            call.verb,
            call.resource,
            call.subresource,
            call.namespace,
            call.name,
            code,
            time_ns,
        )


class Drop(Enum):
    NEVER = "never"
    BEFORE_COMMIT = "before"  # the request is lost
    AFTER_COMMIT = "after"  # the response is lost


@dataclass(frozen=True, slots=True)
class RequestFault:
    """Waits, then returns an error status or lets the request through; `drop` breaks the
    connection. `message` is that of the status."""

    delay_s: float = 0.0
    status: int | None = None
    retry_after_s: int | None = None  # for 429 and 503; None means one second
    drop: Drop = Drop.NEVER
    message: str = ""


class WatchFault(Enum):
    NONE = "none"
    CLOSE = "close"  # the watch ends properly, before the event
    BREAK = "break"  # the connection breaks, before the event
    SILENCE = "silence"  # nothing arrives any more; the connection stays open
    DUPLICATE = "duplicate"  # the event is sent twice
    DROP = "drop"  # the event is not sent


Fault = TypeVar("Fault", RequestFault, WatchFault)


class FaultPolicy(Protocol):
    """Asked for every request, and for every event of every watch."""

    def on_request(self, call: Call) -> RequestFault | None: ...

    def on_watch_event(self, call: Call) -> WatchFault: ...


@dataclass(frozen=True, slots=True)
class FaultRule:
    """A fault for matching calls; empty fields match everything.

    The first `skip` matching calls succeed, the next `times` get the fault (None: all of them).
    """

    fault: RequestFault | WatchFault
    verb: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    user: str = ""
    skip: int = 0
    times: int | None = 1

    def fits(self, call: Call) -> bool:
        fields = ("verb", "resource", "subresource", "namespace", "name", "user")
        return all(getattr(self, field) in ("", getattr(call, field)) for field in fields)


class ScriptedFaults:
    """Applies the first rule that matches and is not used up."""

    def __init__(self, rules: Sequence[FaultRule]) -> None:
        self._rules = tuple(rules)
        self._fitted = [0] * len(self._rules)

    def on_request(self, call: Call) -> RequestFault | None:
        return self._first(RequestFault, call)

    def on_watch_event(self, call: Call) -> WatchFault:
        return self._first(WatchFault, call) or WatchFault.NONE

    def _first(self, kind: type[Fault], call: Call) -> Fault | None:
        for at, rule in enumerate(self._rules):
            if isinstance(rule.fault, kind) and rule.fits(call):
                earlier = self._fitted[at] - rule.skip
                self._fitted[at] += 1
                if earlier >= 0 and (rule.times is None or earlier < rule.times):
                    return rule.fault
        return None
