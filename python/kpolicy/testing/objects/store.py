"""The store: objects, one revision counter for all of them, and the changes that watches replay.

The history of each resource is bounded. Used by one thread; objects sent to it must not be changed
afterwards. It knows no field besides `metadata`. Times come from the clock; uids and random names
come from the seed.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import takewhile
from typing import Any
from uuid import UUID

from pydantic_core import to_json

from kpolicy.api_times import api_time
from kpolicy.clock import Clock
from kpolicy.testing import limits
from kpolicy.testing.objects import failures
from kpolicy.testing.objects.resource_types import Resource

Object = Mapping[str, Any]
# Returns what an object becomes; if it raises an `ApiError`, the object stays as it is.
Decide = Callable[["Record"], Object]

NAME_ALPHABET = (
    "bcdfghjklmnpqrstvwxz2456789"  # as in the API server: no vowels, no similar characters
)
NAME_SUFFIX_CHARACTERS = 5


class ChangeType(Enum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One version of one object, and its JSON after `kind` and `apiVersion`."""

    resource: Resource
    namespace: str
    name: str
    revision: int
    object: Object
    tail: bytes

    @property
    def json(self) -> bytes:
        return self.resource.head + self.tail

    @property
    def item(self) -> bytes:
        """The object as an element of a list, without kind and version."""
        return b"{" + self.tail

    def restamped(self, revision: int) -> Record:
        """Return the same object at a later revision: so watches see it leave a selector."""
        return _record(self.resource, self.namespace, self.name, revision, self.object)

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def uid(self) -> str:
        uid: str = self.object["metadata"]["uid"]
        return uid


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    type: ChangeType
    revision: int
    record: Record
    previous: Record | None


Listener = Callable[[Change], None]


@dataclass(slots=True)
class _Shelf:
    """All objects and changes of one resource."""

    changes: deque[Change]
    records: dict[tuple[str, str], Record] = field(default_factory=dict)
    order: list[tuple[str, str]] | None = None  # sorted keys; None: sort again
    compacted: int = 0  # changes up to this revision are forgotten
    listeners: list[Listener] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """`seed`: of uids and generated names. `history_changes_max`: how many changes of a resource
    watches and lists can go back."""

    seed: int = 0
    history_changes_max: int = limits.HISTORY_CHANGES_MAX


class Store:
    def __init__(self, clock: Clock, settings: StoreSettings | None = None) -> None:
        settings = settings or StoreSettings()
        self._clock = clock
        self._random = random.Random(settings.seed)
        self._changes_max = settings.history_changes_max
        self._shelves: dict[str, _Shelf] = {}
        self._revision = 1

    @property
    def revision(self) -> int:
        return self._revision

    def count(self, resource: Resource) -> int:
        return len(self._shelf(resource).records)

    def read(self, resource: Resource, namespace: str, name: str) -> Record | None:
        return self._shelf(resource).records.get((namespace, name))

    def held(self, resource: Resource, namespace: str, name: str) -> Record:
        """Return the object, which must exist."""
        if (record := self.read(resource, namespace, name)) is None:
            raise failures.not_found(resource, name)
        return record

    def records(self, resource: Resource, namespace: str | None = None) -> Iterator[Record]:
        """Return the objects ordered by namespace and name, as the API server lists them."""
        shelf = self._shelf(resource)
        if shelf.order is None:
            shelf.order = sorted(shelf.records)
        keys = shelf.order if namespace is None else (k for k in shelf.order if k[0] == namespace)
        return (shelf.records[key] for key in keys)

    def records_at(
        self, resource: Resource, revision: int, namespace: str | None = None
    ) -> list[Record] | None:
        """Return the objects at an earlier revision; None if the history no longer has it."""
        shelf = self._shelf(resource)
        if revision < shelf.compacted:
            return None
        then = dict(shelf.records)
        for change in takewhile(lambda change: change.revision > revision, reversed(shelf.changes)):
            if change.previous is None:
                then.pop(change.record.key, None)
            else:
                then[change.record.key] = change.previous
        return [then[key] for key in sorted(then) if namespace is None or key[0] == namespace]

    def changes_since(self, resource: Resource, revision: int) -> list[Change] | None:
        """Return the changes, oldest first; None if the history no longer has all of them."""
        shelf = self._shelf(resource)
        if revision < shelf.compacted:
            return None
        newer = takewhile(lambda change: change.revision > revision, reversed(shelf.changes))
        return [*newer][::-1]

    def oldest_revision(self, resource: Resource) -> int:
        """Return the oldest revision from which a watch can start."""
        return self._shelf(resource).compacted

    def compact(self) -> None:
        """Forget all changes until now, as etcd does every five minutes."""
        for shelf in self._shelves.values():
            shelf.changes.clear()
            shelf.compacted = self._revision

    def listen(self, resource: Resource, listener: Listener) -> Callable[[], None]:
        """Call `listener` for every later change; it must not write. Call the result to stop
        that."""
        listeners = self._shelf(resource).listeners
        listeners.append(listener)

        def end() -> None:
            if listener in listeners:
                listeners.remove(listener)

        return end

    def create(
        self, resource: Resource, namespace: str, object_: Object, *, dry_run: bool = False
    ) -> Record:
        shelf = self._shelf(resource)
        sent: Mapping[str, Any] = object_["metadata"]
        name: str = sent.get("name") or ""
        if not name:
            name = self._generated_name(shelf, namespace, sent["generateName"])
        if (namespace, name) in shelf.records:
            raise failures.already_exists(resource, name)
        metadata = {
            **sent,
            "name": name,
            **({"namespace": namespace} if namespace else {}),
            "uid": str(UUID(int=self._random.getrandbits(128), version=4)),
            "resourceVersion": "",
            "creationTimestamp": api_time(self._clock.now_ns()),
        }
        metadata.pop("deletionTimestamp", None)
        metadata.pop("deletionGracePeriodSeconds", None)
        record = _record(
            resource, namespace, name, self._revision + 1, {**object_, "metadata": metadata}
        )
        if not dry_run:
            self._commit(shelf, ChangeType.ADDED, record, None)
        return record

    def change(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        decide: Decide,
        *,
        uid: str = "",
        revision: str = "",
        dry_run: bool = False,
    ) -> Record:
        """Replace an object by the result of `decide`, if it is still the expected one."""
        held = self.held(resource, namespace, name)
        for what, asked, has in (
            ("UID", uid, held.uid),
            ("ResourceVersion", revision, str(held.revision)),
        ):
            if asked and asked != has:
                key = (namespace, name)
                raise failures.precondition_failed(resource, key, what, asked=asked, held=has)
        decided = decide(held)
        if decided == held.object:  # a write that changes nothing makes no revision
            return held
        record = _record(resource, namespace, name, self._revision + 1, decided)
        if dry_run:
            return record
        shelf = self._shelf(resource)
        metadata = record.object["metadata"]
        last_hold_gone = (
            held.object["metadata"].get("finalizers")
            and not metadata.get("finalizers")
            and metadata.get("deletionTimestamp")
            and not metadata.get("deletionGracePeriodSeconds")
        )
        self._commit(
            shelf, ChangeType.DELETED if last_hold_gone else ChangeType.MODIFIED, record, held
        )
        return record

    def remove(self, resource: Resource, namespace: str, name: str) -> Record:
        held = self.held(resource, namespace, name)
        record = _record(resource, namespace, name, self._revision + 1, held.object)
        self._commit(self._shelf(resource), ChangeType.DELETED, record, held)
        return record

    def remove_oldest(self, resource: Resource) -> None:
        """Remove the object that was created first."""
        if (key := next(iter(self._shelf(resource).records), None)) is not None:
            self.remove(resource, *key)

    def _shelf(self, resource: Resource) -> _Shelf:
        if (shelf := self._shelves.get(resource.storage)) is None:
            shelf = self._shelves[resource.storage] = _Shelf(deque(maxlen=self._changes_max))
        return shelf

    def _commit(
        self, shelf: _Shelf, type_: ChangeType, record: Record, previous: Record | None
    ) -> None:
        self._revision = record.revision
        if type_ is ChangeType.DELETED:
            del shelf.records[record.key]
        else:
            shelf.records[record.key] = record
        if type_ is not ChangeType.MODIFIED:
            shelf.order = None
        changes = shelf.changes
        if len(changes) == changes.maxlen:
            shelf.compacted = changes[0].revision
        change = Change(type_, record.revision, record, previous)
        changes.append(change)
        for listener in tuple(shelf.listeners):
            listener(change)

    def _generated_name(self, shelf: _Shelf, namespace: str, prefix: str) -> str:
        prefix = prefix[: limits.GENERATED_PREFIX_CHARACTERS_MAX]
        name = prefix
        for _ in range(limits.GENERATED_NAME_TRIES_MAX):
            name = prefix + "".join(self._random.choices(NAME_ALPHABET, k=NAME_SUFFIX_CHARACTERS))
            if (namespace, name) not in shelf.records:
                break
        return name


def _record(
    resource: Resource, namespace: str, name: str, revision: int, object_: Object
) -> Record:
    metadata = {**object_["metadata"], "resourceVersion": str(revision)}
    content = {"metadata": metadata, **object_}
    content["metadata"] = metadata
    content.pop("kind", None)
    content.pop("apiVersion", None)
    tail = to_json(content)[1:]
    full = {"kind": resource.kind, "apiVersion": resource.api_version, **content}
    return Record(resource, namespace, name, revision, full, tail)
