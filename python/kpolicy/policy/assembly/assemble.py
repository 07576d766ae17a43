"""Assembles one profile of the program: merges the rules of its policies and orders the filters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, TypeAlias

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.assembly.expressions import ExpressionSets
from kpolicy.policy.assembly.program import Entries
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.assembly.resolve import AppliedRule, Served
from kpolicy.policy.models.builtins import POSITIONS
from kpolicy.policy.models.scheduling_policy import Extender, Preemption

NODES_TO_SCORE_DEFAULT: Final = 100
# A rule and its entry in the program.
_RuleEntry: TypeAlias = tuple[AppliedRule, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Assembled:
    entry: dict[str, Any]
    extenders: tuple[Extender, ...]


def assemble(
    scheduler_name: str,
    served: Sequence[Served],
    policies: Sequence[str],
    expressions: ExpressionSets,
    findings: list[Diagnostic],
) -> Assembled:
    """The profile `scheduler_name` of the program."""
    entries = Entries({name: index for index, name in enumerate(policies)}, expressions)
    extenders = tuple(extender for policy in served for extender in _extenders(policy))
    filters = [(rule, entries.filter(rule)) for rule in _filters(served, expressions)]
    scores = [(rule, entries.score(rule)) for rule in _scores(served, expressions)]
    _drop_ignored([entry for _, entry in filters + scores], extenders)
    entry = {
        "schedulerName": scheduler_name,
        "percentageOfNodesToScore": _percentage(served, findings),
        "filters": _once(filters),
        "scores": _summed(scores),
        "preemption": entries.preemption(*_preemption(served, findings)),
    }
    return Assembled(entry, extenders)


# The rules, and their order.


def _filters(served: Sequence[Served], expressions: ExpressionSets) -> list[AppliedRule]:
    rules = _united((rule for policy in served for rule in policy.predicates), expressions)
    orders = {policy.effective.policy.model.spec.predicate_order for policy in served}
    return rules if orders == {"asWritten"} else sorted(rules, key=_position)


def _scores(served: Sequence[Served], expressions: ExpressionSets) -> list[AppliedRule]:
    rules = _united((rule for policy in served for rule in policy.priorities), expressions)
    return [rule for rule in rules if not rule.written.policy.model.spec.shadow]


def _position(rule: AppliedRule) -> int:
    """Built-ins in the order of kube-scheduler, then expressions as they are written."""
    builtin = rule.written.builtin
    return POSITIONS[builtin.name] if builtin is not None else len(POSITIONS)


def _united(rules: Iterable[AppliedRule], expressions: ExpressionSets) -> list[AppliedRule]:
    """Each rule once, also where several policies of the profile inherit it from one document.

    Other values of params make it another rule. If any policy has the rule for all pods, it is for
    all pods.
    """
    found: dict[tuple[object, ...], AppliedRule] = {}
    for rule in rules:
        with_params = expressions.of(rule.heir, rule.written.policy.name)
        key = (*rule.written.identity, id(with_params))
        known = found.setdefault(key, rule)
        if not rule.unless or not known.unless:
            found[key] = replace(known, unless=())
        elif rule.unless != known.unless:
            found[key] = replace(known, unless=(*known.unless, *rule.unless))
    return list(found.values())


def _once(made: Iterable[_RuleEntry]) -> list[dict[str, Any]]:
    """Equal built-ins of several documents are one filter."""
    kept: list[_RuleEntry] = []
    for rule, entry in made:
        if "builtin" not in entry or all(entry != other for _, other in kept):
            kept.append((rule, entry))
    return _named_apart(kept)


def _summed(made: Iterable[_RuleEntry]) -> list[dict[str, Any]]:
    """Equal built-ins of several documents are one score with the sum of their weights."""
    kept: list[_RuleEntry] = []
    for rule, entry in made:
        equal = (other for _, other in kept if {**other, "weight": entry["weight"]} == entry)
        known = next(equal, None) if "builtin" in entry else None
        if known is None:
            kept.append((rule, entry))
        else:
            known["weight"] += entry["weight"]
    return _named_apart(kept)


def _named_apart(made: Iterable[_RuleEntry]) -> list[dict[str, Any]]:
    """Gives the rules of a profile unique names: a later rule of an equal name is `POLICY/NAME`,
    and `POLICY/NAME-2` if that exists too."""
    taken_names: set[str] = set()
    first: dict[str, AppliedRule] = {}
    entries = []
    for rule, entry in made:
        name, number = entry["name"], 2
        known = first.setdefault(name, rule)
        if known is not rule:
            policy = rule.heir if rule.heir != known.heir else rule.written.policy.name
            name = entry["name"] = f"{policy}/{name}"
        while entry["name"] in taken_names:
            entry["name"] = f"{name}-{number}"
            number += 1
        taken_names.add(entry["name"])
        entries.append(entry)
    return entries


# Settings that a profile has once.


def _percentage(served: Sequence[Served], findings: list[Diagnostic]) -> int:
    chosen: int | None = None
    for policy in served:
        path, wanted = policy.path, policy.profile.percentage_of_nodes_to_score
        if wanted is None:
            path = ("spec",)
            wanted = policy.effective.policy.model.spec.percentage_of_nodes_to_score
        if wanted is not None and chosen not in (None, wanted):
            message = f"another policy of this profile asks for {chosen} % of the nodes"
            at = (*path, "percentageOfNodesToScore")
            findings.append(policy.effective.policy.remark("KP116", message, at))
        chosen = wanted if chosen is None else chosen
    return NODES_TO_SCORE_DEFAULT if chosen is None else chosen


def _preemption(
    served: Sequence[Served], findings: list[Diagnostic]
) -> tuple[str, Policy, Preemption]:
    """The policy of the profile, the policy that states the setting, and the setting."""
    effectives = [policy.effective for policy in served]
    settings = [(e.policy.name, *e.preemption) for e in effectives if e.preemption is not None]
    default = effectives[0].policy
    chosen = settings[0] if settings else (default.name, default, Preemption())
    for _, policy, other in settings:
        if policy.name != chosen[1].name and other != chosen[2]:
            message = f"`{chosen[1].name}` sets preemption of this profile otherwise"
            findings.append(policy.remark("KP116", message, ("spec", "preemption")))
    return chosen


def _extenders(served: Served) -> tuple[Extender, ...]:
    own, *inherited = (policy.model.spec.extenders for policy in served.effective.lineage)
    return tuple(own or chain.from_iterable(inherited))


def _drop_ignored(entries: list[dict[str, Any]], extenders: tuple[Extender, ...]) -> None:
    """The resources that only extenders manage replace `ignoredResources`, as in kube-scheduler."""
    ignored = sorted(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    for entry in entries:
        if ignored and entry.get("builtin") == "NodeResourcesFit":
            entry["args"] = {**entry["args"], "ignoredResources": ignored}
