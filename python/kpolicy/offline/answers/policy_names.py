"""What a policy lets its expressions name, for expressions that a user writes by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kpolicy.policy.assembly.expressions import Expressions
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.assembly.resolve import AppliedRule
from kpolicy.policy.cel.scope import Parameter
from kpolicy.policy.compile import Examined
from kpolicy.policy.nearest import did_you_mean


@dataclass(frozen=True, slots=True)
class PolicyNames:
    """`variables` are texts by name, each seeing those before it. `expression` is that of the rule
    that was asked for."""

    variables: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Parameter] = field(default_factory=dict)
    expression: str = ""


@dataclass(frozen=True, slots=True)
class NothingMeant:
    """Why it is not clear which policy or rule is meant."""

    message: str
    hint: str = ""


def names_in(examined: Examined, rule: str = "") -> PolicyNames | NothingMeant:
    """The names of the policy that has `rule` (`NAME`, or `POLICY/NAME`), or of the only policy.

    Policies that others extend do not count, because those others have their names too."""
    if rule:
        return _of_rule(examined, rule)
    bases = {policy.model.spec.extends for policy in examined.policies}
    leaves = [policy for policy in examined.policies if policy.name not in bases]
    if len(leaves) != 1:
        listed = ", ".join(f"`{policy.name}`" for policy in leaves)
        hint = "name a rule of the one that is meant: `--rule POLICY/NAME`"
        return NothingMeant(f"there are {len(leaves)} policies: {listed}", hint)
    return _names(examined.expressions.own[leaves[0].name])


def _of_rule(examined: Examined, name: str) -> PolicyNames | NothingMeant:
    known = dict(_rules(examined))
    found = {full: rule for full, rule in known.items() if name in (full, full.partition("/")[2])}
    if not found:
        hint = did_you_mean(name, [full.partition("/")[2] for full in known])
        return NothingMeant(f"no rule is called `{name}`", hint)
    if len(found) > 1:
        listed = ", ".join(f"`{full}`" for full in found)
        return NothingMeant(f"{len(found)} rules are called `{name}`", f"say which: {listed}")
    [applied] = found.values()
    written = applied.written
    names = _names(examined.expressions.of(applied.heir, written.policy.name))
    return PolicyNames(names.variables, names.params, written.rule.expression or "")


def _rules(examined: Examined) -> Iterator[tuple[str, AppliedRule]]:
    """By `POLICY/NAME`. The policy is the one that serves a profile with the rule."""
    for profile in examined.resolution.profiles.values():
        for effective in (served.effective for served in profile):
            policy: Policy = effective.policy
            for rule in (*effective.predicates, *effective.priorities):
                yield f"{policy.name}/{rule.written.name}", rule


def profile_expressions(examined: Examined, profile: str) -> Iterator[tuple[str, PolicyNames]]:
    """Every expression that a profile evaluates: of `POLICY/RULE`, its message and conditions."""
    for served in examined.resolution.profiles[profile]:
        for applied in (*served.predicates, *served.priorities):
            written = applied.written
            names = _names(examined.expressions.of(applied.heir, written.policy.name))
            title = f"{served.effective.policy.name}/{written.name}"
            texts = {
                title: written.rule.expression,
                f"{title}.messageExpression": getattr(written.rule, "message_expression", None),
            }
            for condition in (
                *written.policy.model.spec.match_conditions,
                *written.rule.match_conditions,
            ):
                texts[f"{title}.matchConditions.{condition.name}"] = condition.expression
            for place, text in texts.items():
                if text:
                    yield place, PolicyNames(names.variables, names.params, text)


def _names(expressions: Expressions) -> PolicyNames:
    return PolicyNames(expressions.variable_texts, expressions.params)
