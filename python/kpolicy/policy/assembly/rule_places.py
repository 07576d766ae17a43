"""The places in files of the rules of a program, and of the decisions inside their expressions.

Decisions are the operands of `&&` and `||`, the conditions of `?:`, and the result of a predicate
or match condition. The program must be compiled from the same sources.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from kpolicy.diagnostics import Place, Span
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.assembly.queue_entries import HOLDS, ORDER
from kpolicy.policy.assembly.read_policy import Policy, condition_paths, read_policies
from kpolicy.policy.document_kinds import find_documents
from kpolicy.policy.models.scheduling_policy import Hold, Predicate, Priority
from kpolicy.policy.yaml.nodes import Path, Scalar, find
from kpolicy.policy.yaml.scalar_map import ScalarMap
from kpolicy.policy.yaml.source import Source, SourceText
from kpolicy.quick_dataclass import dataclass

_CONNECTIVES: Final = ("and", "or")
_VARYING: Final = ("fact", "present", "member", "present_member", "slot")
# By the lists of a profile: what the engine calls their rules, and the lists of policies.
_SIDES: Final = {
    "filters": ("filter", "predicates"),
    "scores": ("score", "priorities"),
    "devices": ("device", "devices"),
    "holds": ("hold", "queue"),
}
_TRUE_OR_FALSE: Final = ("filter", "hold")
_ORDER_NAME: Final = "queue.order"


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
    """One rule of one profile. `side` is what the engine calls what it is for: filter, score,
    device, hold or order. `expression` is None for a built-in with conditions."""

    scheduler_name: str
    name: str
    side: str
    file: str
    place: Place
    expression: ExpressionParts | None
    conditions: tuple[ExpressionParts, ...]

    @property
    def is_true_or_false(self) -> bool:
        return self.side in _TRUE_OR_FALSE


_Policies: TypeAlias = Mapping[str, Policy]
_Rule: TypeAlias = tuple[Policy, Path, Predicate | Priority | Hold]


def rule_parts(sources: Sequence[Source], program: Program) -> list[RuleParts]:
    """Every rule of the program that is written in `sources` and has an expression."""
    listed = read_policies(find_documents(sources).documents).policies
    policies = {policy.name: policy for policy in reversed(listed)}
    rules = _cited_rules(listed)
    document = json.loads(program.bytes)
    found = [
        _parts((profile["schedulerName"], side), entry, rule, policies)
        for profile in document["profiles"]
        for listed, (side, field) in _SIDES.items()
        for entry in profile.get(listed, ())
        if (rule := rules.get(_citation(entry, field, document["policies"]))) is not None
    ]
    order = document.get("queue", {}).get("order")
    ordering = next((each for each in listed if _orders(each, order)), None)
    if ordering is not None:
        names = [profile["schedulerName"] for profile in document["profiles"]]
        found += (_order_parts(name, order, ordering, policies) for name in names)
    return found


def _orders(policy: Policy, order: Mapping[str, Any] | None) -> bool:
    queue = policy.model.spec.queue
    has_order = queue is not None and queue.order is not None
    at = (*ORDER, "expression")
    return order is not None and has_order and order["place"] == str(policy.place(at))


def _order_parts(
    scheduler_name: str, order: Mapping[str, Any], policy: Policy, policies: _Policies
) -> RuleParts:
    at = (*ORDER, "expression")
    expression = _expression(order["expression"], policy, at, policies, is_bool=False)
    place, file = policy.place(at), policy.text.name
    return RuleParts(scheduler_name, _ORDER_NAME, "order", file, place, expression, ())


def _citation(entry: dict[str, Any], side: str, names: Sequence[str]) -> object:
    """A program cites an expression by its place, and a built-in with conditions by its name."""
    name = names[entry["policy"]] if "policy" in entry else ""
    return entry.get("place") or (name, side, entry["name"])


def _cited_rules(policies: Iterable[Policy]) -> dict[object, _Rule]:
    """The rules of the sources, by what a program cites; the first one of a name counts."""
    found: dict[object, _Rule] = {}
    for policy in policies:
        for path, rule in policy.rules():
            name = rule.name or rule.builtin or ""
            found.setdefault((policy.name, path[1], name), (policy, path, rule))
            if rule.expression is not None:
                place = policy.place((*path, "expression"))
                found.setdefault(str(place), (policy, path, rule))
        queue = policy.model.spec.queue
        for index, hold in enumerate(queue.holds if queue is not None else ()):
            path = (*HOLDS, index)
            found.setdefault(str(policy.place((*path, "when"))), (policy, path, hold))
    return found


def _parts(
    of: tuple[str, str], entry: dict[str, Any], rule: _Rule, policies: _Policies
) -> RuleParts:
    """`of`: the profile, and what the engine calls what the rule is for."""
    scheduler_name, side = of
    policy, path, model = rule
    expression = None
    key = "when" if isinstance(model, Hold) else "expression"
    if key in entry:
        is_bool = side in _TRUE_OR_FALSE
        expression = _expression(entry[key], policy, (*path, key), policies, is_bool=is_bool)
    # The order of the program; conditions of other documents follow there.
    paths = (*condition_paths(("spec",), policy.model.spec), *condition_paths(path, model))
    conditions = (
        _expression(ir, policy, at, policies, is_bool=True)
        for ir, at in zip(entry.get("match", ()), paths, strict=False)
    )
    named = find(policy.tree, (*path, "name"))
    return RuleParts(
        scheduler_name,
        entry["name"],
        side,
        policy.text.name,
        policy.place((*path, "name" if named is not None else "builtin")),
        expression,
        tuple(filter(None, conditions)),
    )


def _expression(
    ir: dict[str, Any], policy: Policy, path: Path, policies: _Policies, *, is_bool: bool
) -> ExpressionParts | None:
    scalar = find(policy.tree, path)
    if not isinstance(scalar, Scalar):
        return None
    locate = _Locator(policy, scalar, policies)
    parts = (locate.part(node, ir["spans"][node]) for node in _decisions(ir, is_bool=is_bool))
    decisions = tuple(filter(None, parts))
    return ExpressionParts(ir["root"], policy.place(path), scalar.text, decisions)


def _decisions(ir: dict[str, Any], *, is_bool: bool) -> list[int]:
    """The IR nodes that are decisions.

    An operand that is `&&` or `||` itself has decisions of its own. A constant operand decides
    nothing.
    """
    nodes, spans, varies = ir["nodes"], ir["spans"], _varying(ir["nodes"])
    chosen = {ir["root"]} if is_bool else set()
    for node, span in zip(nodes, spans, strict=True):
        args = node.get("args", ())
        operands = args if node["op"] in _CONNECTIVES else ()
        if node["op"] == "conditional":
            operands = args[:1]
        # `label(x, k)` is compiled to a conditional too, which has the span of its condition.
        chosen.update(arg for arg in operands if spans[arg] != span)
    leaves = (node for node in chosen if nodes[node]["op"] not in _CONNECTIVES)
    return sorted({ir["root"]} & chosen | {node for node in leaves if varies[node]})


def _varying(nodes: Sequence[dict[str, Any]]) -> list[bool]:
    """By IR node: whether its value depends on the pod or the node."""
    varies: list[bool] = []
    for node in nodes:
        varies.append(node["op"] in _VARYING or any(varies[arg] for arg in node.get("args", ())))
    return varies


_Located: TypeAlias = tuple[SourceText, Scalar, ScalarMap]


class _Locator:
    """From spans of an IR to places in files, also for the expressions of variables."""

    def __init__(self, policy: Policy, scalar: Scalar, policies: _Policies) -> None:
        self._policy = policy
        self._policies = policies
        # By the name of the variable; the expression itself has none.
        self._located: dict[str, _Located | None] = {"": _located(policy, scalar)}

    def part(self, node: int, span: Sequence[Any]) -> Part | None:
        name = str(span[2]).removeprefix("variables.") if len(span) > 2 else ""
        if name not in self._located:
            self._located[name] = self._defined(name)
        located = self._located[name]
        if located is None:
            return None
        text, scalar, to_file = located
        quoted = " ".join(scalar.text[span[0] : span[1]].split())
        return Part(node, text.place(to_file.span(Span(span[0], span[1]))), quoted)

    def _defined(self, name: str) -> _Located | None:
        """The definition of a variable in the policy itself, or in the nearest of its bases."""
        policy: Policy | None = self._policy
        while policy is not None:
            spec = policy.model.spec
            for index, variable in enumerate(spec.variables):
                scalar = find(policy.tree, ("spec", "variables", index, "expression"))
                if variable.name == name and isinstance(scalar, Scalar):
                    return _located(policy, scalar)
            policy = self._policies.get(policy.base or "")
        return None


def _located(policy: Policy, scalar: Scalar) -> _Located:
    return policy.text, scalar, ScalarMap(policy.text.text, scalar)
