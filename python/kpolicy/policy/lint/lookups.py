"""Lookups that nothing guards, such as `node.labels['zone']` where the label may be absent.

`Terms` numbers trees by structure: equal numbers mean equal values, for one pod and one node.

A guard is a test that must have held when the lookup is evaluated: `'k' in m && m['k'] == 'v'`,
`!('k' in m) || …`, `'k' in m ? … : …`, in any order, also by way of variables and conditions. A
lookup is reported once, at its first place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import reduce
from typing import Final, TypeAlias, TypeGuard, assert_never

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
from kpolicy.quick_dataclass import dataclass

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
    # The trees are kept, so that their ids are not used again.
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
        label = label_of_domain(tree)
        if label is not None:
            return self._numbered("entry", "node.labels[]", self.number(label, within))
        if isinstance(read, Fact) and is_optional(name):
            return self._numbered("entry", name)
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
        """All that distinguishes a node, except its operands."""
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


def is_optional(name: str) -> bool:
    """A fact of its own that need not be there."""
    return name == "pod.controllerReplicas"


def _may_lack(name: str) -> bool:
    """Members of an object that need not be there."""
    return name.endswith((".controller.kind", ".controller.name"))


def label_of_domain(tree: Tree) -> Tree | None:
    """The topology key of a fact of a domain, which is absent on nodes without that label."""
    read = read_of(tree)
    is_of_domain = isinstance(read, Fact) and read.name.startswith("node.domain.") and read.args
    return read.args[0] if read is not None and is_of_domain else None


def is_lookup(tree: Tree) -> TypeGuard[LookupNode]:
    """Whether reading this is an error where the key, or the object, is absent."""
    match tree:
        case Fact(name=name):
            is_of_domain = label_of_domain(tree) is not None
            return name.endswith("[]") or _may_lack(name) or is_optional(name) or is_of_domain
        case MemberRead(name=name):
            return name.endswith("[]")
        case Field(operand=holder):
            return holder.type.name == "map"
        case Call(name=name):
            return name == "index_map"
    return False


# Numbers of the keys that exist; None for an impossible case, from which everything follows.
KnownKeys: TypeAlias = frozenset[int] | None
NOTHING: Final[frozenset[int]] = frozenset()

STEPS_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class Lookup:
    """`within` is the variable in whose text `tree` stands; empty for the expression itself."""

    tree: LookupNode
    within: str


def both(a: KnownKeys, b: KnownKeys) -> KnownKeys:
    return None if a is None or b is None else a | b


def either(a: KnownKeys, b: KnownKeys) -> KnownKeys:
    if a is None:
        return b
    return a if b is None else a & b


@dataclass(slots=True)
class Guards:
    """The keys that exist if an expression has a value; `terms` numbers the trees."""

    terms: Terms
    # Variables that use variables could take very long: after these steps the rest is unchecked.
    steps_left: int = STEPS_MAX
    _implied: dict[tuple[int, bool, str], tuple[Tree, KnownKeys]] = field(default_factory=dict)
    _evaluated: dict[tuple[int, str], tuple[Tree, frozenset[int]]] = field(default_factory=dict)

    def implied(self, tree: Tree, value: bool, within: str = "") -> KnownKeys:
        """The keys that exist if `tree` is `value`, provided that it has no error."""
        key = (id(tree), value, within)
        known = self._implied.get(key)
        if known is None:
            known = (tree, self._of(tree, value, within))
            self._implied[key] = known
        return known[1]

    def _of(self, tree: Tree, value: bool, within: str) -> KnownKeys:
        match tree:
            case Constant(value=bool()) if is_literal(tree):
                return NOTHING if tree.value is value else None
            case Variable(value=meant, name=name):
                return self.implied(meant, value, f"variables.{name}")
            case Call("not_bool", (operand,)):
                return self.implied(operand, not value, within)
            case And() | Or():
                return self._logic(tree, value, within)
            case Conditional(test=test, yes=yes, no=no):
                return either(
                    both(self.implied(test, True, within), self.implied(yes, value, within)),
                    both(self.implied(test, False, within), self.implied(no, value, within)),
                )
            case Present() | Has() | Call("in_map"):
                number = self.terms.presence(tree, within)
                return frozenset((number,)) if value and number is not None else NOTHING
            case Call("equals_any" | "not_equals_any", (left, right)):
                is_equal = value is (tree.name == "equals_any")
                return self._comparison(left, right, is_equal, within)
        return NOTHING

    def _logic(self, tree: And | Or, value: bool, within: str) -> KnownKeys:
        """All operands of `&&` are true, or one is false; `||` the other way round."""
        parts = (self.implied(arg, value, within) for arg in tree.args)
        return reduce(both if value is isinstance(tree, And) else either, parts)

    def _comparison(self, left: Tree, right: Tree, is_equal: bool, within: str) -> KnownKeys:
        """`label(x, 'k') == 'v'`: of the two branches only one can be equal."""
        for side, other in ((left, right), (right, left)):
            if not isinstance(side, Conditional) or not is_literal(other):
                continue
            possible = (
                self.implied(side.test, holds, within)
                for branch, holds in ((side.yes, True), (side.no, False))
                if not is_literal(branch) or (branch.value == other.value) is is_equal
            )
            return reduce(either, possible, None)
        return NOTHING

    def evaluated(self, tree: Tree, within: str = "") -> frozenset[int]:
        """The keys that exist if `tree` can be evaluated without an error."""
        known = self._evaluated.get((id(tree), within))
        if known is None:
            known = (tree, self._looked_up(tree, within))
            self._evaluated[id(tree), within] = known
        return known[1]

    def _looked_up(self, tree: Tree, within: str) -> frozenset[int]:
        match tree:
            case Variable(value=value, name=name):
                return self.evaluated(value, f"variables.{name}")
            case And() | Or() | Loop() | OrValue() | OrOptional():
                return NOTHING
            case Conditional(test=test, yes=yes, no=no):
                branches = self.evaluated(yes, within) & self.evaluated(no, within)
                return self.evaluated(test, within) | branches
        found = NOTHING.union(*(self.evaluated(operand, within) for operand in tree.operands))
        number = self.terms.presence(tree, within) if is_lookup(tree) else None
        return found if number is None else found | {number}


def unguarded(
    guards: Guards, tree: Tree, known: KnownKeys = NOTHING, within: str = ""
) -> Iterator[Lookup]:
    """The lookups in `tree` that may lack their key when it is evaluated, each key once."""
    seen: set[int] = set()
    for lookup, number in _walk(guards, tree, known, within):
        if number not in seen:
            seen.add(number)
            yield lookup


def _walk(
    guards: Guards, tree: Tree, known: KnownKeys, within: str
) -> Iterator[tuple[Lookup, int]]:
    guards.steps_left -= 1
    if known is None or guards.steps_left < 0:
        return  # never evaluated, or too many steps
    match tree:
        case Variable(value=value, name=name):
            yield from _walk(guards, value, known, f"variables.{name}")
            return
        case And() | Or():
            yield from _walk_logic(guards, tree, known, within)
            return
        case Conditional(test=test):
            yield from _walk(guards, test, known, within)
            tested = known | guards.evaluated(test, within)
            for branch, holds in ((tree.yes, True), (tree.no, False)):
                inside = both(tested, guards.implied(test, holds, within))
                yield from _walk(guards, branch, inside, within)
            return
    for operand in tree.operands:
        yield from _walk(guards, operand, known, within)
    if is_lookup(tree) and not _is_known_key(tree):
        number = guards.terms.presence(tree, within)
        if number is not None and number not in known:
            yield Lookup(tree, within), number


def _walk_logic(
    guards: Guards, tree: And | Or, known: frozenset[int], within: str
) -> Iterator[tuple[Lookup, int]]:
    """An error of an operand counts only if no other operand settles the result."""
    neutral = isinstance(tree, And)
    done = known
    for index, arg in enumerate(tree.args):
        inside: KnownKeys = done
        for other, operand in enumerate(tree.args):
            if other != index:
                inside = both(inside, guards.implied(operand, neutral, within))
        yield from _walk(guards, arg, inside, within)
        done |= guards.evaluated(arg, within)


def _is_known_key(tree: LookupNode) -> bool:
    """Whether the map is a literal, or a parameter's value, that has the key."""
    match tree:
        case Field(operand=NewMap(args=args), name=name):
            return name in {literal_text(key) for key in args[::2]}
        case Field(operand=Constant(value=dict() as value), name=name):
            return name in value
    return False
