"""Reads YAML text into trees with exact spans.

Any bytes give documents, diagnostics or both, and never an exception (B5). Values are those of
YAML 1.2; a plain scalar that YAML 1.1 reads as another value is a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Hint, Note, Span
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.limits import (
    DOCUMENT_BYTES_MAX,
    DOCUMENTS_MAX,
    INTEGER_CHARACTERS_MAX,
    TREE_DEPTH_MAX,
    TREE_NODES_MAX,
)
from kpolicy.policy.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence
from kpolicy.policy.yaml.source import BYTE_ORDER_MARK, Source, SourceText
from kpolicy.quick_dataclass import dataclass
from kpolicy.quick_imports import imported_quickly

with imported_quickly():
    import yaml

_CONSTANTS: Final[dict[str, bool | None]] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+\Z")
# Integers by their base.
_BASES: Final = (
    (_INTEGER, 10),
    (re.compile(r"0x[0-9a-fA-F]+\Z"), 16),
    (re.compile(r"0o[0-7]+\Z"), 8),
)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
# Scalars that YAML 1.1 reads as other values than YAML 1.2.
_YAML_1_1: Final = (
    (re.compile(r"(?:yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)\Z"), "a boolean"),
    (re.compile(r"[-+]?0[0-9_]+\Z"), "an octal number"),
    (
        re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z"),
        "a number to the base 60",
    ),
    (re.compile(r"[-+]?[1-9][0-9]*_[0-9_]*\Z"), "a number"),
)


def plain_value(text: str) -> bool | int | float | str | None:
    """The value of a plain scalar by the core schema of YAML 1.2."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if not (text[0].isdigit() or text[0] in "+-."):
        return text
    for integer, base in _BASES:
        if len(text) <= INTEGER_CHARACTERS_MAX and integer.match(text):
            return int(text, base)
    return float(text) if _FLOAT.match(text) and not _INTEGER.match(text) else text


def yaml_1_1_kind(text: str) -> str:
    """The kind of value that YAML 1.1 reads in a plain scalar, or "" if it agrees with YAML 1.2."""
    return next((kind for pattern, kind in _YAML_1_1 if pattern.match(text)), "")


# The characters that YAML 1.2 §5.1 does not allow; libyaml reports them without a place. (The
# allowed ones, negated, would take ten milliseconds to compile.)
_FORBIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]"
)
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a source, as far as they could be read."""

    text: SourceText
    roots: tuple[Node, ...]
    diagnostics: tuple[Diagnostic, ...]


class _RefusedError(Exception):
    """Stops the reading of a source; the diagnostic is already recorded."""


def read_documents(source: Source) -> Documents:
    """All YAML documents of a source. Spans are offsets in `Documents.text`."""
    text, problem = _decoded(source)
    return read_text(text) if problem is None else Documents(text, (), (problem,))


def read_text(text: SourceText) -> Documents:
    """As `read_trees`, for decoded text such as a policy quoted in a ConfigMap."""
    reader = _Reader(text)
    roots = tuple(reader.documents())
    ordered = sorted(reader.diagnostics, key=lambda d: d.span.start if d.span else 0)
    return Documents(text, roots, tuple(ordered))


def _decoded(source: Source) -> tuple[SourceText, Diagnostic | None]:
    size = len(source.text)
    if size > DOCUMENT_BYTES_MAX:
        empty = SourceText(source.name, "")
        return empty, remark(
            "KP109",
            f"{size:,} bytes are more than a policy may have, {DOCUMENT_BYTES_MAX:,}",
            Span(0, 0),
            hint="split it into several files",
        )
    if isinstance(source.text, str):
        text = source.text
    else:
        try:
            text = source.text.decode("utf-8")
        except UnicodeDecodeError as error:
            readable = source.text[: error.start].decode("utf-8")
            shown = SourceText(source.name, source.text.decode("utf-8", "replace"))
            return shown, remark(
                "KP101",
                f"byte 0x{source.text[error.start]:02x} is not UTF-8",
                Span(len(readable), len(readable) + 1),
                hint="save the file as UTF-8",
            )
    decoded = SourceText(source.name, text)
    found = _FORBIDDEN.search(text, int(text.startswith(BYTE_ORDER_MARK)))
    if found is None:
        return decoded, None
    return decoded, remark(
        "KP101",
        f"the character U+{ord(found.group()):04X} is not allowed in YAML",
        Span(found.start(), found.end()),
        hint="remove it, or write it as an escape",
    )


@dataclass(slots=True)
class _Open:
    """A sequence or mapping whose end has not been read yet."""

    start: int
    is_mapping: bool
    children: list[Node] = field(default_factory=list)
    # Offsets of the keys seen, to find those that repeat.
    keys: dict[str, Span] = field(default_factory=dict)


# The first character of a value of which YAML ends the value, or reads a part as something else.
_VALUE: Final = re.compile(r":\s+(['\"\[{!])")
_BEGINNINGS: Final = {
    **dict.fromkeys("'\"", "put the whole value in quotes: it begins with a quote, and goes on"),
    **dict.fromkeys("[{", "put the whole value in quotes: it begins with a bracket, and goes on"),
    "!": "put the whole value in quotes: a `!` at its beginning is a tag of YAML",
}


class _Reader:
    """Builds trees from parse events. It has its own stack, so deep documents need no recursion."""

    def __init__(self, text: SourceText) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._text = text
        self._shift = 1 if text.text.startswith(BYTE_ORDER_MARK) else 0
        self._open: list[_Open] = []
        self._nodes = 0
        self._documents = 0

    def documents(self) -> Iterator[Node]:
        try:
            for event in yaml.parse(self._text.text[self._shift :], Loader=_LOADER):
                root = self._take(event)
                if root is not None:
                    yield root
        except yaml.MarkedYAMLError as error:
            self._syntax(error)
        except yaml.YAMLError as error:
            self._report("KP101", f"this is not YAML: {str(error).splitlines()[0]}", Span(0, 0))
        except _RefusedError:
            pass

    def _take(self, event: Any) -> Node | None:  # events of PyYAML are untyped
        """The root of a document, if this event ends it."""
        start, end = event.start_mark.index + self._shift, event.end_mark.index + self._shift
        if getattr(event, "anchor", None) is not None:
            named = Span(start, start + len(event.anchor) + 1)
            message = "anchors and aliases are not read in a policy"
            self._report("KP108", message, named, "write the value out")
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > DOCUMENTS_MAX:
                    self._refuse(f"more than {DOCUMENTS_MAX} documents in one file", start)
            case yaml.AliasEvent():
                return self._closed(Scalar(Span(start, end), "", None))
            case yaml.ScalarEvent():
                return self._closed(self._scalar(event, start, end))
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                if len(self._open) >= TREE_DEPTH_MAX:
                    self._refuse(f"nested more than {TREE_DEPTH_MAX} deep", start)
                self._open.append(_Open(start, isinstance(event, yaml.MappingStartEvent)))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                return self._closed(self._collection(self._open.pop(), end))
        return None

    def _closed(self, node: Node) -> Node | None:
        self._nodes += 1
        if self._nodes > TREE_NODES_MAX:
            self._refuse(f"more than {TREE_NODES_MAX:,} values in one file", node.span.start)
        if not self._open:
            return node
        self._open[-1].children.append(node)
        return None

    def _scalar(self, event: Any, start: int, end: int) -> Scalar:
        style, span = event.style or "", Span(start, end)
        if event.tag and event.tag.startswith("!"):
            message = f"`{event.tag}` is a tag of YAML, and no part of the value"
            self._report("KP108", message, span, "put the whole value in quotes")
            written = self._text.text[start:end]
            return Scalar(span, written, written, style)
        if style or not event.implicit[0]:
            return Scalar(span, event.value, event.value, style)
        value = plain_value(event.value)
        if kind := yaml_1_1_kind(event.value):
            is_text = isinstance(value, str)
            here = f"the text `{value}`" if is_text else f"the number {value}"
            hint = Hint(
                f'write `"{event.value}"` if you mean the text',
                replacement=f'"{event.value}"' if is_text else str(value),
            )
            self.diagnostics.append(
                remark(
                    "KP106",
                    f"many YAML readers take `{event.value}` for {kind}; here it is {here}",
                    span,
                    hint=hint.text,
                    fix=hint.fix_at(span, is_safe=True),
                )
            )
        return Scalar(span, event.value, value, "")

    def _collection(self, opened: _Open, end: int) -> Node:
        # YAML counts white space after a block collection to it.
        text = self._text.text[opened.start : end].rstrip()
        span = Span(opened.start, opened.start + len(text))
        if not opened.is_mapping:
            return Sequence(span, tuple(opened.children))
        entries: list[Entry] = []
        for key, value in zip(opened.children[::2], opened.children[1::2], strict=False):
            if not isinstance(key, Scalar):
                self._report("KP101", "a key must be a name, not a list or a map", key.span)
                continue
            first = opened.keys.setdefault(key.text, key.span)
            if first is key.span:
                entries.append(Entry(key, value))
                continue
            message = f"the key `{key.text}` is written twice"
            notes = (Note("first here", span=first),)
            self._report("KP105", message, key.span, "keep one of them", notes)
        return Mapping(span, tuple(entries))

    def _syntax(self, error: yaml.MarkedYAMLError) -> None:
        mark = error.problem_mark or error.context_mark
        offset = mark.index + self._shift if mark is not None else 0
        offset = min(offset, len(self._text.text))
        message = f"this is not YAML: {error.problem or error.context or 'cannot be read'}"
        notes: tuple[Note, ...] = ()
        if error.context and error.context_mark is not None and error.problem_mark is not None:
            begun = min(error.context_mark.index + self._shift, len(self._text.text))
            notes = (Note(str(error.context), span=Span(begun, begun + 1)),)
        self._report("KP101", message, Span(offset, offset + 1), self._hint(error, offset), notes)

    def _hint(self, error: yaml.MarkedYAMLError, offset: int) -> str:
        if self._text.text[offset : offset + 1] == "\t":
            return "indent with spaces: YAML takes no tabs"
        if error.problem == "mapping values are not allowed in this context":
            return "put the value in quotes if it contains a colon and a space"
        if error.problem == "found character that cannot start any token":
            return "put the value in quotes: no value begins with this character"
        line = self._text.text.rfind("\n", 0, offset) + 1
        value = _VALUE.search(self._text.text, line, offset)
        is_over = error.problem == "did not find expected key"
        return _BEGINNINGS[value[1]] if value and (is_over or value[1] == "!") else ""

    def _refuse(self, message: str, offset: int) -> None:
        self._report("KP109", message, Span(offset, offset + 1))
        raise _RefusedError

    def _report(
        self, code: str, message: str, span: Span, hint: str = "", notes: tuple[Note, ...] = ()
    ) -> None:
        self.diagnostics.append(remark(code, message, span, hint=hint, notes=notes))
