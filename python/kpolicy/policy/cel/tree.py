"""The checked tree: what an expression means, before it is laid out as IR.

One class for each kind of node. The checker makes the nodes: their types agree, macros have become
loops, and names have become facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from enum import StrEnum
from typing import Any, TypeAlias, cast

from kpolicy.diagnostics import Span
from kpolicy.policy.cel.facts import Time
from kpolicy.policy.cel.sizes import SCALAR, Size
from kpolicy.policy.cel.types import (
    Type,
)
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """What every node has.

    `time` is when its value is known, `size` bounds the value, and `cost` is what a call or a read
    adds to its operands.
    """

    type: Type
    span: Span
    time: Time = Time.CONST
    size: Size = SCALAR
    cost: int = 1

    @property
    def operands(self) -> tuple[Tree, ...]:
        """The nodes that it is evaluated from, in the order of the IR."""
        return ()


@dataclass(frozen=True, slots=True)
class _NodeWithArgs(_Node):
    args: tuple[Tree, ...]

    @property
    def operands(self) -> tuple[Tree, ...]:
        return self.args


@dataclass(frozen=True, slots=True)
class Constant(_Node):
    """A literal, or the value of a policy's parameter, which `parameter` then names."""

    value: Any
    parameter: str = ""


@dataclass(frozen=True, slots=True)
class Reported(_Node):
    """Stands for a part that has been reported as an error. It never becomes IR."""


@dataclass(frozen=True, slots=True)
class Failing(_Node):
    """Always errs with `message`: what the checker would refuse in an unchecked expression."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadNode(_NodeWithArgs):
    """`column` is what the engine has for all nodes at once; see `Member` of the catalogue.

    `has_entries`: its value is a map whose entries are facts of their own; `reads_absent`: an entry
    that is absent reads as empty.
    """

    name: str
    column: str = ""
    has_entries: bool = False
    reads_absent: bool = False


@dataclass(frozen=True, slots=True)
class Fact(_ReadNode):
    """A value of the cluster, by its path from a root; `args` are those of the whole path."""


@dataclass(frozen=True, slots=True)
class MemberRead(_ReadNode):
    """A member of an object that is no fact, such as a pod of a loop: `args` begin with it."""


Read: TypeAlias = Fact | MemberRead


@dataclass(frozen=True, slots=True)
class Present(_Node):
    """Whether what `read` would read is there."""

    read: Read

    @property
    def operands(self) -> tuple[Tree, ...]:
        return self.read.args


@dataclass(frozen=True, slots=True)
class Call(_Node):
    """A call of the function with the overload id `name`."""

    name: str
    args: tuple[Tree, ...]

    @property
    def operands(self) -> tuple[Tree, ...]:
        return self.args


@dataclass(frozen=True, slots=True)
class And(_NodeWithArgs):
    """`&&` of two or more operands."""


@dataclass(frozen=True, slots=True)
class Or(_NodeWithArgs):
    """`||` of two or more operands."""


@dataclass(frozen=True, slots=True)
class Conditional(_Node):
    """`test ? yes : no`."""

    test: Tree
    yes: Tree
    no: Tree

    @property
    def operands(self) -> tuple[Tree, ...]:
        return self.test, self.yes, self.no


@dataclass(frozen=True, slots=True)
class _Fallback(_Node):
    optional: Tree
    other: Tree

    @property
    def operands(self) -> tuple[Tree, ...]:
        return self.optional, self.other


@dataclass(frozen=True, slots=True)
class OrValue(_Fallback):
    """`optional.orValue(other)`."""


@dataclass(frozen=True, slots=True)
class OrOptional(_Fallback):
    """`optional.or(other)`."""


@dataclass(frozen=True, slots=True)
class _Collection(_NodeWithArgs):
    """`optional` are the indices of items or entries that are optionals."""

    optional: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NewList(_Collection):
    """A list of `args`."""


@dataclass(frozen=True, slots=True)
class NewMap(_Collection):
    """A map: `args` are a key, its value, the next key and so on."""


@dataclass(frozen=True, slots=True)
class _OfField(_Node):
    operand: Tree
    name: str

    @property
    def operands(self) -> tuple[Tree, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Field(_OfField):
    """`operand.name`, of a map or an object."""


@dataclass(frozen=True, slots=True)
class Has(_OfField):
    """`has(operand.name)`."""


@dataclass(frozen=True, slots=True)
class OptionalField(_OfField):
    """`operand.?name`."""


@dataclass(frozen=True, slots=True)
class Slot(_Node):
    """A use of a variable that a loop or `cel.bind` binds."""

    slot: int


class LoopKind(StrEnum):
    """The result of a loop over its items, by the engine's names."""

    ALL = "all"
    EXISTS = "exists"
    EXISTS_ONE = "exists_one"
    FILTER = "filter"
    MAP = "map"
    TRANSFORM_MAP = "transform_map"
    TRANSFORM_MAP_ENTRY = "transform_map_entry"
    SORT_BY = "sort_by"
    OPTIONAL_MAP = "optional_map"
    OPTIONAL_FLAT_MAP = "optional_flat_map"


@dataclass(frozen=True, slots=True)
class Loop(_Node):
    """A macro that visits each item of `over`; slot numbers are unique within one compilation."""

    kind: LoopKind
    over: Tree
    # A test, if the kind has one, and the body.
    body: tuple[Tree, ...]
    slots: tuple[int, ...]

    @property
    def operands(self) -> tuple[Tree, ...]:
        return self.over, *self.body


@dataclass(frozen=True, slots=True)
class Bind(_Node):
    """`cel.bind(name, value, body)`."""

    value: Tree
    body: Tree
    slot: int

    @property
    def operands(self) -> tuple[Tree, ...]:
        return self.value, self.body


@dataclass(frozen=True, slots=True)
class Variable(_Node):
    """A use of a policy's variable; `value` has the spans of the variable's own text."""

    name: str
    value: Tree

    @property
    def operands(self) -> tuple[Tree, ...]:
        return (self.value,)


Tree: TypeAlias = (
    Constant
    | Reported
    | Failing
    | Fact
    | MemberRead
    | Present
    | Call
    | And
    | Or
    | Conditional
    | OrValue
    | OrOptional
    | NewList
    | NewMap
    | Field
    | Has
    | OptionalField
    | Slot
    | Loop
    | Bind
    | Variable
)


def latest(trees: Iterable[Tree]) -> Time:
    """When all of them are known."""
    return max((tree.time for tree in trees), default=Time.CONST)


def text_of(tree: Tree) -> str | None:
    """The text of a constant; None of anything else."""
    return tree.value if isinstance(tree, Constant) and isinstance(tree.value, str) else None


def read_of(tree: Tree) -> Read | None:
    """The fact that a node reads, or tests the presence of; None if it does neither."""
    read = tree.read if isinstance(tree, Present) else tree
    return read if isinstance(read, Read) else None


def own_operands(tree: Tree) -> tuple[Tree, ...]:
    """The operands in the same text: none of a variable, whose value has a text of its own."""
    return () if isinstance(tree, Variable) else tree.operands


def own_nodes(tree: Tree) -> Iterator[Tree]:
    """The tree and all that is below it in the same text, from left to right."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(own_operands(node)))


def at_span(tree: Tree, span: Span) -> Tree:
    """The tree as if all of it were written at `span`; policy variables keep their own text."""
    if isinstance(tree, Variable):
        return replace(tree, span=span)
    changes = {
        field.name: _moved(getattr(tree, field.name), span)
        for field in fields(tree)
        if field.name != "span"
    }
    return replace(tree, span=span, **changes)


def _moved(value: Any, span: Span) -> Any:
    if isinstance(value, _Node):
        return at_span(cast("Tree", value), span)
    is_nodes = isinstance(value, tuple) and value and isinstance(value[0], _Node)
    return tuple(at_span(node, span) for node in value) if is_nodes else value
