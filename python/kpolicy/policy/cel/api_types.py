"""The API objects as types: fields by their API paths, as the Kubernetes schema has them.

Owns how the packed schema becomes rows of the catalogue. Times are timestamps, quantities are
strings (`quantity(…)` reads them), what may be a number or a string is `dyn`. Must not know how a
value is kept or found.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from . import api_schema
from .catalogue_rows import Member, ObjectType, Time
from .types import BOOL, DOUBLE, DYN, INT, STRING, TIMESTAMP, Type, list_of, map_of

# Before the names of the API's types, so that `Container` is not the short facts' one.
_PREFIX: Final = "v1."
_SCALARS: Final = {
    "b": BOOL,
    "d": DYN,
    "i": INT,
    "n": DOUBLE,
    "q": STRING,
    "s": STRING,
    "t": TIMESTAMP,
}
# Bounds of what one value may hold, for the cost.
_ITEMS_MAX: Final = 64
_ENTRIES_MAX: Final = 128
_TEXT_BYTES_MAX: Final = 253
_ENTRY_BYTES_MAX: Final = 63


def _type(packed: str) -> Type:
    if packed.startswith("["):
        return list_of(_type(packed[1:]))
    if packed.startswith("{"):
        return map_of(STRING, _type(packed[1:]))
    return _SCALARS.get(packed) or Type(_PREFIX + packed)


def _member(packed: str) -> Member:
    kind = _type(packed)
    if kind.name == "list":
        return Member(kind, size=_ITEMS_MAX)
    if kind.name == "map":
        return Member(kind, entries=True, size=_ENTRIES_MAX, entry_size=_ENTRY_BYTES_MAX)
    return Member(kind, size=_TEXT_BYTES_MAX if kind == STRING else 1)


def _lines() -> list[str]:
    return api_schema.TYPES.replace("\n ", " ").split("\n")


def _fields(line: str) -> tuple[str, dict[str, Member]]:
    name, *fields = line.split()
    pairs = (field.split(":", 1) for field in fields)
    return name, {field: _member(packed) for field, packed in pairs}


_ALL: Final = dict(_fields(line) for line in _lines() if line)


def parts_of(kind: str, time: Time) -> dict[str, Member]:
    """`metadata`, `spec` and `status` of Pod, Node or Namespace."""
    return {
        name: Member(member.result, time=time, by_api_path=True)
        for name, member in _ALL[kind].items()
    }


RECORDS: Final = tuple(
    ObjectType(_PREFIX + name, MappingProxyType(members), record=True)
    for name, members in _ALL.items()
)
