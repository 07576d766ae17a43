"""Findings about the policy of a tenant: settings that are the operator's, and bounds.

A tenant narrows what the operator allows and never widens it: only the listed settings are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from kpolicy.diagnostics import Diagnostic, did_you_mean
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.limits import TENANT_DOCUMENTS_MAX, TENANT_RULES_MAX, TENANT_WEIGHT_DEFAULT
from kpolicy.policy.models.scheduling_policy import KIND, Predicate, Priority
from kpolicy.policy.yaml.nodes import Mapping, Path, find

_FIELDS: Final = frozenset(
    {
        "profiles",
        "failurePolicy",
        "matchConditions",
        "params",
        "variables",
        "predicates",
        "priorities",
        "limits",
        "minEngine",
        "shadow",
    }
)
# Scores that need nothing but nodes and pods. Others would have the process list further resources.
BUILTINS: Final = (
    "ImageLocality",
    "NodeAffinity",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "TaintToleration",
)


@dataclass(frozen=True, slots=True)
class TenantTerms:
    """What the operator grants each tenant: the sum of the weights of its priorities in a
    profile."""

    weight: int = TENANT_WEIGHT_DEFAULT


def check_tenant(
    policies: Sequence[Policy], scheduler_names: Iterable[str], terms: TenantTerms
) -> Iterator[Diagnostic]:
    """`scheduler_names` are those of the operator's profiles."""
    known = frozenset(scheduler_names)
    rules = 0
    for index, policy in enumerate(policies):
        if policy.kind != KIND:
            message = f"a {policy.kind} is a whole policy, and a tenant adds rules to one"
            yield policy.remark("KP135", message, (), hint=f"write a {KIND}")
            continue
        if index == TENANT_DOCUMENTS_MAX:
            message = f"a tenant may have at most {TENANT_DOCUMENTS_MAX} policies"
            yield policy.remark("KP136", message, ("metadata", "name"))
        yield from _fields(policy)
        yield from _profiles(policy, known)
        before, rules = rules, rules + len(list(policy.rules()))
        if before <= TENANT_RULES_MAX < rules:
            message = f"a tenant may have at most {TENANT_RULES_MAX} rules"
            yield policy.remark("KP136", message, ("metadata", "name"))
        yield from chain.from_iterable(_rule(policy, path, rule) for path, rule in policy.rules())
    yield from _weights(policies, known, terms)


def _fields(policy: Policy) -> Iterator[Diagnostic]:
    spec = find(policy.tree, ("spec",))
    for entry in spec.entries if isinstance(spec, Mapping) else ():
        if entry.key.text not in _FIELDS:
            listed = ", ".join(f"`{name}`" for name in sorted(_FIELDS))
            yield policy.remark(
                "KP135",
                f"`{entry.key.text}` is not for tenants to set",
                ("spec", entry.key.text),
                hint=f"a tenant sets {listed}",
                span=entry.key.span,
            )


def _profiles(policy: Policy, known: frozenset[str]) -> Iterator[Diagnostic]:
    for index, profile in enumerate(policy.model.spec.profiles):
        path = ("spec", "profiles", index)
        if profile.scheduler_name not in known:
            listed = ", ".join(f"`{name}`" for name in sorted(known))
            near = did_you_mean(profile.scheduler_name, known)
            yield policy.remark(
                "KP131",
                f"the operator has no profile `{profile.scheduler_name}`",
                (*path, "schedulerName"),
                hint=f"profiles are {listed}" + (f"; {near}" if near else ""),
            )
        for key in ("overrides", "percentageOfNodesToScore"):
            if find(policy.tree, (*path, key)) is not None:
                yield policy.remark("KP135", f"`{key}` is not for tenants to set", (*path, key))


def _rule(policy: Policy, path: Path, rule: Predicate | Priority) -> Iterator[Diagnostic]:
    if rule.builtin is not None and isinstance(rule, Predicate):
        message = "a tenant's predicate is an expression"
        hint = "the built-ins of the operator's policy filter already"
        yield policy.remark("KP135", message, (*path, "builtin"), hint=hint)
    elif rule.builtin is not None and rule.builtin not in BUILTINS:
        message = f"`{rule.builtin}` is not for tenants to use"
        hint = "one of " + ", ".join(f"`{name}`" for name in BUILTINS)
        yield policy.remark("KP135", message, (*path, "builtin"), hint=hint)
    is_stated = find(policy.tree, (*path, "preemptible")) is not None
    if isinstance(rule, Predicate) and is_stated and rule.preemptible:
        message = "no pod is evicted to fulfil a tenant's predicate"
        yield policy.remark("KP135", message, (*path, "preemptible"), hint="leave it out")


def _weights(
    policies: Sequence[Policy], known: frozenset[str], terms: TenantTerms
) -> Iterator[Diagnostic]:
    for name in sorted(known):
        total = 0
        for policy in policies:
            if name not in {profile.scheduler_name for profile in policy.model.spec.profiles}:
                continue
            for index, priority in enumerate(policy.model.spec.priorities):
                before, total = total, total + (priority.weight if priority.enabled else 0)
                if before <= terms.weight < total:
                    yield policy.remark(
                        "KP136",
                        f"up to here the priorities for `{name}` weigh {total:,} together",
                        ("spec", "priorities", index),
                        hint=f"at most {terms.weight:,} are granted (--tenant-weight)",
                    )
