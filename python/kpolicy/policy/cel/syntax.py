"""The syntax tree of an expression: what was written, with spans and without meaning.

Macros are calls, and operators are calls of names such as `_+_`. `&&` and `||` hold all operands
of a chain, so that a long chain is not deep.
"""

from __future__ import annotations

from dataclasses import field
from typing import Final, TypeAlias

from kpolicy.diagnostics import Span
from kpolicy.quick_dataclass import dataclass

AND: Final = "_&&_"
OR: Final = "_||_"
CONDITIONAL: Final = "_?_:_"


@dataclass(frozen=True, slots=True)
class Literal:
    """`kind` is the name of a type: null, bool, int, uint, double, string or bytes."""

    span: Span
    kind: str
    value: bool | int | float | str | bytes | None
    depth: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Identifier:
    span: Span
    name: str
    absolute: bool = False
    depth: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.name`, or `operand.?name`."""

    span: Span
    operand: Expression
    name: str
    name_span: Span
    optional: bool
    depth: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[index]`, or `operand[?index]`."""

    span: Span
    operand: Expression
    index: Expression
    optional: bool
    depth: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """`name(args)`, `target.name(args)`, or an operator."""

    span: Span
    name: str
    name_span: Span
    target: Expression | None
    args: tuple[Expression, ...]
    depth: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class ListLiteral:
    span: Span
    items: tuple[Expression, ...]
    optional: tuple[bool, ...]
    depth: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Entry:
    key: Expression
    value: Expression
    optional: bool


@dataclass(frozen=True, slots=True)
class MapLiteral:
    span: Span
    entries: tuple[Entry, ...]
    depth: int = field(default=1, compare=False)


Expression: TypeAlias = Literal | Identifier | Select | Index | Call | ListLiteral | MapLiteral
