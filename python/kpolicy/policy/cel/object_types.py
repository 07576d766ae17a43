"""Objects that expressions read, as types: their members, and when each is known.

The types of the short facts are rows of `facts`; those of the API objects are read here from the
packed Kubernetes schema. Times are timestamps, quantities are strings (`quantity(…)` reads them),
and what may be a number or a string is `dyn`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from kpolicy.policy.cel import api_schema
from kpolicy.policy.cel.types import (
    BOOL,
    DOUBLE,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
)


class Time(IntEnum):
    """When a value can be known, earliest first."""

    CONST = 0
    PARAMS = 1
    CLUSTER = 2
    POD = 3
    NODE_CLASS = 4
    NODE = 5
    DOMAIN = 6


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object.

    `entries` is set for maps whose entries are facts of their own, named with `[]` behind;
    `column` says what the engine has for all nodes at once: `int`, `double`, `bool`, `text`,
    `classes`, or nothing. `of_root` names the root that must stand as the only argument and is
    not passed on.
    """

    result: Type
    params: tuple[Type, ...] = ()
    optional: int = 0
    time: Time = Time.CONST
    column: str = ""
    entries: bool = False
    unit_by_resource: bool = False
    size: int = 1
    entry_size: int = 63
    cost: int = 1
    of_root: str = ""
    method: bool = False
    # A part of the API object itself: read of the facts of a root only, never of a value.
    by_api_path: bool = False


@dataclass(frozen=True, slots=True)
class ObjectType:
    """`record`: its values are plain maps in the engine, their members fields."""

    name: str
    members: Mapping[str, Member]
    record: bool = False

    @property
    def type(self) -> Type:
        return Type(self.name)


# Prefix of the API's types: `v1.Container` is not the `Container` of the short facts.
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


API_RECORDS: Final = tuple(
    ObjectType(_PREFIX + name, MappingProxyType(members), record=True)
    for name, members in _ALL.items()
)
