"""The static types of expressions, their text and JSON forms, and which type fits where.

An int may carry a unit (milli-cpu, bytes). Comparing types ignores the unit.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, Final

from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """A name and parameters; one upper-case letter is a type parameter of an overload."""

    name: str
    parameters: tuple[Type, ...] = ()
    unit: str = field(default="", compare=False)

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.parameters))
        text = f"{self.name}({inner})" if inner else self.name
        return f"{text} ({self.unit})" if self.unit else text

    def with_unit(self, unit: str) -> Type:
        return replace(self, unit=unit)

    @property
    def is_parameter(self) -> bool:
        return len(self.name) == 1 and self.name.isupper()

    def json(self) -> Any:
        """The form the IR carries."""
        if not self.parameters:
            return self.name
        return [self.name, *(parameter.json() for parameter in self.parameters)]


DYN: Final = Type("dyn")
# The type of a part that has been reported: it fits everywhere, so that no further error follows.
ERROR: Final = Type("error")
NULL: Final = Type("null")
BOOL: Final = Type("bool")
INT: Final = Type("int")
UINT: Final = Type("uint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BYTES: Final = Type("bytes")
TIMESTAMP: Final = Type("timestamp")
TYPE: Final = Type("type")
SELECTOR: Final = Type("selector")
# Used in overloads only: any of int, uint and double.
NUMBER: Final = Type("number")
NUMBERS: Final = (INT, UINT, DOUBLE)

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1
_ARITY: Final = {"list": 1, "map": 2, "optional": 1}
_DEPTH_MAX: Final = 8


# Types nested deeper than this are refused: all work on types grows with their depth.
TYPE_DEPTH_MAX: Final = 80


def depth_of(kind: Type) -> int:
    return 1 + max(map(depth_of, kind.parameters), default=0)


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(inner: Type) -> Type:
    return Type("optional", (inner,))


def parse_type(text: str) -> Type | None:
    """Reads `map(string, list(int))`; `None` when it is not a type."""
    parsed, rest = _parse(text.replace(" ", ""), _DEPTH_MAX)
    return parsed if not rest else None


def _parse(text: str, depth: int) -> tuple[Type | None, str]:
    if depth == 0:
        return None, text
    end = next((at for at, mark in enumerate(text) if mark in "(),"), len(text))
    name, rest = text[:end], text[end:]
    if not name.isidentifier():
        return None, text
    parameters: list[Type] = []
    for position in range(_ARITY.get(name, 0)):
        if not rest.startswith("(" if position == 0 else ","):
            return None, rest
        parameter, rest = _parse(rest[1:], depth - 1)
        if parameter is None:
            return None, rest
        parameters.append(parameter)
    if parameters:
        if not rest.startswith(")"):
            return None, rest
        rest = rest[1:]
    return Type(name, tuple(parameters)), rest


def fits(actual: Type, expected: Type, bound: dict[str, Type]) -> bool:
    """Whether `actual` may stand where `expected` is; binds type parameters as it goes."""
    if actual in (DYN, ERROR) or expected in (DYN, ERROR):
        return True
    if expected == NUMBER:
        return actual in NUMBERS
    if expected.is_parameter:
        before = bound.get(expected.name)
        if before is None or before == DYN:
            bound[expected.name] = actual
            return True
        return fits(actual, before, {}) or fits(before, actual, {})
    if actual.name != expected.name or len(actual.parameters) != len(expected.parameters):
        return False
    return all(map(lambda a, b: fits(a, b, bound), actual.parameters, expected.parameters))


def substituted(kind: Type, bound: dict[str, Type]) -> Type:
    """The type with its parameters bound; `dyn` for those that nothing bound."""
    if kind.is_parameter:
        return bound.get(kind.name, DYN)
    if not kind.parameters:
        return kind
    return replace(kind, parameters=tuple(substituted(p, bound) for p in kind.parameters))


def joined(kinds: list[Type]) -> Type:
    """The common type of values of these types; `dyn` if there is none."""
    if not kinds:
        return DYN
    first = next((kind for kind in kinds if kind != ERROR), ERROR)
    for kind in kinds:
        if kind in (first, ERROR):
            continue
        if kind.name == first.name and len(kind.parameters) == len(first.parameters):
            pairs = zip(first.parameters, kind.parameters, strict=True)
            first = replace(first, parameters=tuple(joined([a, b]) for a, b in pairs))
        else:
            return DYN
    return first if len({kind.unit for kind in kinds}) == 1 else first.with_unit("")


def has_dyn(kind: Type) -> bool:
    return kind == DYN or any(map(has_dyn, kind.parameters))
