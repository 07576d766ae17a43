"""Findings about whole policies: versions, profiles, weights, messages, and cost.

Predicates draw on `limits.costPerCycle` first, then priorities, in the order of the document. A
predicate with `enforcement: audit` is evaluated for a single node and draws nothing. The engine
distributes the budget in the same way, for the number of nodes in the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.policy.assembly.assemble import camel_case
from kpolicy.policy.assembly.expressions import Expressions
from kpolicy.policy.assembly.read_policy import DEVICE_SCORES, Policy
from kpolicy.policy.assembly.resolve import Resolution, Served
from kpolicy.policy.limits import COST_PER_NODE_MAX, WEIGHTS_MAX
from kpolicy.policy.yaml.nodes import Path, scalars
from kpolicy.quick_dataclass import dataclass
from kpolicy.version import VERSION

_WEIGHT_SHARE_MAX: Final = 50
# The built-in that gives devices to claims.
_ALLOCATES: Final = "DynamicResources"
_CAMEL_CASE: Final = re.compile(r"[A-Z][A-Za-z0-9]*\Z")
_VARIABLE: Final = r"\bvariables\s*\.\s*([A-Za-z_][A-Za-z0-9_]*)"


def check_policies(policies: Sequence[Policy], resolution: Resolution) -> list[Diagnostic]:
    return [
        *chain.from_iterable(map(_version, policies)),
        *_profiles(policies, resolution),
        *chain.from_iterable(_weights(name, s) for name, s in resolution.profiles.items()),
        *chain.from_iterable(_device_scores(n, s) for n, s in resolution.profiles.items()),
        *chain.from_iterable(map(_messages, policies)),
        *chain.from_iterable(_unused(policy, policies) for policy in policies),
        *chain.from_iterable(map(_without_effect, policies)),
    ]


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.removeprefix("v").split("."))


def _version(policy: Policy) -> Iterator[Diagnostic]:
    wanted = policy.model.spec.min_engine
    if wanted is not None and _release(wanted) > _release(VERSION):
        yield policy.remark(
            "KP118",
            f"made for kpolicy {wanted} and later; this is {VERSION}",
            ("spec", "minEngine"),
        )


def _profiles(policies: Sequence[Policy], resolution: Resolution) -> Iterator[Diagnostic]:
    if policies and not resolution.profiles:
        yield policies[0].remark(
            "KP117",
            "no policy has a profile, so no pod would be served",
            ("metadata", "name"),
            hint="`spec: {profiles: [{schedulerName: kpolicy}]}`",
        )


def _weights(scheduler_name: str, served: Sequence[Served]) -> Iterator[Diagnostic]:
    rules = [rule for policy in served for rule in policy.priorities]
    total = sum(rule.weight for rule in rules)
    if total > WEIGHTS_MAX:
        yield rules[0].written.policy.remark(
            "KP113",
            f"the weights of `{scheduler_name}` sum up to {total:,}",
            ("spec", "priorities"),
            hint=f"at most {WEIGHTS_MAX:,} together; only their proportion matters",
        )
    for rule in rules:
        others = total - rule.weight
        policy = rule.written.policy
        # Authors of legacy files chose large weights on purpose; only their sum is checked.
        if others and rule.weight > _WEIGHT_SHARE_MAX * others and policy.kind != "Policy":
            yield policy.remark(
                "KP324",
                f"the weight {rule.weight:,} is more than {_WEIGHT_SHARE_MAX} times that of "
                f"all other priorities of `{scheduler_name}` together, {others:,}",
                (*rule.written.path, "weight"),
            )


def _device_scores(scheduler_name: str, served: Sequence[Served]) -> Iterator[Diagnostic]:
    """Rules that choose among allocations, where nothing allocates."""
    if any(r.written.rule.builtin == _ALLOCATES for policy in served for r in policy.predicates):
        return
    for rule in chain.from_iterable(policy.priorities for policy in served):
        if rule.written.scores_devices:
            yield rule.written.policy.remark(
                "KP115",
                f"`devices.score` does not go without the predicate `{_ALLOCATES}`, which "
                f"`{scheduler_name}` does not have",
                rule.written.path,
                hint=f"list `builtin: {_ALLOCATES}` under `predicates`, or leave out `base`",
            )


def _messages(policy: Policy) -> Iterator[Diagnostic]:
    for index, rule in enumerate(policy.model.spec.predicates):
        path = ("spec", "predicates", index)
        if rule.message is not None and len(rule.message.strip().splitlines()) > 1:
            yield policy.remark(
                "KP332", "a message is one line", (*path, "message"), hint="it is shown as one line"
            )
        if rule.reason is not None and not _CAMEL_CASE.match(rule.reason):
            yield policy.remark(
                "KP332",
                f"the reason `{rule.reason}` is not in CamelCase",
                (*path, "reason"),
                hint=f"write `{camel_case(rule.reason)}`",
            )


def _unused(policy: Policy, policies: Sequence[Policy]) -> Iterator[Diagnostic]:
    """Variables that no expression uses, of policies that are the base of no other policy."""
    variables = policy.model.spec.variables
    if not variables or any(other.base == policy.name for other in policies):
        return
    texts = (scalar.value for scalar in scalars(policy.tree) if isinstance(scalar.value, str))
    used = set(chain.from_iterable(re.findall(_VARIABLE, text) for text in texts))
    for index, variable in enumerate(variables):
        if variable.name not in used:
            yield policy.remark(
                "KP121",
                f"nothing uses the variable `{variable.name}`",
                ("spec", "variables", index, "name"),
                severity=Severity.WARNING,
            )


def _without_effect(policy: Policy) -> Iterator[Diagnostic]:
    if policy.model.spec.evaluate_all:
        yield policy.remark(
            "KP604",
            "events name the first predicate that fails; `kpolicy explain` names all",
            ("spec", "evaluateAll"),
            severity=Severity.INFO,
        )


_COST_PER_CYCLE_DEFAULT: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class DrawnCost:
    """The path of a rule's expression, and the cost of it and all rules before it on one node."""

    path: Path
    together: int


def drawn_costs(policy: Policy, expressions: Expressions) -> Iterator[DrawnCost]:
    spec = policy.model.spec
    per_node = min(spec.limits.cost_per_node or COST_PER_NODE_MAX, COST_PER_NODE_MAX)
    together = 0
    for path, rule in policy.rules():
        costs = [
            min(compiled.cost, per_node)
            for name in ("expression", "messageExpression")
            if (compiled := expressions.compiled((*path, name))) is not None
        ]
        # Choosing among allocations counts as looking for devices.
        draws = path[:-1] != DEVICE_SCORES and not spec.shadow
        if costs and draws and getattr(rule, "enforcement", "") != "audit":
            together += sum(costs)
            yield DrawnCost((*path, "expression"), together)


def beyond(policy: Policy, expressions: Expressions, nodes: int) -> Iterator[Diagnostic]:
    """KP401 for the first rule that is too expensive to be evaluated on so many nodes."""
    stated = policy.model.spec.limits.cost_per_cycle
    limit = stated or _COST_PER_CYCLE_DEFAULT
    for cost in drawn_costs(policy, expressions):
        # Without a stated limit, rules may always cost as much as one expression may on each node.
        is_limited = stated is not None or cost.together > COST_PER_NODE_MAX
        if is_limited and limit // max(cost.together, 1) < nodes:
            on = "one node" if nodes == 1 else f"each of {nodes:,} nodes"
            yield policy.remark(
                "KP401",
                f"with the rules before it may cost {cost.together:,} units on {on}, "
                f"the limit of a cycle is {limit:,}",
                cost.path,
                hint="from here on no rule of this policy is evaluated (KR110): "
                "raise `limits.costPerCycle`, or write cheaper rules",
            )
            return
