"""KP306 and KP307: rules that add nothing to others, and rules that no node can pass beside others.

Pairs of rules are compared under the conditions under which both are asked. A rule is redundant if
"a node passes the earlier rule and fails this one" is a contradiction, and no such node makes it
err.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Final

from kpolicy.diagnostics import Diagnostic, Note
from kpolicy.policy.cel import compile_expression
from kpolicy.policy.cel.tree import Tree
from kpolicy.policy.lint.formulas import conjunction, contradict, disjunction
from kpolicy.policy.lint.lookups import both, unguarded
from kpolicy.policy.lint.written import RuleExpression, WrittenPolicy
from kpolicy.policy.models.scheduling_policy import Predicate

# By built-in: what holds of every node that passes it, and which pods are excepted.
_BUILTINS: Final[Mapping[str, tuple[str, str]]] = {
    "NodeUnschedulable": (
        "!node.unschedulable",
        ", unless the pod tolerates `node.kubernetes.io/unschedulable`",
    ),
    "NodeResourcesFit": ("node.podCount < node.podLimit && node.fits(pod)", ""),
}
# The most pairs of rules that are compared in one policy.
_PAIRS_MAX: Final = 20_000


@cache
def _builtin(name: str) -> Tree:
    tree = compile_expression(_BUILTINS[name][0]).tree
    assert tree is not None, "what we write compiles"
    return tree


def redundancy(policy: WrittenPolicy, builtins: Collection[str]) -> Iterator[Diagnostic]:
    """`builtins` are those that filter beside the rules of the policy."""
    yield from _same(policy)
    rules = [rule for rule in policy.rules if _filters(rule)]
    doubled = {rule.path for _, rule in _doubles(policy)}
    pairs = 0
    for index, rule in enumerate(rules):
        if rule.path in doubled:
            continue
        for name in builtins:
            yield from _beside_builtin(policy, rule, name)
        for earlier in rules[:index]:
            pairs += 1
            if pairs > _PAIRS_MAX:
                return
            found = _beside(policy, earlier, rule)
            if found is not None:
                yield found
                break


def _filters(rule: RuleExpression) -> bool:
    written = rule.rule
    return (
        isinstance(written, Predicate)
        and written.enabled
        and written.enforcement == "deny"
        and written.on_error == "reject"
    )


def _doubles(policy: WrittenPolicy) -> Iterator[tuple[RuleExpression, RuleExpression]]:
    first: dict[tuple[object, ...], RuleExpression] = {}
    number = policy.terms.number
    for rule in policy.rules:
        if not rule.rule.enabled:
            continue
        conditions = frozenset(number(condition.tree) for condition in rule.conditions)
        is_same = (rule.is_predicate, number(rule.expression.tree), conditions, _mode(rule))
        before = first.setdefault(is_same, rule)
        if before is not rule:
            yield before, rule


def _mode(rule: RuleExpression) -> str:
    return rule.rule.enforcement if isinstance(rule.rule, Predicate) else str(rule.rule.normalize)


def _same(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    for before, rule in _doubles(policy):
        counts = "" if rule.is_predicate else ", so it counts twice"
        message = f"the same expression as `{before.name}`{counts}"
        yield _about(policy, rule, "KP306", message, before)


def _about(
    policy: WrittenPolicy, rule: RuleExpression, code: str, message: str, earlier: RuleExpression
) -> Diagnostic:
    place = policy.policy.place((*earlier.path, "expression"))
    notes = (Note(f"`{earlier.name}` is here", place=place),)
    return policy.finding(rule.expression, code, message, rule.expression.tree.span, notes=notes)


def _beside(
    policy: WrittenPolicy, earlier: RuleExpression, rule: RuleExpression
) -> Diagnostic | None:
    """The findings about `rule` beside `earlier`."""
    tree, before = rule.expression.tree, earlier.expression.tree
    cases = policy.formulas.cases(before)
    if cases is None or cases == []:
        return None  # reported as a constant
    if contradict(cases, policy.formulas.cases(tree, False)) and _asked_with(policy, earlier, rule):
        known = both(policy.guards.implied(before, True), policy.guards.evaluated(before))
        for condition in rule.conditions:
            known = both(known, policy.guards.implied(condition.tree, True))
        is_trivial = policy.formulas.cases(tree, False) == []
        if not is_trivial and not list(unguarded(policy.guards, tree, known)):
            message = f"`{earlier.name}` already rejects every node that this would reject"
            return _about(policy, rule, "KP306", message, earlier)
    own = policy.formulas.cases(tree)
    is_asked = _asked_with(policy, earlier, rule) or _asked_with(policy, rule, earlier)
    if is_asked and own != [] and contradict(cases, own):
        message = f"no node can pass both this and `{earlier.name}`"
        return _about(policy, rule, "KP307", message, earlier)
    return None


def _asked_with(policy: WrittenPolicy, earlier: RuleExpression, rule: RuleExpression) -> bool:
    """Whether `earlier` is asked of every pod that `rule` is asked of."""
    holds = conjunction(policy.formulas.cases(condition.tree) for condition in rule.conditions)
    fails = (policy.formulas.cases(condition.tree, False) for condition in earlier.conditions)
    return contradict(holds, disjunction(fails))


def _beside_builtin(policy: WrittenPolicy, rule: RuleExpression, name: str) -> Iterator[Diagnostic]:
    if name not in _BUILTINS:
        return
    own = policy.formulas.cases(rule.expression.tree)
    if own != [] and contradict(own, policy.formulas.cases(_builtin(name))):
        span = rule.expression.tree.span
        message = f"no node can pass both this and the built-in `{name}`{_BUILTINS[name][1]}"
        yield policy.finding(rule.expression, "KP307", message, span)
