"""The objects of a cluster at a moment of a journal, as lists and watches had shown them."""

from __future__ import annotations

from collections.abc import Mapping

from kpolicy.journal.engine_calls import BrokenRecordError, Call, Effect, call_of
from kpolicy.journal.segment_format import SegmentHeader
from kpolicy.offline.journal_replay.journal_input import Epoch, EpochReader, JournalInput
from kpolicy.offline.journal_replay.journal_moment import epoch_at
from kpolicy.offline.journal_replay.journal_objects import page_items, typed, watch_events
from kpolicy.offline.snapshot_file.reader import Redaction
from kpolicy.offline.snapshots.json_objects import Json, key_of, mapping_at, name_of, uid_of
from kpolicy.offline.snapshots.snapshot_problem import DAMAGED, Problem
from kpolicy.quick_dataclass import dataclass

_DELETED = "DELETED"
_CHANGES = frozenset({"ADDED", "MODIFIED", _DELETED})


@dataclass(frozen=True, slots=True)
class ObjectsMoment:
    """`at_ns`: the last call that was answered by then. `redaction`: how names were replaced, if
    they were. `problems` ended the epoch early."""

    objects: tuple[Json, ...]
    at_ns: int
    cluster_version: str
    redaction: Redaction | None
    problems: tuple[Problem, ...]


def objects_at(journal: JournalInput, at_ns: int | None = None) -> ObjectsMoment | Problem:
    """Without a time, as they were at the end. The journal has at least one epoch."""
    epoch = epoch_at(journal, at_ns)
    if isinstance(epoch, Problem):
        return epoch
    return _Objects().read(epoch, at_ns)


class _Objects:
    """By resource and by the name under which the engine holds an object."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, Json]] = {}
        # Of lists under way: what they have named.
        self._named: dict[str, set[str]] = {}

    def read(self, epoch: Epoch, until_ns: int | None) -> ObjectsMoment:
        header, reader = epoch.header, EpochReader(epoch)
        at_ns, problems = header.began_ns, []
        try:
            for record in reader.records():
                if until_ns is not None and record.at_ns > until_ns:
                    break
                at_ns = record.at_ns
                if record.effect is Effect.OBJECTS:
                    self._take(call_of(record))
        except BrokenRecordError as error:
            message = f"damaged: {error}; what comes before is used"
            problems.append(Problem(DAMAGED, reader.segment, "", message))
        if reader.problem is not None:
            problems.append(reader.problem)
        objects = tuple(item for held in self._held.values() for item in held.values())
        return ObjectsMoment(
            objects, at_ns, header.cluster_version, _redaction(header), tuple(problems)
        )

    def _take(self, call: Call) -> None:
        match call:
            case Call("list_begin", (str() as resource, *_)):
                self._named[resource] = set()
            case Call("list_page", (str() as resource, bytes() as body, *_)):
                for item in page_items(body):
                    self._see(resource, "ADDED", item)
            case Call("list_end", (str() as resource, *_)):
                named = self._named.pop(resource, set())
                held = self._held.get(resource, {})
                self._held[resource] = {name: held[name] for name in held if name in named}
            case Call("watch" | "wrote", (str() as resource, bytes() as lines, *_)):
                for kind, item in watch_events(lines):
                    if kind in _CHANGES:
                        self._see(resource, kind, item)

    def _see(self, resource: str, kind: str, item: object) -> None:
        whole = typed(resource, item)
        if not name_of(whole):
            return
        # A pod of the same name may follow while the one before is still leaving.
        name = uid_of(whole) if resource == "pods" else key_of(whole)
        if resource in self._named:
            self._named[resource].add(name)
        held = self._held.setdefault(resource, {})
        if kind == _DELETED:
            held.pop(name, None)
        elif name not in held or _version(whole) >= _version(held[name]):
            held[name] = whole


def _redaction(header: SegmentHeader) -> Redaction | None:
    if not header.redaction:
        return None
    return Redaction(header.kept_labels, header.kept_namespaces, header.redaction)


def _version(item: Mapping[str, object]) -> int:
    """What kpolicy wrote itself is recorded before an older state that a watch still brings."""
    written = str(mapping_at(item, "metadata").get("resourceVersion") or "")
    return int(written) if written.isdecimal() else 0
