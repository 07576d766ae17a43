"""What a row of the function tables holds, and the overloads that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from kpolicy.policy.cel.types import Type, parse_type

# Suffix of the overload id, types of the operands, type of the result. Types have no spaces.
Row: TypeAlias = tuple[str, str, str]

GLOBAL: Final = (False,)
MEMBER: Final = (True,)
BOTH: Final = (False, True)


@dataclass(frozen=True, slots=True)
class Family:
    """Overloads of one function that the engine implements together.

    `cost` says what a call costs: `unit`; `text`, by the length of its operands; `same`, by that of
    the shorter one; `regex`; `items`,
    by the number of items; `product`, by those of the first times those of the second.
    `pattern` is the index of the operand that is a regular expression, `checked` the operand whose
    constant is checked while compiling, by the name of the check.
    """

    id: str
    function: str
    rows: tuple[Row, ...]
    styles: tuple[bool, ...] = GLOBAL
    cost: str = "unit"
    pattern: int | None = None
    checked: str = ""


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


def overloads_of(family: Family) -> list[Overload]:
    def made(suffix: str, params: str, result: str, member: bool) -> Overload:
        types = tuple(_parsed(param) for param in params.split())
        identity = f"{family.id}_{suffix}"
        return Overload(identity, family.function, member, types, _parsed(result), family)

    return [made(*row, member) for row in family.rows for member in family.styles]
