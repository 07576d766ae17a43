"""One profile's rules as entries of the program.

Owns merging the policies of a profile and the order of filters. Assumes that the rules are resolved
by name. Must not know YAML, nor the fields of an entry beyond name, built-in, args and weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.assembly.entries import Entries
from kpolicy.policy.assembly.expressions import ExpressionSets
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.assembly.resolve import AppliedRule, Served
from kpolicy.policy.models.builtins import POSITIONS
from kpolicy.policy.models.scheduling_policy import Extender, Preemption

NODES_TO_SCORE_DEFAULT: Final = 100
# A rule, and its entry in the program.
_Made: TypeAlias = tuple[AppliedRule, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Assembled:
    entry: dict[str, Any]
    extenders: tuple[Extender, ...]
    diagnostics: tuple[Diagnostic, ...]


def assemble(
    scheduler_name: str,
    served: Sequence[Served],
    policies: Sequence[str],
    expressions: ExpressionSets,
) -> Assembled:
    """The profile `scheduler_name` of the program."""
    maker = Entries({name: index for index, name in enumerate(policies)}, expressions)
    extenders = tuple(e for one in served for e in _extenders(one))
    filters = [(rule, maker.filter(rule)) for rule in _filters(served, expressions)]
    scores = [(rule, maker.score(rule)) for rule in _scores(served, expressions)]
    _drop_ignored([entry for _, entry in filters + scores], extenders)
    percentage, said_percentage = _percentage(served)
    preemption, said_preemption = _preemption(served)
    entry = {
        "schedulerName": scheduler_name,
        "percentageOfNodesToScore": percentage,
        "filters": _once(filters),
        "scores": _summed(scores),
        "preemption": maker.preemption(*preemption),
    }
    said = [*said_percentage, *said_preemption]
    return Assembled(entry, extenders, tuple(said))


# Which rules, and in which order.


def _filters(served: Sequence[Served], expressions: ExpressionSets) -> list[AppliedRule]:
    rules = _united((rule for one in served for rule in one.predicates), expressions)
    if all(one.effective.policy.model.spec.predicate_order == "asWritten" for one in served):
        return rules
    return sorted(rules, key=_position)


def _scores(served: Sequence[Served], expressions: ExpressionSets) -> list[AppliedRule]:
    rules = _united((rule for one in served for rule in one.priorities), expressions)
    return [rule for rule in rules if not rule.written.policy.model.spec.shadow]


def _position(rule: AppliedRule) -> int:
    """kube-scheduler's order for built-ins; expressions after them, as they come."""
    builtin = rule.written.builtin
    return POSITIONS[builtin.name] if builtin is not None else len(POSITIONS)


def _united(rules: Iterable[AppliedRule], expressions: ExpressionSets) -> list[AppliedRule]:
    """A rule that several policies of a profile have from one document counts once, unless they
    have it with other values of params.

    If one of them has it for all pods, it is for all pods.
    """
    found: dict[tuple[object, ...], AppliedRule] = {}
    for rule in rules:
        with_params = expressions.of(rule.heir, rule.written.policy.name)
        key = (*rule.written.identity, id(with_params))
        known = found.get(key)
        if known is None:
            found[key] = rule
        elif not rule.unless or not known.unless:
            found[key] = replace(known, unless=())
        elif rule.unless != known.unless:
            found[key] = replace(known, unless=(*known.unless, *rule.unless))
    return list(found.values())


def _once(made: Iterable[_Made]) -> list[dict[str, Any]]:
    """A built-in that two documents list with the same arguments is asked once."""
    kept: list[_Made] = []
    for rule, entry in made:
        if "builtin" in entry and any(entry == other for _, other in kept):
            continue
        kept.append((rule, entry))
    return _named_apart(kept)


def _summed(made: Iterable[_Made]) -> list[dict[str, Any]]:
    """Priorities of several documents add: equal built-ins are one with the sum of weights."""
    kept: list[_Made] = []
    for rule, entry in made:
        rest = {key: value for key, value in entry.items() if key != "weight"}
        for _, other in kept:
            if "builtin" in entry and rest == {k: v for k, v in other.items() if k != "weight"}:
                other["weight"] += entry["weight"]
                break
        else:
            kept.append((rule, entry))
    return _named_apart(kept)


def _named_apart(made: Iterable[_Made]) -> list[dict[str, Any]]:
    """Names are unique in a profile; a later one of the same name is `POLICY/NAME`, by the policy
    that makes it differ, and has a number only if that is taken too."""
    taken: set[str] = set()
    first: dict[str, AppliedRule] = {}
    entries = []
    for rule, entry in made:
        name, number = entry["name"], 2
        known = first.setdefault(name, rule)
        if known is not rule:
            policy = rule.heir if rule.heir != known.heir else rule.written.policy.name
            name = entry["name"] = f"{policy}/{name}"
        while entry["name"] in taken:
            entry["name"] = f"{name}-{number}"
            number += 1
        taken.add(entry["name"])
        entries.append(entry)
    return entries


# Settings that a profile has once.


def _percentage(served: Sequence[Served]) -> tuple[int, list[Diagnostic]]:
    chosen: int | None = None
    said: list[Diagnostic] = []
    for one in served:
        path, asked = (
            (*one.path, "percentageOfNodesToScore"),
            (one.profile.percentage_of_nodes_to_score),
        )
        if asked is None:
            path = ("spec", "percentageOfNodesToScore")
            asked = one.effective.policy.model.spec.percentage_of_nodes_to_score
        if asked is None:
            continue
        if chosen is not None and asked != chosen:
            said.append(
                one.effective.policy.remark(
                    "KP116",
                    f"another policy of this profile asks for {chosen} % of the nodes",
                    path,
                )
            )
        chosen = asked if chosen is None else chosen
    return (NODES_TO_SCORE_DEFAULT if chosen is None else chosen), said


def _preemption(
    served: Sequence[Served],
) -> tuple[tuple[str, Policy, Preemption], list[Diagnostic]]:
    """With the name of the policy that has it."""
    stated = [one.effective.preemption for one in served]
    position = next((index for index, one in enumerate(stated) if one is not None), 0)
    policy, first = served[position].effective.policy, stated[position]
    if first is None:
        return (policy.name, policy, Preemption()), []
    said = [
        other[0].remark(
            "KP116",
            f"`{first[0].name}` sets preemption of this profile otherwise",
            ("spec", "preemption"),
        )
        for other in stated
        if other is not None and other[0].name != first[0].name and other[1] != first[1]
    ]
    return (policy.name, *first), said


def _extenders(served: Served) -> tuple[Extender, ...]:
    own = served.effective.policy.model.spec.extenders
    inherited = [e for policy in served.effective.lineage[1:] for e in policy.model.spec.extenders]
    return tuple(own or inherited)


def _drop_ignored(entries: list[dict[str, Any]], extenders: tuple[Extender, ...]) -> None:
    """What an extender manages alone replaces `ignoredResources`, as in kube-scheduler."""
    ignored = sorted(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    for entry in entries:
        if ignored and entry.get("builtin") == "NodeResourcesFit":
            entry["args"] = {**entry["args"], "ignoredResources": ignored}
