"""Answers requests of the Kubernetes API: authentication, dispatch, reads, faults and audit log."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic_core import to_json

from kpolicy.clock import Clock
from kpolicy.testing import limits
from kpolicy.testing.apiserver import discovery, tables
from kpolicy.testing.apiserver.api_calls import (
    JSON,
    TEXT,
    Answer,
    AuditEntry,
    Call,
    Drop,
    FaultPolicy,
    Request,
    RequestFault,
    Target,
    target_of,
    verb_of,
)
from kpolicy.testing.apiserver.http_server import Reply
from kpolicy.testing.apiserver.list_parameters import (
    ListParameters,
    continue_token,
    list_parameters,
    watch_parameters,
)
from kpolicy.testing.apiserver.object_writes import Writes
from kpolicy.testing.apiserver.watches import Hub
from kpolicy.testing.objects import failures
from kpolicy.testing.objects.failures import ApiError
from kpolicy.testing.objects.object_views import json_of, list_json, wants_table
from kpolicy.testing.objects.resource_types import Resource
from kpolicy.testing.objects.store import Record, Store

ANONYMOUS: Final = "system:anonymous"

Verb = Callable[[Target, Request], Answer]


_FORGOTTEN: Final = "The resourceVersion for the provided list is too old."
_FORGOTTEN_PAGE: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start"
    " a new list without the continue parameter."
)


class Serving:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        tokens: Mapping[str, str] | None,
        faults: FaultPolicy | None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._tokens = tokens
        self.faults = faults
        # writes only; the oldest are dropped first
        self.audit: deque[AuditEntry] = deque(maxlen=limits.AUDIT_ENTRIES_MAX)
        self._hubs: dict[Resource, Hub] = {}
        self._group = asyncio.TaskGroup()  # none is entered before `start`
        self.writes = Writes(store, clock)
        self._verbs: dict[str, Verb] = {
            "get": self._get,
            "list": self._list,
            "create": self.writes.create,
            "update": self.writes.update,
            "patch": self.writes.patch,
            "delete": self.writes.delete,
            "deletecollection": self.writes.delete_collection,
        }

    def handle(self, request: Request, reply: Reply) -> Answer | None:
        try:
            if (user := self._user(request)) is None:
                raise failures.unauthorized()
            if (target := target_of(request.path)) is None:
                return _document(request)
            if (verb := verb_of(request.method, target, request.query)) is None:
                raise failures.method_not_allowed()
        except ApiError as error:
            return refused(error)
        call = Call(user, verb, target, request.path)
        fault = None if self.faults is None else self.faults.on_request(call)
        if fault is None:
            return self._answer(call, request, reply)
        if fault.delay_s <= 0:
            return self._faulty(fault, call, request, reply)
        self._group.create_task(self._later(fault, call, request, reply))
        return None

    def watches(self) -> int:
        return sum(hub.watches for hub in self._hubs.values())

    def start(self, group: asyncio.TaskGroup) -> None:
        """Delayed answers are tasks of this group from now on."""
        self._group = group

    def _user(self, request: Request) -> str | None:
        if self._tokens is None:
            return ANONYMOUS
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return self._tokens.get(token.strip()) if scheme == "Bearer" else None

    def _answer(self, call: Call, request: Request, reply: Reply) -> Answer | None:
        try:
            if call.verb == "watch":
                self._watch(call, request, reply)
                return None
            answer = self._verbs[call.verb](call.target, request)
        except ApiError as error:
            answer = refused(error)
        self._note(call, answer.code)
        return answer

    def _note(self, call: Call, code: int) -> None:
        if call.is_write:
            self.audit.append(AuditEntry.of(call, code, self._clock.now_ns()))

    def _faulty(
        self, fault: RequestFault, call: Call, request: Request, reply: Reply
    ) -> Answer | None:
        if fault.drop is Drop.BEFORE_COMMIT:
            reply.cut()
            return None
        if fault.status is not None:
            self._note(call, fault.status)
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

    def _get(self, target: Target, request: Request) -> Answer:
        revision = request.query.get("resourceVersion", "")
        asked = list_parameters(target.resource, {"resourceVersion": revision})
        self._check_revision(asked)
        record = self._store.held(target.resource, target.namespace, target.name)
        if wants_table(request.headers.get("accept", "")):
            return self._table(target, request, [record], {"resourceVersion": str(record.revision)})
        return Answer(200, json_of(target.resource, record))

    def _list(self, target: Target, request: Request) -> Answer:
        asked = list_parameters(target.resource, request.query)
        self._check_revision(asked)
        records = self._matching(target, asked)
        exact = asked.revision if asked.exact else None
        revision = self._store.revision if exact is None else exact
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        if asked.limit and len(records) > asked.limit:
            if asked.selector.is_everything:
                metadata["remainingItemCount"] = len(records) - asked.limit
            records = records[: asked.limit]
            metadata["continue"] = continue_token(revision, records[-1].key)
        if wants_table(request.headers.get("accept", "")):
            return self._table(target, request, records, metadata)
        return Answer(200, list_json(target.resource, records, metadata))

    def _check_revision(self, asked: ListParameters) -> None:
        if asked.revision is not None and asked.revision > self._store.revision:
            raise failures.too_large_revision(asked.revision, self._store.revision)

    def _matching(self, target: Target, asked: ListParameters) -> list[Record]:
        resource, namespace = target.resource, target.namespace or None
        if asked.exact and asked.revision is not None and asked.revision < self._store.revision:
            records = self._store.records_at(resource, asked.revision, namespace)
        else:
            records = list(self._store.records(resource, namespace))
        if records is None:
            raise failures.expired(_FORGOTTEN if asked.after is None else _FORGOTTEN_PAGE)
        if asked.after is not None:
            records = [record for record in records if record.key > asked.after]
        if not asked.selector.is_everything:
            records = [record for record in records if asked.selector.matches(record.object)]
        return records

    def _table(
        self, target: Target, request: Request, records: list[Record], metadata: dict[str, Any]
    ) -> Answer:
        table = tables.table(
            target.resource,
            records,
            self._clock.now_ns(),
            metadata=metadata,
            include_object=request.query.get("includeObject", tables.INCLUDE_METADATA),
        )
        return Answer(200, to_json(table))

    def _watch(self, call: Call, request: Request, reply: Reply) -> None:
        resource = call.target.resource
        asked = watch_parameters(resource, request.query)
        if asked.initial_events and (asked.revision or 0) > self._store.revision:
            raise failures.too_large_revision(asked.revision or 0, self._store.revision)
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


def refused(error: ApiError) -> Answer:
    headers = (("Retry-After", "1"),) if error.code in (429, 503, 504) else ()
    return Answer(error.code, to_json(error.status()), headers=headers)


def _document(request: Request) -> Answer:
    found = discovery.document(request.path, request.headers.get("accept", ""))
    if found is None and discovery.is_served(request.path):
        raise failures.no_such_resource()
    if found is None:
        return Answer(404, b"404 page not found\n", TEXT)
    if request.method != "GET":
        raise failures.method_not_allowed()
    return found


def _refused_by(fault: RequestFault, code: int) -> Answer:
    failure = failures.injected(code, fault.message)
    wait_s = 1 if fault.retry_after_s is None else fault.retry_after_s
    headers = (("Retry-After", str(wait_s)),) if code in (429, 503) else ()
    if code == 429:  # rejected before the request is read: plain text, as the real server does
        return Answer(code, f"{failure.message}\n".encode(), TEXT, headers)
    return Answer(code, to_json(failure.status()), headers=headers)
