"""Bool expressions as cases, to prove that two of them cannot both hold.

A tree becomes a disjunction of cases, each a set of constraints on terms that all hold: intervals,
sets of texts, or the order of a pair. A case that contradicts itself is dropped; no case left means
never true. What is not understood is a term of its own; beyond a bound of cases nothing is proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from itertools import chain
from typing import Any, Final, TypeAlias

from kpolicy.policy.cel.tree import (
    And,
    Call,
    Conditional,
    Constant,
    Fact,
    Field,
    Loop,
    MemberRead,
    NewList,
    Or,
    OrValue,
    Tree,
    Variable,
)
from kpolicy.policy.lint.intervals import (
    EQUAL,
    GREATER,
    LESS,
    ORDERS,
    Interval,
    half_line,
    results_of,
)
from kpolicy.policy.lint.lookups import Terms, is_literal, is_lookup
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Values:
    """The value is one of these, or none of these."""

    values: frozenset[Any]
    is_one_of: bool = True

    def meet(self, other: Values) -> Values | None:
        if self.is_one_of and other.is_one_of:
            met = Values(self.values & other.values)
        elif self.is_one_of:
            met = Values(self.values - other.values)
        elif other.is_one_of:
            met = Values(other.values - self.values)
        else:
            return Values(self.values | other.values, is_one_of=False)
        return met if met.values else None


Domain: TypeAlias = Interval | Values


def _meet(a: Domain, b: Domain | None) -> Domain | None:
    if isinstance(a, Interval) and isinstance(b, Interval):
        return a.meet(b)
    if isinstance(a, Values) and isinstance(b, Values):
        return a.meet(b)
    return a  # constraints of different kinds: nothing follows


Case: TypeAlias = dict[object, Domain]
# None: there are too many cases to prove anything.
Cases: TypeAlias = list[Case] | None

CASES_MAX: Final = 48
STEPS_MAX: Final = 20_000
_TRUE: Final = Values(frozenset({True}))
_ORDER: Final = {
    "less": LESS,
    "less_equals": LESS | EQUAL,
    "greater": GREATER,
    "greater_equals": GREATER | EQUAL,
    "equals": EQUAL,
    "not_equals": LESS | GREATER,
}
_TURNED: Final = {"<": ">", ">": "<", "=": "="}
_NUMBERS: Final = frozenset({"int", "uint"})


@dataclass(slots=True)
class Formulas:
    terms: Terms
    steps_left: int = STEPS_MAX
    _known: dict[tuple[int, bool, str], tuple[Tree, Cases]] = field(default_factory=dict)

    def cases(self, tree: Tree, value: bool = True, within: str = "") -> Cases:
        """The cases in which `tree` is `value`."""
        key = (id(tree), value, within)
        known = self._known.get(key)
        if known is None:
            self.steps_left -= 1
            known = (tree, self._cases(tree, value, within) if self.steps_left > 0 else None)
            self._known[key] = known
        return known[1]

    def _cases(self, tree: Tree, value: bool, within: str) -> Cases:
        match tree:
            case Constant(value=bool()) if is_literal(tree):
                return [{}] if tree.value is value else []
            case Variable(value=meant, name=name) if not isinstance(meant, Constant):
                return self.cases(meant, value, f"variables.{name}")
            case Call("not_bool", (operand,)):
                return self.cases(operand, not value, within)
            case And() | Or():
                parts = [self.cases(arg, value, within) for arg in tree.args]
                is_all = value is isinstance(tree, And)
                return conjunction(parts) if is_all else disjunction(parts)
            case Conditional(test=test):
                return disjunction(
                    conjunction([self.cases(test, holds, within), self.cases(part, value, within)])
                    for part, holds in ((tree.yes, True), (tree.no, False))
                )
            case Call(args=(_, _)):
                return self._compared(tree, value, within)
        return self._opaque(tree, value, within)

    def _opaque(self, tree: Tree, value: bool, within: str) -> Cases:
        number = self.terms.presence(tree, within)
        if number is not None and not is_lookup(tree):
            return [{("there", number): Values(frozenset({value}))}]
        case: Case = {("bool", self.terms.number(tree, within)): Values(frozenset({value}))}
        return conjunction([[case], self._there(tree, within)])

    def _there(self, tree: Tree, within: str) -> Cases:
        """The constraint that every key that the comparison looks up exists."""
        if isinstance(tree, And | Or | Conditional | Loop | OrValue | Variable):
            return [{}]
        numbers = (self.terms.presence(p, within) for p in _evaluated(tree) if is_lookup(p))
        return [{("there", number): _TRUE for number in numbers if number is not None}]

    # Comparisons.

    def _compared(self, tree: Call, value: bool, within: str) -> Cases:
        left, right = tree.args
        for at, chosen in enumerate(tree.args):
            if isinstance(chosen, Conditional) and is_literal(tree.args[1 - at]):
                return self._of_branches(tree, at, chosen, value, within)
        if tree.name == "in_list":
            return self._listed(tree, value, within)
        family = tree.name.rpartition("_")[0]
        if family not in _ORDER or not _is_steady(tree):
            return self._opaque(tree, value, within)
        orders = _ORDER[family] if value else ORDERS - _ORDER[family]
        if is_literal(left) and is_literal(right):
            return self._opaque(tree, value, within)
        if is_literal(left):
            orders, left, right = _turned(orders), right, left
        if is_literal(right) and left.type.name == right.type.name == "bool":
            return self.cases(left, right.value is ("=" in orders), within)
        there = self._there(tree, within)
        if is_literal(right):
            domain = _domain(orders, left, right)
            if domain is None:
                return self._opaque(tree, value, within)
            number = self.terms.number(left, within)
            possible = (_meet(part, results_of(left)) for part in domain)
            found: Cases = [{("value", number): part} for part in possible if part is not None]
            return conjunction([found, there])
        if family in ("equals", "not_equals") and left.type != right.type:
            return self._opaque(tree, value, within)
        first, second = (self.terms.number(side, within) for side in (left, right))
        if first == second:
            return there if "=" in orders else []
        if first > second:
            first, second, orders = second, first, _turned(orders)
        return conjunction([[{("pair", first, second): Values(orders)}], there])

    def _of_branches(
        self,
        tree: Call,
        at: int,
        chosen: Conditional,
        value: bool,
        within: str,
    ) -> Cases:
        """`(c ? a : b) == k` is `c ? a == k : b == k`; `chosen` is the operand at `at`."""
        found: list[Cases] = []
        for branch, holds in ((chosen.yes, True), (chosen.no, False)):
            args = (*tree.args[:at], branch, *tree.args[at + 1 :])
            inside = self._decided(replace(tree, args=args), value, within)
            found.append(conjunction([self.cases(chosen.test, holds, within), inside]))
        return disjunction(found)

    def _decided(self, tree: Call, value: bool, within: str) -> Cases:
        """The cases of a comparison; a comparison of two literals has a known result."""
        left, right = tree.args
        if tree.name in ("equals_any", "not_equals_any") and is_literal(left) and is_literal(right):
            is_equal = left.type.name == right.type.name and left.value == right.value
            return [{}] if is_equal is (value is (tree.name == "equals_any")) else []
        return self.cases(tree, value, within)

    def _listed(self, tree: Call, value: bool, within: str) -> Cases:
        item, listed = tree.args
        if not isinstance(listed, NewList) or listed.optional:
            return self._opaque(tree, value, within)
        literals = [item.value for item in listed.args if is_literal(item)]
        is_known = len(literals) == len(listed.args)
        if item.type.name != "string" or not is_known or is_literal(item):
            return self._opaque(tree, value, within)
        values = Values(frozenset(literals), is_one_of=value)
        case: Case = {("value", self.terms.number(item, within)): values}
        return conjunction([[case], self._there(tree, within)])


def _evaluated(tree: Tree) -> Iterator[Tree]:
    """The tree, and what is evaluated whenever it is."""
    yield tree
    if isinstance(tree, Fact | MemberRead | Call | Field):
        yield from chain.from_iterable(map(_evaluated, tree.operands))


def conjunction(parts: Iterable[Cases]) -> Cases:
    """Combines every case of each part with every case of the others; drops contradictions."""
    joined: list[Case] = [{}]
    is_complete = True
    for part in parts:
        if part is None:
            # Without this part there are fewer constraints, so a contradiction remains one.
            is_complete = False
            continue
        joined = [met for a in joined for b in part if (met := _met(a, b)) is not None]
        if len(joined) > CASES_MAX:
            return None
    return joined if is_complete or not joined else None


def contradict(a: Cases, b: Cases) -> bool:
    """Whether it is proved that no case of `a` is possible together with a case of `b`."""
    if a is None or b is None:
        return a == [] or b == []
    return not any(_goes_with(case, other) for case in a for other in b)


def _goes_with(a: Case, b: Case) -> bool:
    if len(a) > len(b):
        a, b = b, a
    return all(term not in b or _meet(domain, b[term]) for term, domain in a.items())


def disjunction(parts: Iterable[Cases]) -> Cases:
    joined: list[Case] = []
    for part in parts:
        if part is None:
            return None
        joined += part
    return joined if len(joined) <= CASES_MAX else None


def _met(a: Case, b: Case) -> Case | None:
    met = dict(a)
    for term, domain in b.items():
        before = met.get(term)
        found = domain if before is None else _meet(before, domain)
        if found is None:
            return None
        met[term] = found
    return met


def _turned(orders: frozenset[str]) -> frozenset[str]:
    return frozenset(_TURNED[order] for order in orders)


def _is_steady(tree: Call) -> bool:
    """Whether no operand can be NaN, which is neither less nor greater than a number."""
    return all(
        arg.type.name in ("int", "uint", "string", "bool")
        or (arg.type.name == "double" and (isinstance(arg, Fact) or is_literal(arg)))
        for arg in tree.args
    )


def _domain(orders: frozenset[str], left: Tree, right: Constant) -> list[Domain] | None:
    """The constraint on `left`, as alternatives."""
    value = right.value
    if right.type.name == "string" and left.type.name == "string":
        if orders == EQUAL:
            return [Values(frozenset({value}))]
        if orders == ORDERS - EQUAL:
            return [Values(frozenset({value}), is_one_of=False)]
        return None
    if right.type.name not in (*_NUMBERS, "double") or left.type.name not in (*_NUMBERS, "double"):
        return None
    if abs(value) > 2**53:
        return None  # beyond what a double holds exactly
    if orders == EQUAL:
        return [Interval(value, value)]
    if orders == ORDERS - EQUAL:
        return [Interval(without=frozenset({value}))]
    return [half_line(orders, value, is_whole=left.type.name in _NUMBERS)]
