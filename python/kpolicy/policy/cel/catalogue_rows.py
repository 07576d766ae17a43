"""What a row of the catalogue of facts holds.

Owns the binding times, members and types of objects. Must not know which there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from .types import Type


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
