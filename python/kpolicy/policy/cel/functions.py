"""The overloads of every function, as data.

Owns the joined table and its look-ups; the rows are in `functions_*.py`, a family of functions a
file. Assumes that the engine has the same ids (a conformance test compares the two tables). Must
not know how a function is evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from . import functions_extended, functions_kubernetes, functions_named, functions_standard
from .rows import Family
from .types import Type, parse_type


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature. `params` include the receiver of a method."""

    id: str
    function: str
    member: bool
    params: tuple[Type, ...]
    result: Type
    family: Family


def _parsed(text: str) -> Type:
    kind = parse_type(text)
    assert kind is not None, text
    return kind


def _overloads(family: Family) -> list[Overload]:
    def made(suffix: str, params: str, result: str, member: bool) -> Overload:
        types = tuple(_parsed(param) for param in params.split())
        identity = f"{family.id}_{suffix}"
        return Overload(identity, family.function, member, types, _parsed(result), family)

    return [made(*row, member) for row in family.rows for member in family.styles]


FAMILIES: Final[tuple[Family, ...]] = (
    *functions_standard.FAMILIES,
    *functions_extended.FAMILIES,
    *functions_kubernetes.FAMILIES,
    *functions_named.FAMILIES,
)

_BY_NAME: Final[dict[tuple[str, bool], list[Overload]]] = {}
for _family in FAMILIES:
    for _overload in _overloads(_family):
        _BY_NAME.setdefault((_overload.function, _overload.member), []).append(_overload)

BY_NAME: Final = MappingProxyType({key: tuple(value) for key, value in _BY_NAME.items()})
NAMES: Final = frozenset(name for name, _ in BY_NAME if name[0].isalpha())


def candidates(function: str, member: bool) -> tuple[Overload, ...]:
    return BY_NAME.get((function, member), ())


def signatures() -> list[str]:
    """A line for each overload, `id(operands) result`, in the engine's words: heads of types."""
    lines = {
        f"{overload.id}({' '.join(map(_head, overload.params))}) {_head(overload.result)}"
        for overloads in BY_NAME.values()
        for overload in overloads
    }
    return sorted(lines)


def _head(kind: Type) -> str:
    return "dyn" if kind.is_parameter or kind.name == "number" else kind.name
