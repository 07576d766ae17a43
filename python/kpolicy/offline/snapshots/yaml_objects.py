"""Turns YAML, as `kubectl get -o yaml` prints it, into the JSON that the engine reads.

Reads each document by itself, so that a broken one costs only itself. Bounds depth and aliases, and
needs no recursion. Values are those of YAML 1.2's core schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import yaml

from kpolicy.offline.limits import YAML_ALIASED_NODES_MAX, YAML_BYTES_MAX, YAML_NESTING_MAX
from kpolicy.offline.snapshots.snapshot_problem import NOT_YAML, TOO_LARGE, Problem
from kpolicy.policy.yaml.tree_reader import plain_value

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# At the start of a line this begins a document wherever it stands, also inside block text.
_BOUNDARY: Final = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_BLANK: Final = re.compile(r"(?:\s|#[^\n]*(?:\n|\Z)|%[^\n]*(?:\n|\Z)|\.\.\.(?=\s|\Z))*\Z")
_MERGE: Final = "<<"


class _RefusedError(Exception):
    """Ends the reading of one document; the text says why."""


def json_documents(name: str, text: bytes) -> Iterator[bytes | Problem]:
    """Each document as JSON, or why it cannot be one."""
    if len(text) > YAML_BYTES_MAX:
        message = f"larger than {YAML_BYTES_MAX >> 20} MiB of YAML"
        yield Problem(TOO_LARGE, name, "", message, "export it with `-o json`")
        return
    documents = _documents(text.decode("utf-8", "replace").removeprefix("\ufeff"))
    for position, (line, document) in enumerate(documents):
        made = _document(document)
        if isinstance(made, _RefusedError):
            yield Problem(NOT_YAML, name, f"document {position} (line {line})", str(made))
        else:
            yield made


def _documents(text: str) -> Iterator[tuple[int, str]]:
    """Each document that says anything, and the line on which it begins."""
    starts = [0, *(found.start() for found in _BOUNDARY.finditer(text)), len(text)]
    line = 1
    for start, end in pairwise(starts):
        document = text[start:end]
        if not _BLANK.match(document.removeprefix("---")):
            yield line, document
        line += document.count("\n")


def _document(text: str) -> bytes | _RefusedError:
    try:
        return json.dumps(_Builder().built(text), ensure_ascii=False).encode("utf-8", "replace")
    except _RefusedError as refused:
        return refused
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = f", {mark.line + 1} lines into it" if mark is not None else ""
        return _RefusedError(f"not YAML: {error.problem or error.context}{at}")
    except yaml.YAMLError as error:
        return _RefusedError(f"not YAML: {str(error).splitlines()[0]}")


class _Builder:
    """Values from parse events. A collection under way is a list; a mapping's has key, value, …"""

    def __init__(self) -> None:
        self._open: list[tuple[list[Any], str | None, bool, int]] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0  # those that aliases stand for included
        self._aliased = 0
        self._root: Any = None

    def built(self, text: str) -> Any:
        for event in yaml.parse(text, Loader=_LOADER):
            match event:
                case yaml.ScalarEvent():
                    self._nodes += 1
                    self._take(_value(event), event.anchor, 1)
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    if len(self._open) >= YAML_NESTING_MAX:
                        raise _RefusedError(f"nested more than {YAML_NESTING_MAX} deep")
                    self._nodes += 1
                    is_mapping = isinstance(event, yaml.MappingStartEvent)
                    self._open.append(([], event.anchor, is_mapping, self._nodes))
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    members, anchor, is_mapping, before = self._open.pop()
                    value = _mapping(members) if is_mapping else members
                    self._take(value, anchor, self._nodes - before + 1)
                case yaml.AliasEvent():
                    self._alias(event.anchor or "")
        return self._root

    def _take(self, value: Any, anchor: str | None, nodes: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = value, nodes
        if self._open:
            self._open[-1][0].append(value)
        else:
            self._root = value

    def _alias(self, anchor: str) -> None:
        if anchor not in self._anchors:
            raise _RefusedError(f"*{anchor} stands for nothing that ended before it")
        value, nodes = self._anchors[anchor]
        self._aliased += nodes
        if self._aliased > YAML_ALIASED_NODES_MAX:
            raise _RefusedError(f"aliases stand for more than {YAML_ALIASED_NODES_MAX:,} values")
        self._nodes += nodes
        self._take(value, None, nodes)


def _value(event: Any) -> Any:  # events of PyYAML are untyped
    is_plain = event.implicit[0] and not event.style
    return plain_value(event.value) if is_plain else event.value


def _mapping(members: list[Any]) -> dict[str, Any]:
    """The last of equal keys wins; what is merged in loses to what is written."""
    written: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for key, value in zip(members[::2], members[1::2], strict=True):
        if key == _MERGE:
            for source in value if isinstance(value, list) else [value]:
                if not isinstance(source, dict):
                    raise _RefusedError("`<<` merges mappings only")
                merged = source | merged
        else:
            written[_key(key)] = value
    return merged | written


def _key(key: Any) -> str:
    if isinstance(key, (dict, list)):
        raise _RefusedError("a key is a mapping or a sequence, which JSON has not")
    return key if isinstance(key, str) else json.dumps(key)
