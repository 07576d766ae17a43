"""Answers requests of the Kubernetes API: authentication, dispatch, faults and the audit log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from kpolicy.clock import Clock
from kpolicy.testing.apiserver import discovery, tables
from kpolicy.testing.apiserver.api_calls import (
    JSON,
    TEXT,
    Answer,
    AuditLog,
    Call,
    Request,
    Target,
    target_of,
    verb_of,
)
from kpolicy.testing.apiserver.http_server import Reply
from kpolicy.testing.apiserver.list_parameters import watch_parameters
from kpolicy.testing.apiserver.object_reads import Reads, refused
from kpolicy.testing.apiserver.object_writes import Writes
from kpolicy.testing.apiserver.watches import Hub
from kpolicy.testing.faults import Drop, FaultPolicy, RequestFault
from kpolicy.testing.objects import failures
from kpolicy.testing.objects.encoding import encode
from kpolicy.testing.objects.failures import Failure
from kpolicy.testing.objects.object_views import wants_table
from kpolicy.testing.objects.resource_types import Resource
from kpolicy.testing.objects.store import Store

ANONYMOUS: Final = "system:anonymous"

Verb = Callable[[Target, Request], Answer]


class Serving:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        tokens: Mapping[str, str] | None,
        faults: FaultPolicy | None,
        audit: AuditLog,
    ) -> None:
        self._store = store
        self._clock = clock
        self._tokens = tokens
        self.faults = faults
        self._audit = audit
        self._hubs: dict[Resource, Hub] = {}
        self._delayed: set[asyncio.Task[None]] = set()
        reads, self.writes = Reads(store, clock), Writes(store, clock)
        self._verbs: dict[str, Verb] = {
            "get": reads.get,
            "list": reads.collection,
            "create": self.writes.create,
            "update": self.writes.update,
            "patch": self.writes.patch,
            "delete": self.writes.delete,
            "deletecollection": self.writes.delete_collection,
        }

    def handle(self, request: Request, reply: Reply) -> Answer | None:
        if (user := self._user(request)) is None:
            return refused(failures.unauthorized())
        if (target := target_of(request.path)) is None:
            return self._document(request)
        if (verb := verb_of(request.method, target, request.query)) is None:
            return refused(failures.method_not_allowed())
        call = Call(user, verb, target, request.path)
        fault = None if self.faults is None else self.faults.on_request(call)
        if fault is None:
            return self._answer(call, request, reply)
        if fault.delay_s <= 0:
            return self._faulty(fault, call, request, reply)
        task = asyncio.create_task(self._later(fault, call, request, reply))
        self._delayed.add(task)
        task.add_done_callback(self._delayed.discard)
        return None

    def watches(self) -> int:
        return sum(hub.watches for hub in self._hubs.values())

    def stop(self) -> None:
        for task in tuple(self._delayed):
            task.cancel()

    def _user(self, request: Request) -> str | None:
        if self._tokens is None:
            return ANONYMOUS
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return self._tokens.get(token.strip()) if scheme == "Bearer" else None

    def _document(self, request: Request) -> Answer:
        found = discovery.document(request.path, request.headers.get("accept", ""))
        if found is None and discovery.is_served(request.path):
            return refused(failures.no_such_resource())
        if found is None:
            return Answer(404, b"404 page not found\n", TEXT)
        return found if request.method == "GET" else refused(failures.method_not_allowed())

    def _answer(self, call: Call, request: Request, reply: Reply) -> Answer | None:
        if call.verb == "watch":
            return self._watch(call, request, reply)
        answer = self._verbs[call.verb](call.target, request)
        if call.is_write:
            self._audit.add(call, answer.code, self._clock.now_ns())
        return answer

    def _faulty(
        self, fault: RequestFault, call: Call, request: Request, reply: Reply
    ) -> Answer | None:
        if fault.drop is Drop.BEFORE_COMMIT:
            reply.cut()
            return None
        if fault.status is not None:
            if call.is_write:
                self._audit.add(call, fault.status, self._clock.now_ns())
            return _refused_by(fault, fault.status)
        answer = self._answer(call, request, reply)
        if fault.drop is Drop.AFTER_COMMIT:
            reply.cut()
            return None
        return answer

    async def _later(self, fault: RequestFault, call: Call, request: Request, reply: Reply) -> None:
        await self._clock.sleep(fault.delay_s)
        if (answer := self._faulty(fault, call, request, reply)) is not None:
            reply.answer(answer)

    def _watch(self, call: Call, request: Request, reply: Reply) -> Answer | None:
        resource = call.target.resource
        if isinstance(asked := watch_parameters(resource, request.query), Failure):
            return refused(asked)
        if asked.initial_events and (asked.revision or 0) > self._store.revision:
            return refused(failures.too_large_revision(asked.revision or 0, self._store.revision))
        include = None
        if wants_table(request.headers.get("accept", "")):
            include = request.query.get("includeObject", tables.INCLUDE_METADATA)
        if (hub := self._hubs.get(resource)) is None:
            hub = self._hubs[resource] = Hub(resource, self._store, self._clock)
        faults = self.faults
        hub.open(
            reply.stream(JSON),
            asked,
            namespace=call.target.namespace,
            include_object=include,
            fault=None if faults is None else lambda: faults.on_watch_event(call),
        )
        return None


def _refused_by(fault: RequestFault, code: int) -> Answer:
    failure = failures.injected(code)
    wait_s = 1 if fault.retry_after_s is None else fault.retry_after_s
    headers = (("Retry-After", str(wait_s)),) if code in (429, 503) else ()
    if code == 429:  # rejected before the request is read: plain text, as the real server does
        return Answer(code, f"{failure.message}\n".encode(), TEXT, headers)
    return Answer(code, encode(failure.status()), headers=headers)
