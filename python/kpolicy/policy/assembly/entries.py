"""Rules as entries of the program, with the fields that `docs/internals/program.md` describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kpolicy.diagnostics import Place
from kpolicy.policy.assembly.expressions import Expressions, ExpressionSets
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.assembly.resolve import AppliedRule
from kpolicy.policy.models.scheduling_policy import (
    Normalize,
    Predicate,
    Preemption,
    Priority,
    minor_of,
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
        conditions = [
            own.ir((*at, "matchConditions", index, "expression"))
            for at, listed in (
                (("spec",), written.policy.model.spec.match_conditions),
                (written.path, written.rule.match_conditions),
            )
            for index in range(len(listed))
        ]
        return conditions + [
            self._expressions.of(applied.heir, policy.name).unmatched() for policy in applied.unless
        ]


def cited(place: Place) -> str:
    return f"{place.file}:{place.line}:{place.column}"


def normalization(normalize: Normalize | None) -> dict[str, Any]:
    if normalize is None:
        return {"method": "none"}
    written = normalize.model_dump(by_alias=True, exclude_none=True)
    if normalize.points is not None:
        written["points"] = [[point.x, point.y] for point in normalize.points]
    return written
