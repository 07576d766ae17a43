"""KP303 and KP305: conditions that never change, and parts that are always an error.

Owns what is told of them, once each and at the smallest part. Must not know how values are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.policy.cel.tree import And, Conditional, Or, Tree, own_nodes
from kpolicy.policy.lint.folding import Folding, Known
from kpolicy.policy.lint.lookups import unguarded
from kpolicy.policy.lint.written import WrittenExpression, WrittenPolicy

_WORDS: Final = {True: "true", False: "false"}


def constant_parts(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    whole = _wholes(policy)
    for one in policy.all():
        yield from _of(policy, one, whole.get(one.path, ("", "")))


def _wholes(policy: WrittenPolicy) -> dict[object, tuple[str, str]]:
    """By path, what it means that the whole is true, and that it is false."""
    found: dict[object, tuple[str, str]] = {
        one.path: ("it matches every pod", "it matches no pod") for one in policy.conditions
    }
    for rule in policy.rules:
        for one in policy.own_conditions(rule):
            found[one.path] = ("it matches every pod", "the rule is never asked")
        if rule.is_predicate:
            found[rule.expression.path] = (
                "the rule passes every node",
                "the rule rejects every node",
            )
    if policy.victims is not None:
        found[policy.victims.path] = ("every pod may be evicted", "no pod is ever evicted")
    return found


def _of(
    policy: WrittenPolicy, one: WrittenExpression, whole: tuple[str, str]
) -> Iterator[Diagnostic]:
    folding = Folding()
    value = folding.fold(one.tree)
    for failure in dict.fromkeys(folding.failures):
        yield policy.say(one, "KP305", failure.message, failure.span)
    told: set[Span] = set()
    for condition in folding.conditions:
        span = condition.tree.span
        if any(span.start <= inner.start and inner.end <= span.end for inner in told):
            continue  # a part of it was the reason
        told.add(span)
        message = _steers(condition.user, condition.value)
        yield policy.say(one, "KP303", message, span)
    if told or not any(whole):
        return
    if isinstance(value, Known) and isinstance(value.value, bool):
        message = f"this is always {_WORDS[value.value]}: {whole[not value.value]}"
        yield policy.say(one, "KP303", message, one.tree.span)
        return
    yield from _contradictions(policy, one, whole)


def _steers(user: And | Or | Conditional, value: bool) -> str:
    word = _WORDS[value]
    if isinstance(user, Conditional):
        return f"this condition is always {word}, so the other branch is never used"
    if value is isinstance(user, Or):
        mark = "||" if isinstance(user, Or) else "&&"
        return f"this is always {word}, and so is the whole `{mark}`"
    return f"this is always {word}, so it changes nothing"


def _contradictions(
    policy: WrittenPolicy, one: WrittenExpression, whole: tuple[str, str]
) -> Iterator[Diagnostic]:
    """`x == 'a' && x == 'b'`, `x != 'a' || x != 'b'`, anywhere in it."""
    for tree in _formulas(one.tree):
        for value in (True, False):
            if policy.formulas.cases(tree, not value) == []:
                meaning = whole[not value] if tree is one.tree else ""
                where = "" if not list(unguarded(policy.guards, tree)) else " where it has a value"
                message = f"this is always {_WORDS[value]}{where}"
                if meaning:
                    message += f": {meaning}"
                hint = "did you mean `||`?" if not value else "did you mean `&&`?"
                is_connective = isinstance(tree, Or if value else And)
                yield policy.say(one, "KP303", message, tree.span, hint if is_connective else "")
                return


def _formulas(tree: Tree) -> Iterator[Tree]:
    """The whole, and the bool parts that connect others, from outside in."""
    yield tree
    for part in islice(own_nodes(tree), 1, None):
        if isinstance(part, And | Or):
            yield part
