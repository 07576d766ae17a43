"""Which rules serve which profile: `extends`, `overrides`, and several policies of one profile.

Owns the resolution by name. Assumes rules that are sound by themselves. Must not know CEL nor the
form of the program.

A document's `matchConditions` concern the rules written in it. What it inherits by `extends` stays
under the conditions of the document that wrote it, so that a pod that a document does not match
still has the base beneath it; a rule that the document replaces stays for such pods as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kpolicy.diagnostics import Diagnostic, Note
from kpolicy.policy.assembly.read_policy import Policy, WrittenRule, WrittenRules
from kpolicy.policy.limits import EXTENDS_DEPTH_MAX
from kpolicy.policy.models.scheduling_policy import (
    PredicateOverride,
    Preemption,
    Priority,
    PriorityOverride,
    Profile,
)
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import Path


@dataclass(frozen=True, slots=True)
class AppliedRule:
    """A rule as one profile has it."""

    written: WrittenRule
    # The policy that has it, as its own or by what it extends; that one's params count.
    heir: str
    weight: int = 1
    # Documents that replace it for the pods they match.
    unless: tuple[Policy, ...] = ()


@dataclass(frozen=True, slots=True)
class Effective:
    """A policy with what it inherits. `lineage` is itself first, then what it extends."""

    lineage: tuple[Policy, ...]
    predicates: tuple[AppliedRule, ...]
    priorities: tuple[AppliedRule, ...]

    @property
    def policy(self) -> Policy:
        return self.lineage[0]

    @property
    def preemption(self) -> tuple[Policy, Preemption] | None:
        for policy in self.lineage:
            if policy.model.spec.preemption is not None:
                return policy, policy.model.spec.preemption
        return None


@dataclass(frozen=True, slots=True)
class Served:
    """One policy in one profile."""

    effective: Effective
    profile: Profile
    path: Path
    predicates: tuple[AppliedRule, ...]
    priorities: tuple[AppliedRule, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    # By scheduler name, policies by order, then name.
    profiles: Mapping[str, tuple[Served, ...]]
    diagnostics: tuple[Diagnostic, ...]


def lineages(
    policies: Sequence[Policy], library: Mapping[str, Policy]
) -> tuple[dict[str, tuple[Policy, ...]], list[Diagnostic]]:
    """Each policy by name with those it extends, nearest first. `library` holds shipped ones."""
    known = {**library, **{policy.name: policy for policy in policies}}
    found: dict[str, tuple[Policy, ...]] = {}
    said: list[Diagnostic] = []
    for policy in policies:
        line, problem = _lineage(policy, known)
        found[policy.name] = line
        if problem is not None:
            said.append(problem)
    return found, said


def _lineage(
    policy: Policy, known: Mapping[str, Policy]
) -> tuple[tuple[Policy, ...], Diagnostic | None]:
    line = [policy]
    at: Path = ("spec", "extends")
    while (name := line[-1].model.spec.extends) is not None:
        parent = known.get(name)
        if parent is None:
            # Said once, by the document that names it.
            said = (
                policy.remark(
                    "KP120",
                    f"there is no policy `{name}` to extend",
                    at,
                    hint=did_you_mean(name, set(known) - {policy.name}),
                )
                if len(line) == 1
                else None
            )
            return tuple(line), said
        if parent in line:
            chain = " → ".join(f"`{one.name}`" for one in (*line, parent))
            return (policy,), policy.remark("KP120", f"`extends` runs in a circle: {chain}", at)
        if len(line) > EXTENDS_DEPTH_MAX:
            return tuple(line), policy.remark(
                "KP120", f"`extends` is more than {EXTENDS_DEPTH_MAX} deep", at
            )
        line.append(parent)
    return tuple(line), None


def effective(lineage: tuple[Policy, ...], rules: Mapping[str, WrittenRules]) -> Effective:
    predicates: list[AppliedRule] = []
    priorities: list[AppliedRule] = []
    for policy in reversed(lineage):
        written = rules[policy.name]
        heir = lineage[0].name
        predicates = _merged(predicates, policy, written.predicates, heir)
        priorities = _merged(priorities, policy, written.priorities, heir)
    return Effective(lineage, tuple(predicates), tuple(priorities))


def _merged(
    base: list[AppliedRule], policy: Policy, written: Iterable[WrittenRule], heir: str
) -> list[AppliedRule]:
    """A rule of the same name takes the place of the base's; others follow."""
    own = {rule.name: AppliedRule(rule, heir, _weight(rule)) for rule in written}
    is_conditional = bool(policy.model.spec.match_conditions)
    merged: list[AppliedRule] = []
    for rule in base:
        replacement = own.pop(rule.written.name, None)
        if replacement is None or is_conditional:
            kept = rule if replacement is None else replace(rule, unless=(*rule.unless, policy))
            merged.append(kept)
        if replacement is not None:
            merged.append(replacement)
    return [*merged, *own.values()]


def _weight(written: WrittenRule) -> int:
    rule = written.rule
    if not rule.enabled:
        return 0
    return rule.weight if isinstance(rule, Priority) else 1


def resolve(effectives: Iterable[Effective]) -> Resolution:
    profiles: dict[str, list[Served]] = {}
    said: list[Diagnostic] = []
    for one in effectives:
        seen: dict[str, Path] = {}
        for index, profile in enumerate(one.policy.model.spec.profiles):
            path = ("spec", "profiles", index)
            name = profile.scheduler_name
            if name in seen:
                note = Note("first here", span=one.policy.span((*seen[name], "schedulerName")))
                message = f"two profiles of this policy serve `{name}`"
                at = (*path, "schedulerName")
                said.append(one.policy.remark("KP104", message, at, notes=(note,)))
                continue
            seen[name] = path
            served, problems = _served(one, profile, path)
            said += problems
            profiles.setdefault(name, []).append(served)
    ordered = {
        name: tuple(sorted(served, key=_by_order)) for name, served in sorted(profiles.items())
    }
    return Resolution(ordered, tuple(said))


def _by_order(served: Served) -> tuple[int, str]:
    policy = served.effective.policy
    return policy.model.spec.order, policy.name


def _served(one: Effective, profile: Profile, path: Path) -> tuple[Served, list[Diagnostic]]:
    said: list[Diagnostic] = []
    weights: dict[str, int] = {}
    removed: set[str] = set()
    sides: tuple[
        tuple[str, Sequence[PredicateOverride | PriorityOverride], Sequence[AppliedRule]], ...
    ] = (
        ("predicates", profile.overrides.predicates, one.predicates),
        ("priorities", profile.overrides.priorities, one.priorities),
    )
    for side, overrides, rules in sides:
        known = {rule.written.name for rule in rules}
        for index, override in enumerate(overrides):
            if override.name not in known:
                at = (*path, "overrides", side, index, "name")
                said.append(
                    one.policy.remark(
                        "KP122",
                        f"no rule of `{side}` is called `{override.name}`",
                        at,
                        hint=did_you_mean(override.name, known),
                    )
                )
    for predicate in profile.overrides.predicates:
        if not predicate.enabled:
            removed.add(predicate.name)
    for priority in profile.overrides.priorities:
        if priority.weight is not None or not priority.enabled:
            weights[priority.name] = (priority.weight or 0) if priority.enabled else 0
    predicates = tuple(
        rule for rule in one.predicates if rule.weight and rule.written.name not in removed
    )
    weighted = (
        replace(rule, weight=weights.get(rule.written.name, rule.weight)) for rule in one.priorities
    )
    priorities = tuple(rule for rule in weighted if rule.weight)
    return Served(one, profile, path, predicates, priorities), said
