"""KP326 and KP327: expressions that CEL accepts and that seldom mean what they say.

A share of two whole numbers is 0 until it is 1, and texts of quantities are compared letter by
letter. The fix of each changes what the policy decides, so that it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kpolicy.diagnostics import Diagnostic, Edit, Fix, Span
from kpolicy.policy.cel.tree import Call, Constant, Fact, Tree, own_nodes
from kpolicy.policy.lint.lookups import literal_text
from kpolicy.policy.lint.written import WrittenExpression, WrittenPolicy

_DIVISIONS: Final = ("divide_int64", "divide_uint64")
_DIFFERENCES: Final = ("subtract_int64", "subtract_uint64")
_PRODUCTS: Final = ("multiply_int64", "multiply_uint64")
# Amounts that are at most as large as another: a part, and what it is a part of.
_PARTS: Final = frozenset({"free", "requested", "request", "allocatable", "podCount", "count"})
_WHOLES: Final = frozenset({"allocatable", "capacity", "podLimit", "nodeCount"})
_COMPARISONS: Final = {
    "less_string": "<",
    "less_equals_string": "<=",
    "greater_string": ">",
    "greater_equals_string": ">=",
}
_QUANTITY: Final = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|e[0-9]+)?\Z"


def traps(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    for expression in policy.all():
        products = {
            id(factor): part
            for part in own_nodes(expression.tree)
            if isinstance(part, Call) and part.name in _PRODUCTS
            for factor in part.args
        }
        for part in own_nodes(expression.tree):
            if isinstance(part, Call) and part.name in _DIVISIONS:
                yield from _share(policy, expression, part, products.get(id(part)))
            elif isinstance(part, Call) and part.name in _COMPARISONS:
                yield from _as_text(policy, expression, part)


def _share(
    policy: WrittenPolicy, at: WrittenExpression, division: Call, product: Call | None
) -> Iterator[Diagnostic]:
    """A part divided by its whole, or two numbers; `product` multiplies the result."""
    part, whole = division.args
    if isinstance(part, Constant) and isinstance(whole, Constant):
        yield from _of_constants(policy, at, division)
        return
    if not _is_part(part) or not _is_amount(whole, _WHOLES) or _unit(part) != _unit(whole):
        return
    a, b = (_shown(at, tree) for tree in (part, whole))
    message = f"whole numbers are divided, so this is 0 unless `{a}` is as large as `{b}`"
    factor = next((f for f in product.args if f is not division), None) if product else None
    # Only a number needs no parentheses of its own.
    if product is None or not isinstance(factor, Constant):
        hint = f"`100 * {a} / {b}`, or `100.0 * ratio({a}, {b})`"
        yield policy.finding(at, "KP326", message, division.span, hint)
        return
    text = f"{_shown(at, factor)} * {a} / {b}"
    fix = Fix((Edit(product.span, text),), is_safe=False, keeps_program=False)
    hint = f"multiply first: `{text}`"
    yield policy.finding(at, "KP326", message, division.span, hint, fix=fix)


def _of_constants(
    policy: WrittenPolicy, at: WrittenExpression, division: Call
) -> Iterator[Diagnostic]:
    a, b = (arg.value for arg in division.args if isinstance(arg, Constant))
    if not b or not a % b:
        return
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    message = f"whole numbers are divided, so this is {quotient}"
    hint = f"`{a}.0 / {b}.0` is {a / b:g}"
    yield policy.finding(at, "KP326", message, division.span, hint)


def _is_part(tree: Tree) -> bool:
    """An amount, or what is left of one."""
    if isinstance(tree, Call) and tree.name in _DIFFERENCES:
        left, right = tree.args
        return _is_amount(left, _PARTS | _WHOLES) and _is_amount(right, _PARTS)
    return _is_amount(tree, _PARTS)


def _unit(tree: Tree) -> str:
    return _unit(tree.args[0]) if isinstance(tree, Call) else tree.type.unit


def _is_amount(tree: Tree, names: frozenset[str]) -> bool:
    return isinstance(tree, Fact) and tree.name.rpartition(".")[2] in names


def _as_text(
    policy: WrittenPolicy, at: WrittenExpression, comparison: Call
) -> Iterator[Diagnostic]:
    texts = [literal_text(arg) for arg in comparison.args]
    written = [text for text in texts if text is not None and re.match(_QUANTITY, text)]
    if len(written) != 1 or None not in texts:
        return
    a, b = (f"quantity({_shown(at, arg)})" for arg in comparison.args)
    text = f"{a}.compareTo({b}) {_COMPARISONS[comparison.name]} 0"
    message = f"this compares texts letter by letter: '9' is greater than '{written[0]}'"
    if written[0].startswith("9"):
        message = f"this compares texts letter by letter: '10' is less than '{written[0]}'"
    fix = Fix((Edit(_whole(comparison), text),), is_safe=False, keeps_program=False)
    yield policy.finding(at, "KP327", message, comparison.span, f"`{text}`", fix=fix)


def _whole(comparison: Call) -> Span:
    left, right = comparison.args
    return Span(left.span.start, right.span.end)


def _shown(at: WrittenExpression, tree: Tree) -> str:
    return at.text[tree.span.start : tree.span.end]
