"""Get and list: chooses the version of the objects to show. Must not write."""

from __future__ import annotations

from typing import Any

from kpolicy.clock import Clock
from kpolicy.testing.apiserver import tables
from kpolicy.testing.apiserver.api_calls import Answer, Request, Target
from kpolicy.testing.apiserver.list_parameters import (
    ListParameters,
    continue_token,
    list_parameters,
)
from kpolicy.testing.objects import failures
from kpolicy.testing.objects.encoding import encode
from kpolicy.testing.objects.failures import Failure
from kpolicy.testing.objects.object_views import json_of, list_json, wants_table
from kpolicy.testing.objects.store import Record, Store


def refused(failure: Failure) -> Answer:
    headers = (("Retry-After", "1"),) if failure.code in (429, 503, 504) else ()
    return Answer(failure.code, encode(failure.status()), headers=headers)


class Reads:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def get(self, target: Target, request: Request) -> Answer:
        asked = list_parameters(target.resource, {"resourceVersion": _revision(request)})
        if isinstance(asked, Failure):
            return refused(asked)
        if (ahead := self._ahead(asked)) is not None:
            return refused(ahead)
        if (record := self._store.read(target.resource, target.namespace, target.name)) is None:
            return refused(failures.not_found(target.resource, target.name))
        if wants_table(request.headers.get("accept", "")):
            return self._table(target, request, [record], {"resourceVersion": str(record.revision)})
        return Answer(200, json_of(target.resource, record))

    def collection(self, target: Target, request: Request) -> Answer:
        if isinstance(asked := list_parameters(target.resource, request.query), Failure):
            return refused(asked)
        if (failure := self._ahead(asked)) is not None:
            return refused(failure)
        if isinstance(records := self._matching(target, asked), Failure):
            return refused(records)
        revision = self._store.revision
        if asked.exact and asked.revision is not None:
            revision = asked.revision
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        if asked.limit and len(records) > asked.limit:
            if asked.selector.is_everything:
                metadata["remainingItemCount"] = len(records) - asked.limit
            records = records[: asked.limit]
            after = (records[-1].namespace, records[-1].name)
            metadata["continue"] = continue_token(revision, after)
        if wants_table(request.headers.get("accept", "")):
            return self._table(target, request, records, metadata)
        return Answer(200, list_json(target.resource, records, metadata))

    def _ahead(self, asked: ListParameters) -> Failure | None:
        if asked.revision is not None and asked.revision > self._store.revision:
            return failures.too_large_revision(asked.revision, self._store.revision)
        return None

    def _matching(self, target: Target, asked: ListParameters) -> list[Record] | Failure:
        resource, namespace = target.resource, target.namespace or None
        if asked.exact and asked.revision is not None and asked.revision < self._store.revision:
            if (then := self._store.records_at(resource, asked.revision, namespace)) is None:
                return _forgotten(asked)
            records = then
        else:
            records = list(self._store.records(resource, namespace))
        if asked.after is not None:
            records = [each for each in records if (each.namespace, each.name) > asked.after]
        if not asked.selector.is_everything:
            records = [each for each in records if asked.selector.matches(each.object)]
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
        return Answer(200, encode(table))


def _revision(request: Request) -> str:
    return request.query.get("resourceVersion", "")


def _forgotten(asked: ListParameters) -> Failure:
    if asked.after is not None:
        return failures.expired(
            "The provided continue parameter is too old to display a consistent list result. You "
            "can start a new list without the continue parameter."
        )
    return failures.expired("The resourceVersion for the provided list is too old.")
