"""Assembles the program document: a profile for each scheduler name, with rules as its entries.

Merges the rules of the policies of a profile, orders the filters, and writes canonical JSON with a
hash. Programs that decide the same have the same hash: places in files do not count. The fields and
the encoding are described in `docs/internals/program.md`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.assembly.expressions import Expressions, ExpressionSets
from kpolicy.policy.assembly.helped_by import helped_by
from kpolicy.policy.assembly.queue_entries import hold_entries
from kpolicy.policy.assembly.queue_periods import NOTHING_WRITTEN, WrittenPeriods
from kpolicy.policy.assembly.read_policy import Policy, condition_paths
from kpolicy.policy.assembly.releases import Followed, is_followed
from kpolicy.policy.assembly.resolve import AppliedRule, Served
from kpolicy.policy.models.builtins import POSITIONS
from kpolicy.policy.models.plugin_sets import PluginSets
from kpolicy.policy.models.scheduling_policy import (
    Extender,
    Limits,
    Normalize,
    Predicate,
    Preemption,
    Priority,
    in_largest_unit,
    minor_of,
)
from kpolicy.policy.models.validation import defaults_of
from kpolicy.quick_dataclass import dataclass

try:  # as Python's own `random` does: hashlib loads OpenSSL first
    from _sha256 import sha256  # type: ignore[import-not-found]
except ImportError:
    from hashlib import sha256

FORMAT: Final = 1
# Places in files are cited in messages and decide nothing. No map of the document has keys that an
# author chose, so these keys are always ours.
_OF_PLACES: Final = frozenset({"place", "spans", "sources"})


_NEWEST: Final = Followed()
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ProgramProfile:
    """The part of a profile that Python needs; the engine has the rest."""

    scheduler_name: str
    extenders: tuple[Extender, ...]
    # None: all that are loaded, in the order of loading.
    plugins: PluginSets | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """`bytes` is what the engine loads; `hash` names it."""

    hash: str
    bytes: bytes
    policies: tuple[str, ...]
    profiles: tuple[ProgramProfile, ...]
    followed: Followed = _NEWEST
    # The engine knows nothing of these.
    periods: WrittenPeriods = NOTHING_WRITTEN

    @property
    def scheduler_names(self) -> tuple[str, ...]:
        return tuple(profile.scheduler_name for profile in self.profiles)


def canonical(document: object) -> bytes:
    """JSON with sorted keys, without spaces, in UTF-8: equal documents have equal bytes."""
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode("utf-8")


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_places(v) for k, v in value.items() if k not in _OF_PLACES}
    return [_without_places(item) for item in value] if isinstance(value, list) else value


def _costs(limits: Limits) -> dict[str, int]:
    fields = {"cost_per_node", "cost_per_cycle"}
    return limits.model_dump(by_alias=True, exclude_none=True, include=fields)


def encode(
    policies: Sequence[str],
    tie_break: str,
    profiles: Sequence[dict[str, Any]],
    extenders: Sequence[tuple[Extender, ...]],
    limits: Sequence[Limits] = (),
    *,
    followed: Followed = _NEWEST,
    plugins: Mapping[str, PluginSets | None] | None = None,
    queue: Mapping[str, Any] = _NOTHING,
    periods: WrittenPeriods = NOTHING_WRITTEN,
) -> Program:
    """The program. Its hash covers the document without places, the extenders, the plugins and the
    periods of the queue. `limits` are those of the policies, in their order, `plugins` those of
    profiles by name."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "policies": list(policies),
        "tieBreak": tie_break,
        "profiles": list(profiles),
    }
    costs = list(map(_costs, limits))
    if any(costs):
        document["limits"] = costs
    if queue:
        document["queue"] = dict(queue)
    return sealed(document, extenders, followed, plugins, periods)


def sealed(
    document: dict[str, Any],
    extenders: Sequence[tuple[Extender, ...]],
    followed: Followed,
    plugins: Mapping[str, PluginSets | None] | None = None,
    periods: WrittenPeriods = NOTHING_WRITTEN,
) -> Program:
    """The program of a document without a hash and a release; `extenders` are those of its
    profiles. Python needs no more than one profile of each scheduler name: those of tenants have
    the same extenders."""
    asked = [
        [
            each.model_dump() | {"http_timeout": in_largest_unit(each.http_timeout)}
            for each in listed
        ]
        for listed in extenders
    ]
    # A policy has one hash in all clusters, unless it asks for a release.
    named = {k: v for k, v in followed.fields().items() if k != "release" or followed.is_asked}
    sets = {name: chosen for name, chosen in (plugins or {}).items() if chosen is not None}
    shown: list[object] = []
    if sets:
        shown.append({name: chosen.model_dump() for name, chosen in sets.items()})
    if periods.fields():
        shown.append({"queue": periods.fields()})
    meaning = canonical([_without_places({**document, **named}), asked, *shown])
    document = {**document, **followed.fields()}
    sealed_document = {**document, "hash": f"sha256:{sha256(meaning).hexdigest()}"}
    shells = tuple(
        ProgramProfile(profile["schedulerName"], extended, sets.get(profile["schedulerName"]))
        for profile, extended in zip(document["profiles"], extenders, strict=True)
        if "tenant" not in profile
    )
    return Program(
        sealed_document["hash"],
        canonical(sealed_document),
        tuple(document["policies"]),
        shells,
        followed,
        periods,
    )


def one_line(message: str) -> str:
    """Events show a single line."""
    return " ".join(message.split())


def camel_case(name: str) -> str:
    """`no-spot-for-critical` → `NoSpotForCritical`: the reason of a rule that states none."""
    words = "".join(c if c.isalnum() else " " for c in name).split()
    return "".join(word[:1].upper() + word[1:] for word in words) or "Rejected"


class Entries:
    """Makes entries. `policies`: the index by which an entry cites its document."""

    def __init__(self, policies: Mapping[str, int], expressions: ExpressionSets) -> None:
        self._policies = policies
        self._expressions = expressions

    def filter(self, applied: AppliedRule) -> dict[str, Any]:
        written, rule = applied.written, applied.written.rule
        assert isinstance(rule, Predicate)
        # Only where it is not what the engine assumes of a rule.
        is_beyond = helped_by(applied, self._expressions) == "other"
        helped = {"helpedBy": "other"} if is_beyond else {}
        if written.builtin is not None:
            return {**self._builtin(applied), **helped}
        is_audit = rule.enforcement == "audit" or written.policy.model.spec.shadow
        return {
            **self._expression(applied),
            **helped,
            "failurePolicy": written.policy.model.spec.failure_policy,
            "message": one_line(rule.message or f"node(s) didn't pass {written.name}"),
            "messageExpression": self._of(applied).ir((*written.path, "messageExpression")),
            "reason": camel_case(rule.reason or written.name),
            "preemptible": rule.preemptible,
            "enforcement": "audit" if is_audit else "deny",
            "onError": rule.on_error,
        }

    def score(self, applied: AppliedRule) -> dict[str, Any]:
        written, rule = applied.written, applied.written.rule
        assert isinstance(rule, Priority)
        scored: dict[str, Any] = {"weight": applied.weight}
        release = written.policy.model.spec.compatibility.release or ""
        minor = minor_of(release)
        if minor is not None and not is_followed(release):
            scored["release"] = minor
        if written.builtin is not None:
            return {**self._builtin(applied), **scored}
        if written.scores_devices:
            return {**self._expression(applied), "weight": applied.weight}
        return {
            **self._expression(applied),
            **scored,
            "normalize": normalization(rule.normalize),
            "onError": rule.on_error,
        }

    def preemption(self, heir: str, policy: Policy, preemption: Preemption) -> dict[str, Any]:
        entry: dict[str, Any] = preemption.model_dump(by_alias=True, exclude_none=True)
        if not preemption.frees_devices:
            del entry["freesDevices"]
        if preemption.victims is not None:
            path = ("spec", "preemption", "victims", "expression")
            entry["victims"] = {
                "policy": self._policies[policy.name],
                "expression": self._expressions.of(heir, policy.name).ir(path),
                "place": str(policy.place(path)),
            }
        return entry

    def _of(self, applied: AppliedRule) -> Expressions:
        return self._expressions.of(applied.heir, applied.written.policy.name)

    def _builtin(self, applied: AppliedRule) -> dict[str, Any]:
        written = applied.written
        entry: dict[str, Any] = {
            "name": written.name,
            "builtin": written.rule.builtin,
            "args": dict(written.args),
        }
        match = self._match(applied)
        if match:
            spec = written.policy.model.spec
            entry |= {
                "policy": self._policies[written.policy.name],
                "match": match,
                "failurePolicy": spec.failure_policy,
            }
        return entry

    def _expression(self, applied: AppliedRule) -> dict[str, Any]:
        written = applied.written
        return {
            "name": written.name,
            "policy": self._policies[written.policy.name],
            "expression": self._of(applied).ir((*written.path, "expression")),
            "match": self._match(applied),
            "place": str(written.place),
        }

    def _match(self, applied: AppliedRule) -> list[Any]:
        written = applied.written
        own = self._of(applied)
        of_policy = condition_paths(("spec",), written.policy.model.spec)
        of_rule = condition_paths(written.path, written.rule)
        replaced = (self._expressions.of(applied.heir, policy.name) for policy in applied.unless)
        return [*map(own.ir, of_policy + of_rule), *(policy.unmatched for policy in replaced)]


def normalization(normalize: Normalize | None) -> dict[str, Any]:
    if normalize is None:
        return {"method": "none"}
    written = normalize.model_dump(by_alias=True, exclude_none=True)
    if normalize.points is not None:
        written["points"] = [[point.x, point.y] for point in normalize.points]
    return written


NODES_TO_SCORE_DEFAULT: Final = 100
# A rule and its entry in the program.
_RuleEntry: TypeAlias = tuple[AppliedRule, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Assembled:
    entry: dict[str, Any]
    extenders: tuple[Extender, ...]
    plugins: PluginSets | None


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
    holds = hold_entries(served, policies, expressions)
    summed = _summed(scores)
    of_devices = [entry for rule, entry in scores if rule.written.scores_devices]
    entry = {
        "schedulerName": scheduler_name,
        "percentageOfNodesToScore": _percentage(served, findings),
        "filters": _once(filters),
        "scores": [entry for entry in summed if all(entry is not own for own in of_devices)],
        "preemption": entries.preemption(*_preemption(served, findings)),
        **({"holds": holds} if holds else {}),
    }
    if of_devices:
        entry["devices"] = of_devices
    return Assembled(entry, extenders, _plugins(served))


# The rules, and their order.


def _filters(served: Sequence[Served], expressions: ExpressionSets) -> list[AppliedRule]:
    rules = _united((rule for policy in served for rule in policy.predicates), expressions)
    orders = {policy.effective.policy.model.spec.predicate_order for policy in served}
    return rules if orders == {"asWritten"} else sorted(rules, key=_position)


def _scores(served: Sequence[Served], expressions: ExpressionSets) -> list[AppliedRule]:
    """A base's score counts as the policy says that changes it, also beside policies that do not:
    a predicate more is safe, but the score of a base beside its replacement would be a third."""
    changes = [change for policy in served for change in _changes(policy)]
    rules = _united((rule for policy in served for rule in policy.priorities), expressions)
    changed = (_with_changes(rule, changes) for rule in rules)
    return [r for r in changed if r.weight and not r.written.policy.model.spec.shadow]


def _changes(served: Served) -> Iterator[AppliedRule]:
    """The scores of its bases that the policy of the profile changes: removed ones weigh 0."""
    has = {rule.written.identity: rule for rule in served.priorities}
    for base in served.effective.priorities_of_bases:
        applied = has.get(base.written.identity) or replace(base, weight=0)
        if (applied.weight, applied.unless) != (base.weight, base.unless):
            yield applied


def _with_changes(rule: AppliedRule, changes: Iterable[AppliedRule]) -> AppliedRule:
    for change in changes:
        if change.written.identity == rule.written.identity:
            unless = {policy.name: policy for policy in (*rule.unless, *change.unless)}
            rule = replace(rule, weight=change.weight, unless=tuple(unless.values()))
    return rule


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
    chosen = settings[0] if settings else (default.name, default, defaults_of(Preemption)())
    for _, policy, other in settings:
        if policy.name != chosen[1].name and other != chosen[2]:
            message = f"`{chosen[1].name}` sets preemption of this profile otherwise"
            findings.append(policy.remark("KP116", message, ("spec", "preemption")))
    return chosen


def _extenders(served: Served) -> tuple[Extender, ...]:
    own, *inherited = (policy.model.spec.extenders for policy in served.effective.lineage)
    return tuple(own or chain.from_iterable(inherited))


def _plugins(served: Sequence[Served]) -> PluginSets | None:
    """What the policies of the profile say, one after the other; each itself, or else its nearest
    base."""
    joined: PluginSets | None = None
    for policy in served:
        said_by = (each.model.spec.plugins for each in policy.effective.lineage)
        sets = next((found for found in said_by if found is not None), None)
        if sets is not None:
            joined = sets if joined is None else joined.joined(sets)
    return joined


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
