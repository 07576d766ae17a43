"""The program document: rules as its entries, and the whole as canonical JSON with a hash.

Programs that decide the same have the same hash: places in files do not count. The fields and the
encoding are described in `docs/internals/program.md`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from kpolicy.diagnostics import Place
from kpolicy.policy.assembly.expressions import Expressions, ExpressionSets
from kpolicy.policy.assembly.read_policy import Policy, condition_paths
from kpolicy.policy.assembly.resolve import AppliedRule
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

FORMAT: Final = 1
# Places in files are cited in messages and decide nothing. No map of the document has keys that an
# author chose, so these keys are always ours.
_OF_PLACES: Final = frozenset({"place", "spans", "sources"})


@dataclass(frozen=True, slots=True)
class ProgramProfile:
    """The part of a profile that Python needs; the engine has the rest."""

    scheduler_name: str
    extenders: tuple[Extender, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """`bytes` is what the engine loads; `hash` names it."""

    hash: str
    bytes: bytes
    policies: tuple[str, ...]
    profiles: tuple[ProgramProfile, ...]

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


def _meant(extender: Extender) -> dict[str, Any]:
    return extender.model_dump() | {"http_timeout": in_largest_unit(extender.http_timeout)}


def _costs(limits: Limits) -> dict[str, int]:
    fields = {"cost_per_node", "cost_per_cycle"}
    return limits.model_dump(by_alias=True, exclude_none=True, include=fields)


def encode(
    policies: Sequence[str],
    tie_break: str,
    profiles: Sequence[dict[str, Any]],
    extenders: Sequence[tuple[Extender, ...]],
    limits: Sequence[Limits] = (),
) -> Program:
    """The program. Its hash covers the document without places, and the extenders. `limits` are
    those of the policies, in their order."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "policies": list(policies),
        "tieBreak": tie_break,
        "profiles": list(profiles),
    }
    costs = list(map(_costs, limits))
    if any(costs):
        document["limits"] = costs
    asked = [list(map(_meant, of_profile)) for of_profile in extenders]
    meaning = canonical([_without_places(document), asked])
    document["hash"] = f"sha256:{sha256(meaning).hexdigest()}"
    shells = tuple(
        ProgramProfile(profile["schedulerName"], extended)
        for profile, extended in zip(profiles, extenders, strict=True)
    )
    return Program(document["hash"], canonical(document), tuple(policies), shells)


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
        if written.builtin is not None:
            return self._builtin(applied)
        is_audit = rule.enforcement == "audit" or written.policy.model.spec.shadow
        return {
            **self._expression(applied),
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
        minor = minor_of(written.policy.model.spec.compatibility.release or "")
        if minor is not None:
            scored["release"] = minor
        if written.builtin is not None:
            return {**self._builtin(applied), **scored}
        return {
            **self._expression(applied),
            **scored,
            "normalize": normalization(rule.normalize),
            "onError": rule.on_error,
        }

    def preemption(self, heir: str, policy: Policy, preemption: Preemption) -> dict[str, Any]:
        entry: dict[str, Any] = preemption.model_dump(by_alias=True, exclude_none=True)
        if preemption.victims is not None:
            path = ("spec", "preemption", "victims", "expression")
            entry["victims"] = {
                "policy": self._policies[policy.name],
                "expression": self._expressions.of(heir, policy.name).ir(path),
                "place": cited(policy.place(path)),
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
            "place": cited(written.place),
        }

    def _match(self, applied: AppliedRule) -> list[Any]:
        written = applied.written
        own = self._of(applied)
        of_policy = condition_paths(("spec",), written.policy.model.spec)
        of_rule = condition_paths(written.path, written.rule)
        replaced = (self._expressions.of(applied.heir, policy.name) for policy in applied.unless)
        return [*map(own.ir, of_policy + of_rule), *(policy.unmatched for policy in replaced)]


def cited(place: Place) -> str:
    return f"{place.file}:{place.line}:{place.column}"


def normalization(normalize: Normalize | None) -> dict[str, Any]:
    if normalize is None:
        return {"method": "none"}
    written = normalize.model_dump(by_alias=True, exclude_none=True)
    if normalize.points is not None:
        written["points"] = [[point.x, point.y] for point in normalize.points]
    return written
