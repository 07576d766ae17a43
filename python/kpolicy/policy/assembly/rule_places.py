"""Where the rules of a program, and the parts of their expressions, stand in the files.

Owns finding them again by what the program cites, and which parts of an expression are decisions:
the operands of `&&` and `||`, the conditions of `?:`, and what a predicate or a condition gives.
Assumes a program compiled of the same sources. Must not know what the parts gave.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.diagnostics import Place, Span
from kpolicy.policy.assembly.entries import cited
from kpolicy.policy.assembly.program import Program
from kpolicy.policy.assembly.read_policy import Policy, read_policies
from kpolicy.policy.document_kinds import find_documents
from kpolicy.policy.yaml.nodes import Path, Scalar, find
from kpolicy.policy.yaml.scalar_map import ScalarMap
from kpolicy.policy.yaml.source import Source, SourceText

_CONNECTIVES: Final = ("and", "or")
_VARYING: Final = ("fact", "present", "member", "present_member", "slot")
_SIDES: Final = {"filters": "predicates", "scores": "priorities"}


@dataclass(frozen=True, slots=True)
class Part:
    """A decision inside an expression; `node` is its index in the IR."""

    node: int
    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class ExpressionParts:
    root: int
    place: Place
    text: str
    decisions: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class RuleParts:
    """One rule of one profile. `expression` is None for a built-in with conditions."""

    scheduler_name: str
    name: str
    is_predicate: bool
    file: str
    place: Place
    expression: ExpressionParts | None
    conditions: tuple[ExpressionParts, ...]


@dataclass(slots=True)
class _Found:
    """The rules of the sources by what a program says of them."""

    by_place: dict[str, tuple[Policy, Path]] = field(default_factory=dict)
    by_name: dict[tuple[str, str, str], tuple[Policy, Path]] = field(default_factory=dict)
    policies: dict[str, Policy] = field(default_factory=dict)


def rule_parts(sources: Sequence[Source], program: Program) -> list[RuleParts]:
    """Every rule of the program that is written in `sources` and has an expression."""
    found = _index(read_policies(find_documents(sources).documents).policies)
    document = json.loads(program.bytes)
    listed: list[RuleParts] = []
    for profile in document["profiles"]:
        for side, written in _SIDES.items():
            for entry in profile[side]:
                known = _rule(entry, written, found, document["policies"])
                if known is not None:
                    listed.append(_parts(profile["schedulerName"], entry, side, known, found))
    return listed


def _index(policies: Iterable[Policy]) -> _Found:
    found = _Found()
    for policy in policies:
        found.policies.setdefault(policy.name, policy)
        spec = policy.model.spec
        for side, rules in (("predicates", spec.predicates), ("priorities", spec.priorities)):
            for index, rule in enumerate(rules):
                path: Path = ("spec", side, index)
                name = rule.name or rule.builtin or ""
                found.by_name.setdefault((policy.name, side, name), (policy, path))
                if rule.expression is not None:
                    at = cited(policy.place((*path, "expression")))
                    found.by_place.setdefault(at, (policy, path))
    return found


def _rule(
    entry: dict[str, Any], side: str, found: _Found, names: Sequence[str]
) -> tuple[Policy, Path] | None:
    if "place" in entry:
        return found.by_place.get(entry["place"])
    if "policy" in entry:
        return found.by_name.get((names[entry["policy"]], side, entry["name"]))
    return None


def _parts(
    scheduler_name: str,
    entry: dict[str, Any],
    side: str,
    known: tuple[Policy, Path],
    found: _Found,
) -> RuleParts:
    policy, path = known
    is_predicate = side == "filters"
    expression = None
    if "expression" in entry:
        at = (*path, "expression")
        expression = _expression(entry["expression"], policy, at, found, is_bool=is_predicate)
    conditions = [
        _expression(ir, policy, at, found, is_bool=True)
        for ir, at in zip(entry.get("match", ()), _conditions(policy, path), strict=False)
    ]
    named = find(policy.tree, (*path, "name"))
    place = policy.place((*path, "name" if named is not None else "builtin"))
    return RuleParts(
        scheduler_name,
        entry["name"],
        is_predicate,
        policy.text.name,
        place,
        expression,
        tuple(one for one in conditions if one is not None),
    )


def _conditions(policy: Policy, path: Path) -> Iterator[Path]:
    """In the order in which a program lists them; those of other documents follow."""
    spec = policy.model.spec
    for index in range(len(spec.match_conditions)):
        yield ("spec", "matchConditions", index, "expression")
    rules = spec.predicates if path[1] == "predicates" else spec.priorities
    for index in range(len(rules[int(path[2])].match_conditions)):
        yield (*path, "matchConditions", index, "expression")


def _expression(
    ir: dict[str, Any], policy: Policy, path: Path, found: _Found, *, is_bool: bool
) -> ExpressionParts | None:
    scalar = find(policy.tree, path)
    if not isinstance(scalar, Scalar):
        return None
    locate = _Locator(policy, scalar, found)
    decisions = []
    for node in _decisions(ir, is_bool=is_bool):
        part = locate.part(node, ir["spans"][node])
        if part is not None:
            decisions.append(part)
    return ExpressionParts(ir["root"], policy.place(path), scalar.text, tuple(decisions))


def _decisions(ir: dict[str, Any], *, is_bool: bool) -> list[int]:
    """Operands and conditions that are no connective themselves, for those have operands; and
    what can be only one thing, whatever pod and node are, is no decision."""
    nodes, spans, varies = ir["nodes"], ir["spans"], _varying(ir["nodes"])
    chosen = {ir["root"]} if is_bool else set()
    for node, span in zip(nodes, spans, strict=True):
        args = node.get("args", ())
        operands = args if node["op"] in _CONNECTIVES else ()
        if node["op"] == "conditional":
            operands = args[:1]
        # `label(x, k)` is a conditional too, that nobody wrote.
        chosen.update(arg for arg in operands if spans[arg] != span)
    leaves = (node for node in chosen if nodes[node]["op"] not in _CONNECTIVES)
    return sorted({ir["root"]} & chosen | {node for node in leaves if varies[node]})


def _varying(nodes: Sequence[dict[str, Any]]) -> list[bool]:
    varies: list[bool] = []
    for node in nodes:
        varies.append(node["op"] in _VARYING or any(varies[arg] for arg in node.get("args", ())))
    return varies


class _Locator:
    """From spans of an IR to places, also of what a variable holds."""

    def __init__(self, policy: Policy, scalar: Scalar, found: _Found) -> None:
        self._policy = policy
        self._found = found
        self._own = (policy.text, scalar, ScalarMap(policy.text.text, scalar))
        self._variables: dict[str, tuple[SourceText, Scalar, ScalarMap] | None] = {}

    def part(self, node: int, span: Sequence[Any]) -> Part | None:
        where = self._own
        if len(span) > 2:
            variable = self._variable(str(span[2]).removeprefix("variables."))
            if variable is None:
                return None
            where = variable
        text, scalar, to_file = where
        start, end = span[0], span[1]
        quoted = " ".join(scalar.text[start:end].split())
        return Part(node, text.place(to_file.span(Span(start, end))), quoted)

    def _variable(self, name: str) -> tuple[SourceText, Scalar, ScalarMap] | None:
        if name not in self._variables:
            self._variables[name] = self._defined(name)
        return self._variables[name]

    def _defined(self, name: str) -> tuple[SourceText, Scalar, ScalarMap] | None:
        """By the policy itself, or the nearest that it extends."""
        policy: Policy | None = self._policy
        while policy is not None:
            spec = policy.model.spec
            for index, variable in enumerate(spec.variables):
                scalar = find(policy.tree, ("spec", "variables", index, "expression"))
                if variable.name == name and isinstance(scalar, Scalar):
                    return policy.text, scalar, ScalarMap(policy.text.text, scalar)
            policy = self._found.policies.get(spec.extends or "")
        return None
