"""Which parts of expressions are the same.

Numbers trees by structure: equal numbers mean equal values, for one pod and one node, as checked
trees are pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard, assert_never

from kpolicy.policy.cel.tree import (
    And,
    Bind,
    Call,
    Conditional,
    Constant,
    Fact,
    Failing,
    Field,
    Has,
    Loop,
    MemberRead,
    NewList,
    NewMap,
    OptionalField,
    Or,
    OrOptional,
    OrValue,
    Present,
    Read,
    Reported,
    Slot,
    Tree,
    Variable,
    read_of,
)

# Nodes that may look up a key: reading them errs where the key, or the object, is absent.
LookupNode: TypeAlias = Fact | MemberRead | Field | Call


def is_literal(tree: Tree) -> TypeGuard[Constant]:
    """A constant that is written there; a parameter's value may change without the text."""
    return isinstance(tree, Constant) and not tree.parameter


def literal_text(tree: Tree) -> str | None:
    """The text of a string that is written there; None of anything else."""
    return tree.value if is_literal(tree) and isinstance(tree.value, str) else None


@dataclass(slots=True)
class Terms:
    """Numbers for the trees of one run. `within` is the policy variable whose text they are of."""

    _numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    # The trees are kept, so that their ids stay theirs.
    _known: dict[tuple[int, str], tuple[Tree, int]] = field(default_factory=dict)

    def number(self, tree: Tree, within: str = "") -> int:
        known = self._known.get((id(tree), within))
        if known is not None:
            return known[1]
        if isinstance(tree, Variable):
            number = self.number(tree.value, f"variables.{tree.name}")
        else:
            number = self._numbered(*self._form(tree, within), *self._operands(tree, within))
        self._known[id(tree), within] = (tree, number)
        return number

    def presence(self, tree: Tree, within: str = "") -> int | None:
        """The number of what `tree` looks up, or asks the presence of; None if it does neither."""
        read = read_of(tree)
        if read is not None:
            return self._entry(tree, read, within)
        match tree:
            case Field(operand=holder, name=name) | Has(operand=holder, name=name):
                if holder.type.name == "map":
                    key = self._numbered("constant", "string", "", repr(name))
                    return self._numbered("in", self.number(holder, within), key)
            case Call("index_map", (holder, index)) | Call("in_map", (index, holder)):
                return self._numbered("in", self.number(holder, within), self.number(index, within))
        return None

    def _entry(self, tree: Tree, read: Read, within: str) -> int | None:
        name = read.name
        if isinstance(read, Fact) and _may_lack(name):
            name = name.rpartition(".")[0]
        elif not name.endswith("[]"):
            is_controller = isinstance(read, Fact) and name.endswith(".controller")
            is_test = isinstance(tree, Present)
            return self._numbered("entry", name) if is_controller and is_test else None
        return self._numbered("entry", name, *self._operands(tree, within))

    def _operands(self, tree: Tree, within: str) -> list[int]:
        return [self.number(operand, within) for operand in tree.operands]

    def _form(self, tree: Tree, within: str) -> tuple[object, ...]:
        """What a node is, beside its operands."""
        match tree:
            case Constant(value=value, parameter=parameter):
                return "constant", tree.type.name, parameter, repr(value)
            case Fact() | MemberRead() | Call() | Field() | Has() | OptionalField():
                return type(tree), tree.name
            case Present(read=read):
                return Present, type(read), read.name
            case Failing(message=message):
                return Failing, message
            case NewList() | NewMap():
                return type(tree), tree.optional
            case Loop(kind=kind, slots=slots):
                return Loop, kind, within, slots
            case Bind(slot=slot) | Slot(slot=slot):
                return type(tree), within, slot
            case And() | Or() | Conditional() | OrValue() | OrOptional() | Reported() | Variable():
                return (type(tree),)
            case _:
                assert_never(tree)

    def _numbered(self, *form: object) -> int:
        return self._numbers.setdefault(form, len(self._numbers))


def _may_lack(name: str) -> bool:
    """Members of an object that need not be there."""
    return name.endswith((".controller.kind", ".controller.name"))


def is_lookup(tree: Tree) -> TypeGuard[LookupNode]:
    """Whether reading this is an error where the key, or the object, is absent."""
    match tree:
        case Fact(name=name):
            return name.endswith("[]") or _may_lack(name)
        case MemberRead(name=name):
            return name.endswith("[]")
        case Field(operand=holder):
            return holder.type.name == "map"
        case Call(name=name):
            return name == "index_map"
    return False
