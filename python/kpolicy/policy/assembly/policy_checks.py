"""Findings that need a whole policy, or several: versions, profiles, weights, extenders.

Owns these findings. Assumes policies whose rules are resolved. Must not know expressions nor the
program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity, Span
from kpolicy.policy.assembly.entries import camel_case
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.assembly.resolve import Resolution, Served
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.limits import WEIGHTS_MAX
from kpolicy.policy.yaml.nodes import dotted, find, scalars
from kpolicy.policy.yaml.source import placed
from kpolicy.version import VERSION

_WEIGHT_SHARE_MAX: Final = 50
_CAMEL_CASE: Final = re.compile(r"[A-Z][A-Za-z0-9]*\Z")
_VARIABLE: Final = re.compile(r"\bvariables\s*\.\s*([A-Za-z_][A-Za-z0-9_]*)")
_QUALIFIED: Final = re.compile(
    r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z"
)


def check_policies(policies: Sequence[Policy], resolution: Resolution) -> list[Diagnostic]:
    return list(
        chain(
            chain.from_iterable(_versions(policy) for policy in policies),
            _profiles(policies, resolution),
            chain.from_iterable(_weights(name, s) for name, s in resolution.profiles.items()),
            chain.from_iterable(_messages(policy) for policy in policies),
            chain.from_iterable(_unused(policy, policies) for policy in policies),
            _extenders(policies),
            chain.from_iterable(_without_effect(policy) for policy in policies),
        )
    )


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.removeprefix("v").split("."))


def _versions(policy: Policy) -> Iterator[Diagnostic]:
    wanted = policy.model.spec.min_engine
    if wanted is not None and _release(wanted) > _release(VERSION):
        message = f"made for kpolicy {wanted} and later; this is {VERSION}"
        yield policy.remark("KP118", message, ("spec", "minEngine"))


def _profiles(policies: Sequence[Policy], resolution: Resolution) -> Iterator[Diagnostic]:
    if policies and not resolution.profiles:
        first = policies[0]
        message = "no policy has a profile, so no pod would be served"
        hint = "`spec: {profiles: [{schedulerName: kpolicy}]}`"
        yield first.remark("KP117", message, ("metadata", "name"), hint=hint)


def _weights(scheduler_name: str, served: Sequence[Served]) -> Iterator[Diagnostic]:
    """Weights of legacy files are as they are on purpose, so only their sum is looked at."""
    rules = [rule for one in served for rule in one.priorities]
    total = sum(rule.weight for rule in rules)
    if total > WEIGHTS_MAX:
        message = f"the weights of `{scheduler_name}` sum up to {total:,}"
        hint = f"at most {WEIGHTS_MAX:,} together; only their proportion matters"
        first = rules[0].written
        yield first.policy.remark("KP113", message, ("spec", "priorities"), hint=hint)
    for rule in rules:
        others = total - rule.weight
        policy = rule.written.policy
        if others and rule.weight > _WEIGHT_SHARE_MAX * others and policy.kind != "Policy":
            message = (
                f"the weight {rule.weight:,} is more than {_WEIGHT_SHARE_MAX} times that of all "
                f"other priorities of `{scheduler_name}` together, {others:,}"
            )
            yield policy.remark("KP324", message, (*rule.written.path, "weight"))


def _messages(policy: Policy) -> Iterator[Diagnostic]:
    for index, rule in enumerate(policy.model.spec.predicates):
        path = ("spec", "predicates", index)
        if rule.message is not None and len(rule.message.strip().splitlines()) > 1:
            hint = "it is shown as one line"
            yield policy.remark("KP332", "a message is one line", (*path, "message"), hint=hint)
        if rule.reason is not None and not _CAMEL_CASE.match(rule.reason):
            message = f"the reason `{rule.reason}` is not in CamelCase"
            hint = f"write `{camel_case(rule.reason)}`"
            yield policy.remark("KP332", message, (*path, "reason"), hint=hint)


def _unused(policy: Policy, policies: Sequence[Policy]) -> Iterator[Diagnostic]:
    """Variables that no expression names, of policies that no other extends."""
    if any(other.model.spec.extends == policy.name for other in policies):
        return
    named = {
        found
        for scalar in scalars(policy.tree)
        if isinstance(scalar.value, str)
        for found in _VARIABLE.findall(scalar.value)
    }
    for index, variable in enumerate(policy.model.spec.variables):
        if variable.name not in named:
            path = ("spec", "variables", index, "name")
            message = f"nothing uses the variable `{variable.name}`"
            said = remark(
                "KP121", message, policy.span(path), field=dotted(path), severity=Severity.WARNING
            )
            yield placed(policy.text, said)


def _extenders(policies: Iterable[Policy]) -> Iterator[Diagnostic]:
    """kube-scheduler's rules; copies of one configuration's extenders are one extender."""
    binder: Span | None = None
    managed: dict[str, Span] = {}
    seen: set[Span] = set()
    for policy in policies:
        for index, extender in enumerate(policy.model.spec.extenders):
            path = ("spec", "extenders", index)
            span = policy.span(path)
            if span in seen and policy.kind != "SchedulingPolicy":
                continue
            seen.add(span)
            if extender.bind_verb and binder is not None:
                message = "only one extender can bind"
                yield policy.remark("KP113", message, (*path, "bindVerb"))
            binder = span if extender.bind_verb else binder
            for number, resource in enumerate(extender.managed_resources):
                at = (*path, "managedResources", number, "name")
                if not _is_extended(resource.name):
                    message = f"`{resource.name}` is not the name of an extended resource"
                    yield policy.remark("KP113", message, at)
                if resource.name in managed:
                    message = f"two extenders manage `{resource.name}`"
                    yield policy.remark("KP104", message, at)
                managed[resource.name] = span


def _is_extended(name: str) -> bool:
    domain = name.partition("/")[0]
    is_native = domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    return _QUALIFIED.match(name) is not None and not is_native


def _without_effect(policy: Policy) -> Iterator[Diagnostic]:
    spec = policy.model.spec
    if spec.evaluate_all:
        message = "events name the first predicate that fails; `kpolicy explain` names all"
        node = find(policy.tree, ("spec", "evaluateAll"))
        span = node.span if node is not None else Span(0, 0)
        said = remark("KP604", message, span, severity=Severity.INFO)
        yield placed(policy.text, said)
