"""Lint of rules whose expressions compile: findings that need the meaning of a rule.

`check_rules` is the whole interface. Each module proves one kind of finding from checked trees and
reports only what it can prove.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.assembly.expressions import Expressions
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.assembly.resolve import Resolution
from kpolicy.policy.lint.constant_parts import constant_parts
from kpolicy.policy.lint.idle_preemption import idle_preemption
from kpolicy.policy.lint.ignored_fields import ignored_fields
from kpolicy.policy.lint.missing_keys import messages, missing_keys
from kpolicy.policy.lint.reads import deprecated, reads
from kpolicy.policy.lint.redundancy import redundancy
from kpolicy.policy.lint.repeated_base import repeated_base
from kpolicy.policy.lint.scores import scores
from kpolicy.policy.lint.traps import traps
from kpolicy.policy.lint.written import WrittenPolicy


def check_rules(
    policies: Sequence[Policy], expressions: Mapping[str, Expressions], resolution: Resolution
) -> list[Diagnostic]:
    """The findings of lint about these policies, but not about their bases."""
    builtins = _builtins(resolution)
    found: list[Diagnostic] = []
    for policy in policies:
        written = WrittenPolicy(policy, expressions[policy.name])
        found += chain(
            missing_keys(written),
            constant_parts(written),
            redundancy(written, sorted(builtins.get(policy.name, ()))),
            scores(written),
            messages(written),
            traps(written),
            reads(written),
            deprecated(written),
            idle_preemption(policy),
            ignored_fields(written, resolution),
            repeated_base(resolution.effectives[policy.name]),
        )
    return found


def _builtins(resolution: Resolution) -> dict[str, set[str]]:
    """By policy, the built-ins that filter in a profile of it, for all pods and with defaults."""
    found: dict[str, set[str]] = {}
    for served in resolution.profiles.values():
        present = {
            rule.written.rule.builtin or ""
            for policy in served
            for rule in policy.predicates
            if not rule.unless and not any(map(_ignores, rule.written.args.items()))
        }
        for policy in served:
            found.setdefault(policy.effective.policy.name, set()).update(present)
    return found


def _ignores(argument: tuple[str, object]) -> bool:
    """Whether the built-in checks less because of this argument."""
    name, value = argument
    return name.startswith("ignored") and bool(value)
