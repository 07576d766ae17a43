"""A whole journal without its names, under one key: objects as in a redacted snapshot, and the pods
and nodes of decisions by the same words.

Texts of decisions and answers of extenders are left out. So a replay judges decisions instead of
comparing bytes. Policies stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kpolicy.journal.engine_calls import (
    FIELDS,
    Call,
    Effect,
    Record,
    argument_bytes,
    call_of,
    decided_fields,
    framed,
)
from kpolicy.journal.segment_files import SegmentFiles
from kpolicy.offline.journal_replay.journal_input import EpochReader, JournalInput
from kpolicy.offline.journal_replay.journal_objects import (
    KINDS,
    json_of,
    page_items,
    typed,
    watch_events,
)
from kpolicy.offline.redaction.redact import Redactor, fingerprint
from kpolicy.offline.snapshots.json_objects import Json, is_read, name_of
from kpolicy.offline.snapshots.snapshot_problem import Problem

# Calls about names that nobody compares in a redacted journal.
_LEFT_OUT: Final = frozenset(
    {"filter", "candidates", "settle_room", "second_opinions", "load_objects", "keep"}
)
_UNBOUNDED: Final = 1 << 62


def redact_journal(
    journal: JournalInput,
    folder: Path,
    key: bytes,
    *,
    keep_labels: Iterable[str] = (),
    keep_namespaces: Iterable[str] = (),
) -> tuple[int, list[Problem]]:
    """How many records were written, and what was not read. Raises `OSError` and
    `BrokenRecordError`."""

    def objects() -> Iterator[Json]:
        for epoch in journal.epochs:
            for record in EpochReader(epoch).records():
                if record.effect is Effect.OBJECTS:
                    yield from _objects(call_of(record))

    kept = {"keep_labels": tuple(keep_labels), "keep_namespaces": tuple(keep_namespaces)}
    redactor = Redactor(key, objects, **kept)
    redacting = _Redacting(redactor)
    count, problems = 0, list(journal.problems)
    for run in dict.fromkeys(epoch.header.run for epoch in journal.epochs):
        epochs = [epoch for epoch in journal.epochs if epoch.header.run == run]
        header = replace(
            epochs[0].header,
            redaction=fingerprint(key),
            kept_labels=kept["keep_labels"],
            kept_namespaces=kept["keep_namespaces"],
        )
        files = SegmentFiles(folder, header, _UNBOUNDED)
        try:
            for epoch in epochs:
                if not epoch.is_whole:
                    continue
                own = epoch.header
                files.begin_epoch(own.began_ns, own.gap, own.gap_from_ns, number=own.epoch)
                reader = EpochReader(epoch)
                for record in reader.records():
                    redacted = redacting.record(record)
                    if redacted is not None:
                        files.put((redacted,), record.at_ns)
                        count += 1
                problems += [each for each in (reader.problem, epoch.gap) if each is not None]
        finally:
            files.close()
    return count, problems


def _objects(call: Call) -> Iterator[Json]:
    match call.arguments:
        case (str() as resource, bytes() as body, *_):
            items = page_items(body) if call.name == "list_page" else _changed(body)
            for item in items:
                yield typed(resource, item)
        case _:
            return


def _changed(lines: bytes) -> Iterator[Any]:
    return (item for _, item in watch_events(lines))


class _Redacting:
    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._name = redactor.words.name
        self._uid = redactor.words.uid

    def record(self, record: Record) -> bytes | None:
        """The record again; None if it is left out."""
        if record.name in _LEFT_OUT:
            return None
        if record.effect is Effect.MARK:
            return framed(record.name, record.at_ns, record.arguments, self._mark(record.answer))
        if record.effect is Effect.DECIDES:
            # The arguments are names, which the answer has too.
            return framed(record.name, record.at_ns, b"[]\n", self._decisions(record))
        call = call_of(record)
        arguments: tuple[Any, ...]
        match record.name, call.arguments:
            case "list_page", (str() as resource, bytes() as body, now_ns):
                arguments = (resource, self._list(resource, body), now_ns)
            case "watch" | "wrote", (str() as resource, bytes() as lines, *rest):
                arguments = (resource, self._lines(resource, lines), *rest)
            case "settle", (outcomes, now_ns):
                arguments = ([(self._uid(uid), value) for uid, value in outcomes], now_ns)
            case _:
                arguments = call.arguments
        text = argument_bytes(Call(record.name, arguments))
        return framed(record.name, record.at_ns, text, record.answer)

    def _list(self, resource: str, body: bytes) -> bytes:
        kind, version = KINDS[resource]
        page = json_of(body)
        items = [self._object(resource, item) for item in page_items(body)]
        metadata = page.get("metadata")
        return _bytes(
            {
                "apiVersion": version,
                "kind": f"{kind}List",
                "metadata": metadata if isinstance(metadata, dict) else {},
                "items": [item for item in items if item is not None],
            }
        )

    def _lines(self, resource: str, lines: bytes) -> bytes:
        kept = []
        for line in lines.splitlines():
            event = json_of(line)
            kind, item = event.get("type"), event.get("object")
            if kind in ("BOOKMARK", "ERROR"):
                kept.append(_bytes({"type": kind, "object": _version_alone(item)}))
            elif (redacted := self._object(resource, item)) is not None:
                kept.append(_bytes({"type": kind, "object": redacted}))
        return b"\n".join(kept) + b"\n"

    def _object(self, resource: str, item: Any) -> Json | None:
        whole = typed(resource, item)
        if not is_read(whole) or not name_of(whole):
            return None
        redacted = self._redactor.of(whole)
        # By these the engine tells which state of an object is the newer one.
        for name in ("resourceVersion", "generation"):
            if name in whole["metadata"]:
                redacted["metadata"][name] = whole["metadata"][name]
        return redacted

    def _decisions(self, record: Record) -> bytes:
        decisions = [self._decision(decision) for decision in decided_fields(record.answer)]
        columns = [list(column) for column in zip(*decisions, strict=True)]
        return _bytes(["", "", len(decisions), columns])

    def _decision(self, decision: tuple[Any, ...]) -> list[Any]:
        named = dict(zip(FIELDS, decision, strict=True))
        for field in ("namespace", "name", "node", "nominated_node"):
            named[field] = self._name(str(named[field]))
        named["uid"] = self._uid(str(named["uid"]))
        empty: dict[str, Any] = {"victims": [], "displaced": [], "writes": [], "message": ""}
        return list((named | empty).values())

    def _mark(self, answer: bytes) -> bytes:
        mark = json_of(answer)
        assumed = [(self._uid(str(uid)), self._name(str(node))) for uid, node in mark["assumed"]]
        return _bytes(mark | {"assumed": assumed})


def _version_alone(item: Any) -> dict[str, Any]:
    """Of a bookmark and of an error, which name nothing else that is read."""
    if not isinstance(item, dict):
        return {}
    metadata = item.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    kept = {name: item[name] for name in ("kind", "code", "reason") if name in item}
    return kept | ({"metadata": {"resourceVersion": version}} if version else {})


def _bytes(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
