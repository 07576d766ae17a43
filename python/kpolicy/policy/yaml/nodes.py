"""The tree of a document: scalars, sequences and mappings, each with its span in one text.

A node is found, left out or turned into plain data by its path, such as `("spec", "order")`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from kpolicy.diagnostics import Edit, Span
from kpolicy.quick_dataclass import dataclass

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A leaf. `text` is the text without its quotes; `value` is what it means (`7`, `true`)."""

    span: Span
    text: str
    value: bool | int | float | str | None
    style: str = ""  # one of: '' plain, ' or " quoted, | or > block


@dataclass(frozen=True, slots=True)
class Sequence:
    span: Span
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    key: Scalar
    value: Node


@dataclass(frozen=True, slots=True)
class Mapping:
    span: Span
    entries: tuple[Entry, ...]

    def entry(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.key.text == key), None)

    def get(self, key: str) -> Node | None:
        found = self.entry(key)
        return found.value if found else None


Node: TypeAlias = Scalar | Sequence | Mapping


def rewritten(scalar: Scalar, text: str) -> Edit | None:
    """The edit that writes another word in the same quotes; None for a block scalar."""
    if scalar.style in ("|", ">"):
        return None
    return Edit(scalar.span, f"{scalar.style}{text}{scalar.style}")


def made(value: Plain, span: Span) -> Node:
    """A tree made of plain data; every node of it has the same `span`."""
    if isinstance(value, dict):
        entries = tuple(Entry(Scalar(span, key, key), made(v, span)) for key, v in value.items())
        return Mapping(span, entries)
    if isinstance(value, list):
        return Sequence(span, tuple(made(item, span) for item in value))
    return Scalar(span, "" if value is None else str(value), value)


def mapping(span: Span, **values: Node | None) -> Mapping:
    """A mapping made of existing nodes; a key whose value is None is left out."""
    entries = (Entry(Scalar(span, k, k), v) for k, v in values.items() if v is not None)
    return Mapping(span, tuple(entries))


def plain(node: Node) -> Plain:
    match node:
        case Scalar():
            return node.value
        case Sequence():
            return [plain(item) for item in node.items]
        case Mapping():
            return {entry.key.text: plain(entry.value) for entry in node.entries}


def step(node: Node | None, part: str | int) -> Node | None:
    match node, part:
        case Mapping(), str():
            return node.get(part)
        case Sequence(), int() if 0 <= part < len(node.items):
            return node.items[part]
    return None


def find(node: Node | None, path: Path) -> Node | None:
    for part in path:
        node = step(node, part)
    return node


def key_at(node: Node | None, path: Path) -> Scalar | None:
    """The key that leads to `path`, if a key does."""
    parent = find(node, path[:-1])
    if not path or not isinstance(parent, Mapping):
        return None
    entry = parent.entry(str(path[-1]))
    return entry.key if entry else None


def first_character(span: Span) -> Span:
    """The place of findings about a whole map or list."""
    return Span(span.start, min(span.start + 1, span.end))


def items(node: Node | None) -> tuple[Node, ...]:
    return node.items if isinstance(node, Sequence) else ()


def string(node: Node | None) -> str:
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""


def without(node: Node, path: Path) -> Node:
    """The tree without the node at `path`; the same tree if there is none."""
    head, rest = path[0], path[1:]
    match node:
        case Mapping():
            kept = tuple(
                entry
                if entry.key.text != head
                else replace(entry, value=without(entry.value, rest))
                for entry in node.entries
                if rest or entry.key.text != head
            )
            return replace(node, entries=kept)
        case Sequence():
            left = tuple(
                item if index != head else without(item, rest)
                for index, item in enumerate(node.items)
                if rest or index != head
            )
            return replace(node, items=left)
    return node


def descendants(node: Node) -> Iterator[Node]:
    """The node and all nodes below it in the order of the text; keys of mappings are left out."""
    pending: list[Node] = [node]
    while pending:
        current = pending.pop()
        yield current
        match current:
            case Sequence():
                pending.extend(reversed(current.items))
            case Mapping():
                pending.extend(entry.value for entry in reversed(current.entries))


def mappings(node: Node) -> Iterator[Mapping]:
    return (found for found in descendants(node) if isinstance(found, Mapping))


def scalars(node: Node) -> Iterator[Scalar]:
    """Every scalar that is a value, in order."""
    return (found for found in descendants(node) if isinstance(found, Scalar))


def dotted(path: Path) -> str:
    """`('spec', 'predicates', 2)` as `spec.predicates[2]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")
