"""KP303 and KP305: conditions that never change, and parts that are always an error.

`Folding` computes the values of parts made of literals, as the engine does or not at all.
Parameters and variables count as unknown, because policies use them as switches. Each finding is
reported once, at the smallest part. A predicate that rejects every node for every pod is an error.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import field
from itertools import islice
from typing import Any, Final, TypeAlias

from kpolicy.diagnostics import Diagnostic, Severity, Span
from kpolicy.policy.cel.tree import (
    And,
    Call,
    Conditional,
    Constant,
    Failing,
    Field,
    Has,
    NewList,
    NewMap,
    Or,
    Tree,
    Variable,
    own_nodes,
)
from kpolicy.policy.cel.types import INT_MAX, INT_MIN, UINT_MAX
from kpolicy.policy.lint.lookups import is_literal, is_lookup, literal_text, unguarded
from kpolicy.policy.lint.written import WrittenExpression, WrittenPolicy
from kpolicy.policy.models.scheduling_policy import Predicate
from kpolicy.quick_dataclass import dataclass

_WORDS: Final = {True: "true", False: "false"}


@dataclass(frozen=True, slots=True)
class _Whole:
    """What follows if an expression is always true, and if it is always false.

    `forbids`: always false, it rejects every pod everywhere; `errs`: and also where it errs."""

    if_true: str = ""
    if_false: str = ""
    forbids: bool = False
    errs: bool = True

    def follows(self, value: bool) -> str:
        return self.if_true if value else self.if_false

    def severity(self, value: bool, *, may_err: bool = False) -> Severity | None:
        """None is that of the page."""
        is_error = self.forbids and not value and (self.errs or not may_err)
        return Severity.ERROR if is_error else None


def constant_parts(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    wholes = _wholes(policy)
    for expression in policy.all():
        yield from _of(policy, expression, wholes.get(expression.path, _Whole()))


def _wholes(policy: WrittenPolicy) -> dict[object, _Whole]:
    """By path: what follows if the expression never changes."""
    found: dict[object, _Whole] = {
        condition.path: _Whole("it matches every pod", "it matches no pod")
        for condition in policy.conditions
    }
    for rule in policy.rules:
        for condition in policy.own_conditions(rule):
            found[condition.path] = _Whole("it matches every pod", "the rule is never asked")
        if isinstance(rule.rule, Predicate):
            acts = rule.rule.enabled and rule.rule.enforcement == "deny"
            found[rule.expression.path] = _Whole(
                "the rule passes every node",
                "the rule rejects every node",
                forbids=acts and not rule.conditions and not policy.policy.model.spec.shadow,
                errs=rule.rule.on_error == "reject",
            )
    if policy.victims is not None:
        found[policy.victims.path] = _Whole("every pod may be evicted", "no pod is ever evicted")
    for hold, _ in policy.holds:
        found[hold.path] = _Whole("every pod is held for ever", "no pod is ever held")
    return found


def _of(
    policy: WrittenPolicy, expression: WrittenExpression, whole: _Whole
) -> Iterator[Diagnostic]:
    folding = Folding()
    value = folding.fold(expression.tree)
    for failure in dict.fromkeys(folding.failures):
        yield policy.finding(expression, "KP305", failure.message, failure.span)
    is_known = isinstance(value, Known) and isinstance(value.value, bool)
    severity = whole.severity(value.value) if isinstance(value, Known) and is_known else None
    reported: set[Span] = set()
    for condition in folding.conditions:
        span = condition.tree.span
        if any(span.start <= inner.start and inner.end <= span.end for inner in reported):
            continue  # a part of it is reported, which is the reason
        reported.add(span)
        message = _steers(condition.user, condition.value)
        if severity is not None:
            message += f": {whole.if_false}"
        yield policy.finding(expression, "KP303", message, span, severity=severity)
    if reported or not whole.if_true:
        return
    if isinstance(value, Known) and is_known:
        message = f"this is always {_WORDS[value.value]}: {whole.follows(value.value)}"
        span = expression.tree.span
        yield policy.finding(expression, "KP303", message, span, severity=severity)
        return
    yield from _contradictions(policy, expression, whole)


def _steers(user: And | Or | Conditional, value: bool) -> str:
    word = _WORDS[value]
    if isinstance(user, Conditional):
        return f"this condition is always {word}, so the other branch is never used"
    if value is isinstance(user, Or):
        mark = "||" if isinstance(user, Or) else "&&"
        return f"this is always {word}, and so is the whole `{mark}`"
    return f"this is always {word}, so it changes nothing"


def _contradictions(
    policy: WrittenPolicy, expression: WrittenExpression, whole: _Whole
) -> Iterator[Diagnostic]:
    """`x == 'a' && x == 'b'`, `x != 'a' || x != 'b'`, `size(x) < 0`, anywhere in it."""
    for tree in _formulas(expression.tree):
        for value in (True, False):
            if policy.formulas.cases(tree, not value) == []:
                meaning = whole.follows(value) if tree is expression.tree else ""
                may_err = any(unguarded(policy.guards, tree))
                where = " where it has a value" if may_err else ""
                message = f"this is always {_WORDS[value]}{where}"
                if meaning:
                    message += f": {meaning}"
                hint = "did you mean `||`?" if not value else "did you mean `&&`?"
                is_connective = isinstance(tree, Or if value else And)
                yield policy.finding(
                    expression,
                    "KP303",
                    message,
                    tree.span,
                    hint if is_connective else "",
                    severity=whole.severity(value, may_err=may_err) if meaning else None,
                )
                return


def _formulas(tree: Tree) -> Iterator[Tree]:
    """The expression, and all `&&`, `||` and comparisons in it, from outside to inside."""
    yield tree
    for part in islice(own_nodes(tree), 1, None):
        if isinstance(part, And | Or) or (isinstance(part, Call) and part.type.name == "bool"):
            yield part


_FOLDED: Final = frozenset({"bool", "int", "uint", "double", "string"})


@dataclass(frozen=True, slots=True)
class Known:
    value: Any


@dataclass(frozen=True, slots=True)
class Fails:
    """The value of a part that always fails."""


@dataclass(frozen=True, slots=True)
class Varies:
    """The value of a part that depends on the pod, the node or a switch."""


Folded: TypeAlias = Known | Fails | Varies
_FAILS: Final = Fails()
_VARIES: Final = Varies()


@dataclass(frozen=True, slots=True)
class Failure:
    """A part that always fails, though its operands do not."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A bool that steers something and is always `value`; `user` is the node that it steers."""

    tree: Tree
    value: bool
    user: And | Or | Conditional


@dataclass(slots=True)
class Folding:
    """Computes the constant parts of one expression, without those of its variables."""

    failures: list[Failure] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)

    def fold(self, tree: Tree) -> Folded:
        match tree:
            case Constant() if is_literal(tree) and tree.type.name in _FOLDED:
                return Known(tree.value)
            case Constant() | Variable():
                return _VARIES
        values = [self.fold(operand) for operand in tree.operands]
        match tree:
            case And() | Or():
                return self._logic(tree, values)
            case Conditional():
                return self._conditional(tree, values)
            case Failing():
                return _FAILS
            case Field():
                return self._entry(tree, values)
            case Call():
                return self._call(tree, values)
            case Has() | NewList() | NewMap() if _FAILS in values:
                return _FAILS
        return _VARIES

    def _logic(self, tree: And | Or, args: list[Folded]) -> Folded:
        settles = isinstance(tree, Or)
        for arg, value in zip(tree.args, args, strict=True):
            if isinstance(value, Known):
                self.conditions.append(Condition(arg, value.value, tree))
        if Known(settles) in args:
            return Known(settles)
        if all(isinstance(value, Known) for value in args):
            return Known(not settles)
        return _FAILS if all(isinstance(value, Fails) for value in args) else _VARIES

    def _conditional(self, tree: Conditional, args: list[Folded]) -> Folded:
        test, yes, no = args
        if isinstance(test, Fails):
            return test
        if isinstance(test, Known):
            self.conditions.append(Condition(tree.test, test.value, tree))
            return yes if test.value else no
        return yes if yes == no else _VARIES

    def _entry(self, tree: Field, args: list[Folded]) -> Folded:
        """`{'a': 1}.b`: the keys are written there."""
        holder = tree.operand
        if isinstance(holder, NewMap) and not holder.optional:
            keys = [literal_text(key) for key in holder.args[::2]]
            if None not in keys and tree.name not in keys:
                return self._failed(tree.span, f"this map never has the key `{tree.name}`")
        return _FAILS if isinstance(args[0], Fails) else _VARIES

    def _call(self, tree: Call, args: list[Folded]) -> Folded:
        if any(isinstance(value, Fails) for value in args):
            return _FAILS
        if tree.name in _DIVISIONS and isinstance(args[1], Known) and args[1].value == 0:
            what = "division by" if tree.name.startswith("divide") else "a remainder of"
            # The operator begins a space behind its left operand, parentheses aside.
            left, right = (arg.span for arg in tree.args)
            span = Span(min(left.end + 1, right.start), right.end)
            return self._failed(span, f"{what} a constant zero is always an error")
        if tree.name == "index_list":
            return self._item(tree, args)
        if tree.name == "in_list":
            return _contained(tree.args[0], tree.args[1], args[0])
        if not all(isinstance(value, Known) for value in args):
            return _VARIES
        return self._computed(tree, [value.value for value in args if isinstance(value, Known)])

    def _item(self, tree: Call, args: list[Folded]) -> Folded:
        holder, index = tree.args[0], args[1]
        if isinstance(holder, NewList) and not holder.optional and isinstance(index, Known):
            count = len(holder.args)
            if not 0 <= index.value < count:
                items = f"{count} item{'' if count == 1 else 's'}"
                return self._failed(tree.span, f"this list has {items}, none at {index.value}")
        return _VARIES

    def _computed(self, tree: Call, values: list[Any]) -> Folded:
        compute = _COMPUTED.get(tree.name)
        if compute is None:
            return _VARIES
        try:
            value = compute(*values)
        except (ValueError, OverflowError):
            return self._failed(tree.span, "this can never be converted")
        except (ZeroDivisionError, TypeError):
            return _VARIES
        kind = tree.type.name
        if (kind == "int" and not INT_MIN <= value <= INT_MAX) or (
            kind == "uint" and not 0 <= value <= UINT_MAX
        ):
            return self._failed(tree.span, f"{kind} overflows here, which is always an error")
        return _VARIES if isinstance(value, float) and math.isnan(value) else Known(value)

    def _failed(self, span: Span, message: str) -> Folded:
        self.failures.append(Failure(span, message))
        return _FAILS


def _contained(item: Tree, listed: Tree, value: Folded) -> Folded:
    """`x in []`, and `'a' in ['b']` where all is written there; `value` is that of the item."""
    if not isinstance(listed, NewList) or listed.optional:
        return _VARIES
    if not listed.args:
        may_err = any(map(is_lookup, own_nodes(item)))
        return _VARIES if may_err else Known(value=False)
    texts = [literal_text(each) for each in listed.args]
    if None in texts or not isinstance(value, Known) or not isinstance(value.value, str):
        return _VARIES
    return Known(value.value in texts)


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


def _alike(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """A comparison that accepts two values of one type, or two numbers."""

    def compared(a: Any, b: Any) -> bool:
        numbers = [isinstance(x, (int, float)) and not isinstance(x, bool) for x in (a, b)]
        if type(a) is not type(b) and not all(numbers):
            raise TypeError
        return compare(a, b)

    return compared


def _to_int(text: str) -> int:
    if text.startswith("+"):
        raise TypeError  # only the engine knows
    if text[:1] == "-":
        return -_to_int(text[1:]) if text[1:2] != "-" else int("-")
    if not (text.isascii() and text.isdigit() and len(text) < 25):
        raise ValueError
    return int(text)


_DIVISIONS: Final = frozenset({"divide_int64", "divide_uint64", "modulo_int64", "modulo_uint64"})
_COMPUTED: Final[dict[str, Callable[..., Any]]] = {
    "not_bool": operator.not_,
    "negate_int64": operator.neg,
    "negate_double": operator.neg,
    "equals_any": _alike(operator.eq),
    "not_equals_any": _alike(operator.ne),
    "to_int_string": _to_int,
    "to_int_int64": int,
    "to_double_int64": float,
    "contains_string": lambda a, b: b in a,
    "starts_with_string": str.startswith,
    "ends_with_string": str.endswith,
    "add_string": operator.add,
    "size_string": len,
    **{
        f"{name}_{kind}": compute
        for name, compute in (
            ("add", operator.add),
            ("subtract", operator.sub),
            ("multiply", operator.mul),
        )
        for kind in ("int64", "uint64", "double")
    },
    **{
        f"{name}_{kind}": compute
        for name, compute in (("divide", _quotient), ("modulo", _remainder))
        for kind in ("int64", "uint64")
    },
    **{
        f"{name}_{kind}": compute
        for name, compute in (
            ("less", operator.lt),
            ("less_equals", operator.le),
            ("greater", operator.gt),
            ("greater_equals", operator.ge),
        )
        for kind in ("int64", "uint64", "double", "number", "string")
    },
}
