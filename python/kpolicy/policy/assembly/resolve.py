"""Which rules serve which profile: bases, `overrides`, and several policies of one profile.

A policy stands on a base: `kube-scheduler-default`, unless it names another, or `none`. It has the
rules of its base, and a rule of the same name replaces the base's. A document's `matchConditions`
concern the rules written in it; an inherited rule stays under the conditions of the document that
wrote it. So a pod that a document does not match still gets the rules of its base, also those that
the document replaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from kpolicy.diagnostics import Diagnostic, Note, did_you_mean
from kpolicy.policy.assembly.read_policy import (
    DEVICE_SCORES,
    PREDICATES,
    PRIORITIES,
    Policy,
    WrittenRule,
    WrittenRules,
    only_removes,
)
from kpolicy.policy.limits import BASES_MAX
from kpolicy.policy.models.scheduling_policy import (
    BASE_DEFAULT,
    NO_BASE,
    Predicate,
    Preemption,
    Priority,
    Profile,
)
from kpolicy.policy.yaml.nodes import Path
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AppliedRule:
    """A rule as one profile has it."""

    written: WrittenRule
    # The policy of the profile that has the rule, its own or inherited. Its params count.
    heir: str
    weight: int = 1
    # Documents that replace the rule for the pods that they match.
    unless: tuple[Policy, ...] = ()


@dataclass(frozen=True, slots=True)
class Effective:
    """A policy with the rules it inherits. `lineage`: the policy itself, then its bases."""

    lineage: tuple[Policy, ...]
    predicates: tuple[AppliedRule, ...]
    priorities: tuple[AppliedRule, ...]
    # The rules as the bases wrote them; the policy may have replaced or removed some.
    predicates_of_bases: tuple[AppliedRule, ...]
    priorities_of_bases: tuple[AppliedRule, ...]

    @property
    def policy(self) -> Policy:
        return self.lineage[0]

    @property
    def preemption(self) -> tuple[Policy, Preemption] | None:
        """The nearest setting, with the policy that has it."""
        settings = ((policy, policy.model.spec.preemption) for policy in self.lineage)
        return next(((policy, found) for policy, found in settings if found is not None), None)


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
    # By the name of the policy.
    effectives: Mapping[str, Effective]
    # By scheduler name; policies by `order`, then name.
    profiles: Mapping[str, tuple[Served, ...]]
    diagnostics: tuple[Diagnostic, ...]


def lineages(
    policies: Sequence[Policy], library: Mapping[str, Policy]
) -> tuple[dict[str, tuple[Policy, ...]], list[Diagnostic]]:
    """Each policy by name with its bases, nearest first; `library`: further policies."""
    known = {**library, **{policy.name: policy for policy in policies}}
    findings: list[Diagnostic] = []
    return {policy.name: _lineage(policy, known, findings) for policy in policies}, findings


def _lineage(
    policy: Policy, known: Mapping[str, Policy], findings: list[Diagnostic]
) -> tuple[Policy, ...]:
    line = [policy]
    at: Path = ("spec", "base")
    while (name := line[-1].base) is not None:
        parent = known.get(name)
        if parent is None:
            # Reported once, for the document that names it.
            if len(line) == 1:
                findings.append(
                    policy.remark(
                        "KP120",
                        f"there is no policy `{name}` to stand on",
                        at,
                        hint=did_you_mean(name, {*known, NO_BASE} - {policy.name}),
                    )
                )
            break
        if parent in line:
            circle = " → ".join(f"`{policy.name}`" for policy in (*line, parent))
            hint = f"a policy called `{BASE_DEFAULT}` says `base: {NO_BASE}`"
            findings.append(
                policy.remark(
                    "KP120",
                    f"`base` runs in a circle: {circle}",
                    at,
                    hint=hint if parent.name == BASE_DEFAULT else "",
                )
            )
            return (policy,)
        if len(line) > BASES_MAX and line[-1].names_its_base:
            message = f"more than {BASES_MAX} policies follow each other by `base`"
            findings.append(policy.remark("KP120", message, at))
            break
        line.append(parent)
    return tuple(line)


def effective(lineage: tuple[Policy, ...], rules: Mapping[str, WrittenRules]) -> Effective:
    predicates: list[AppliedRule] = []
    priorities: list[AppliedRule] = []
    heir = lineage[0].name
    for policy in reversed(lineage):
        written = rules[policy.name]
        predicates = _merged(predicates, policy, written.predicates, heir)
        priorities = _merged(priorities, policy, written.priorities, heir)
    bases = [rules[base.name] for base in lineage[1:]]
    return Effective(
        lineage,
        tuple(predicates),
        tuple(priorities),
        tuple(_as_written(chain.from_iterable(base.predicates for base in bases), heir)),
        tuple(_as_written(chain.from_iterable(base.priorities for base in bases), heir)),
    )


def _as_written(rules: Iterable[WrittenRule], heir: str) -> Iterator[AppliedRule]:
    return (AppliedRule(rule, heir, _weight(rule)) for rule in rules)


def _merged(
    base: list[AppliedRule], policy: Policy, written: Iterable[WrittenRule], heir: str
) -> list[AppliedRule]:
    """A rule replaces the base's rule of the same name, at its place, or only removes it; new rules
    follow.

    A rule of a shadow policy replaces nothing."""
    own = {rule.name: AppliedRule(rule, heir, _weight(rule)) for rule in written}
    kept = {name: rule for name, rule in own.items() if not rule.written.only_removes}
    if policy.model.spec.shadow:
        return [*base, *kept.values()]
    is_conditional = bool(policy.model.spec.match_conditions)
    merged: list[AppliedRule] = []
    for rule in base:
        name = rule.written.name
        if name not in own:
            merged.append(rule)
            continue
        if is_conditional:
            merged.append(replace(rule, unless=(*rule.unless, policy)))
        if (replacement := kept.pop(name, None)) is not None:
            merged.append(replacement)
    return [*merged, *kept.values()]


def _weight(written: WrittenRule) -> int:
    weight = written.rule.weight if isinstance(written.rule, Priority) else 1
    return weight if written.rule.enabled else 0


def resolve(effectives: Sequence[Effective]) -> Resolution:
    profiles: dict[str, list[Served]] = {}
    findings: list[Diagnostic] = []
    for merged in effectives:
        policy, seen = merged.policy, dict[str, Path]()
        findings += _removed_in_vain(merged)
        for index, profile in enumerate(policy.model.spec.profiles):
            path = ("spec", "profiles", index)
            at = (*path, "schedulerName")
            name = profile.scheduler_name
            if name in seen:
                notes = (Note("first here", span=policy.span(seen[name])),)
                message = f"two profiles of this policy serve `{name}`"
                findings.append(policy.remark("KP104", message, at, notes=notes))
                continue
            seen[name] = at
            profiles.setdefault(name, []).append(_served(merged, profile, path, findings))
    by_name = sorted(profiles.items())
    return Resolution(
        {merged.policy.name: merged for merged in effectives},
        {name: tuple(sorted(served, key=_order)) for name, served in by_name},
        tuple(findings),
    )


def _removed_in_vain(merged: Effective) -> Iterator[Diagnostic]:
    """Rules of the document that remove what no base has."""
    sides: dict[Path, Sequence[AppliedRule]] = {
        PREDICATES: merged.predicates_of_bases,
        PRIORITIES: merged.priorities_of_bases,
        DEVICE_SCORES: merged.priorities_of_bases,
    }
    for path, rule in merged.policy.rules():
        known = {of_base.written.name for of_base in sides[path[:-1]]}
        if only_removes(rule) and rule.name not in known:
            kind = "predicate" if isinstance(rule, Predicate) else "priority"
            yield merged.policy.remark(
                "KP122",
                f"no {kind} of the base is called `{rule.name}`",
                (*path, "name"),
                hint=did_you_mean(rule.name or "", known),
            )


def _order(served: Served) -> tuple[int, str]:
    policy = served.effective.policy
    return policy.model.spec.order, policy.name


def _served(merged: Effective, profile: Profile, path: Path, findings: list[Diagnostic]) -> Served:
    overrides = profile.overrides
    for side, wanted, rules in (
        ("predicates", [override.name for override in overrides.predicates], merged.predicates),
        ("priorities", [override.name for override in overrides.priorities], merged.priorities),
    ):
        known = {rule.written.name for rule in rules}
        findings += (
            merged.policy.remark(
                "KP122",
                f"no rule of `{side}` is called `{name}`",
                (*path, "overrides", side, index, "name"),
                hint=did_you_mean(name, known),
            )
            for index, name in enumerate(wanted)
            if name not in known
        )
    removed = {override.name for override in overrides.predicates if not override.enabled}
    weights = {
        override.name: (override.weight or 0) if override.enabled else 0
        for override in overrides.priorities
        if override.weight is not None or not override.enabled
    }
    predicates = (r for r in merged.predicates if r.weight and r.written.name not in removed)
    priorities = (
        replace(rule, weight=weights.get(rule.written.name, rule.weight))
        for rule in merged.priorities
    )
    return Served(
        merged, profile, path, tuple(predicates), tuple(r for r in priorities if r.weight)
    )
