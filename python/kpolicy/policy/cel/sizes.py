"""How large the values of expressions can be: the sizes that the static bound of cost assumes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, reduce
from typing import Any, Final

from kpolicy.policy.cel.facts import (
    CATALOGUE,
    LABEL_KEY_BYTES_MAX,
    RANGES,
    TEXT_BYTES_MAX,
    Member,
)
from kpolicy.policy.cel.prices import ENTRY_MADE, ITEM_MADE
from kpolicy.policy.cel.types import Type
from kpolicy.quick_dataclass import dataclass

# Sizes and costs beyond this are not told apart.
SIZE_MAX: Final = 2**62
# The number of entries that a list or map inside a record is assumed to have at most.
RECORD_ITEMS_MAX: Final = 16
# Records inside records are followed so far; what is deeper counts as one value.
RECORD_DEPTH_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class Size:
    """`length`: bytes of a text, items of a list, entries of a map; 1 for anything else.

    `item` bounds every item of a list, every value of a map, and what is inside an optional; `key`
    the bytes of a map's keys.
    """

    length: int = 1
    item: Size | None = None
    key: int = 1

    @property
    def inside(self) -> Size:
        return self.item or SCALAR


SCALAR: Final = Size()


def larger(a: Size, b: Size) -> Size:
    """A bound of both."""
    if a == b:
        return a
    item = larger(a.item, b.item) if a.item and b.item else a.item or b.item
    return Size(max(a.length, b.length), item, max(a.key, b.key))


def largest(sizes: Iterable[Size]) -> Size:
    return reduce(larger, sizes, SCALAR)


def times(a: int, b: int) -> int:
    return min(a * b, SIZE_MAX)


def of_constant(value: Any) -> Size:
    match value:
        case str():
            return Size(len(value.encode("utf-8", "surrogatepass")))
        case bytes():
            return Size(len(value))
        case list() | tuple():
            return Size(len(value), largest(map(of_constant, value)))
        case dict():
            key = largest(map(of_constant, value)).length
            return Size(len(value), largest(map(of_constant, value.values())), key)
    return SCALAR


def of_member(member: Member) -> Size:
    """The size of a fact, or of a member of an object or a record."""
    return _of_type(member.result, member.size, member.entry_size, RECORD_DEPTH_MAX)


def _of_type(kind: Type, length: int, entry: int, depth: int) -> Size:
    match kind.name:
        case "list":
            return Size(length, _of_part(kind.parameters[0], entry, depth))
        case "map":
            value = _of_part(kind.parameters[1], entry, depth)
            return Size(length, value, LABEL_KEY_BYTES_MAX)
        case "string" | "bytes" | "dyn":
            return Size(length if length > 1 else TEXT_BYTES_MAX)
    return Size(RANGES[kind.name][1]) if kind.name in RANGES else _of_record(kind.name, depth)


def _of_part(kind: Type, entry: int, depth: int) -> Size:
    if kind.name in ("string", "bytes", "dyn"):
        return Size(entry)
    return _of_type(kind, RECORD_ITEMS_MAX, entry, depth - 1) if depth else SCALAR


@cache
def _of_record(name: str, depth: int) -> Size:
    described = CATALOGUE.object_type(Type(name))
    if described is None or not described.record or not depth:
        return SCALAR
    members = described.members.values()
    fields = [_of_type(each.result, each.size, each.entry_size, depth - 1) for each in members]
    return Size(len(fields), largest(fields), max(map(len, described.members), default=1))


def made(kind: Type, size: Size) -> int:
    """What making the list or map takes that reading a fact or a member gives."""
    match kind.name:
        case "list":
            return times(size.length, ITEM_MADE + made(kind.parameters[0], size.inside))
        case "map":
            return times(size.length, ENTRY_MADE + made(kind.parameters[1], size.inside))
    if kind.name in RANGES:
        return size.length * ITEM_MADE
    return _made_record(kind.name, RECORD_DEPTH_MAX)


@cache
def _made_record(name: str, depth: int) -> int:
    described = CATALOGUE.object_type(Type(name))
    if described is None or not described.record or not depth:
        return 0
    return sum(
        ENTRY_MADE + made(member.result, of_member(member)) for member in described.members.values()
    )
