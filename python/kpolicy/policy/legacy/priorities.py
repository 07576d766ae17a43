"""Priorities of a legacy Policy as priorities of a SchedulingPolicy, with their weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kpolicy.diagnostics import Span
from kpolicy.policy.legacy.meanings import PRIORITIES, Meaning, default_priorities
from kpolicy.policy.legacy.reading import (
    PRIORITY_ARGUMENTS,
    InvalidArgument,
    Reading,
    name_span,
    read_argument,
)
from kpolicy.policy.limits import WEIGHT_MAX
from kpolicy.policy.models.scheduling_policy import SCORES_TO_TEN_MINOR_LAST
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import Mapping, Node, Scalar, made, mapping

# The highest score of a rule up to release 1.16, and since.
_SCORE_MAX_OLD: Final = 10
_SCORE_MAX: Final = 100
# With so many priorities that outrank all lighter ones together, the author meant it.
_LEVELS_MIN: Final = 2


@dataclass(frozen=True, slots=True)
class _Rule:
    # The name in the file, and its place.
    name: str
    at: Span
    span: Span
    weight: Node
    builtin: str
    args: Node | None = None


def priorities(reading: Reading) -> list[Node]:
    """The last entry of a name counts; entries of the same kind stay independent."""
    rules: dict[str, _Rule] = {}
    if reading.stands_for_default("priorities"):
        weights = default_priorities(reading.minor) if reading.minor >= 10 else {}
        for name, weight in weights.items():
            at = reading.head
            for rule in _rules(reading, name, at, at, made(weight, at)):
                rules[name] = rule
    for node, name in reading.listed("priorities"):
        for rule in _priority(reading, node, name):
            rules[name] = rule
    _remark_on_scale(reading, list(rules.values()))
    shared = Counter(rule.builtin for rule in rules.values())
    return [_written(rule, is_named=shared[rule.builtin] > 1) for rule in rules.values()]


def _remark_on_scale(reading: Reading, rules: list[_Rule]) -> None:
    """Weights may be chosen such that all lighter priorities never outweigh a heavier one."""
    if reading.pinned is not None or not reading.root.get("priorities"):
        return
    lighter, levels = 0, 0
    for weight in sorted(_value(rule.weight) for rule in rules):
        levels += lighter * _SCORE_MAX_OLD < weight <= lighter * _SCORE_MAX
        lighter += weight
    if levels >= _LEVELS_MIN:
        reading.report(
            "KP602",
            "the weights rank the priorities on scores of 0 to 10, and scores go to 100",
            reading.head,
            '`"compatibility": {"release": "1.16"}` in the file scores from 0 to 10',
        )


def _value(weight: Node) -> int:
    value = weight.value if isinstance(weight, Scalar) else 0
    return value if isinstance(value, int) else 0


def _written(rule: _Rule, *, is_named: bool) -> Node:
    """The rule has the name of its built-in, unless several names of the file mean the same one."""
    return mapping(
        rule.span,
        name=Scalar(rule.at, rule.name, rule.name) if is_named else None,
        builtin=made(rule.builtin, rule.at),
        args=rule.args,
        weight=rule.weight,
    )


def _priority(reading: Reading, node: Mapping, name: str) -> Iterator[_Rule]:
    argument = read_argument(reading, node, "priority", PRIORITY_ARGUMENTS)
    reading.known_keys(node, ("name", "weight", "argument"))
    at = name_span(node)
    weight = _weight(reading, node, name)
    if weight is None or isinstance(argument, InvalidArgument):
        return
    if argument is not None:
        yield _Rule(name, at, node.span, weight, argument.builtin, argument.args)
    elif name in PRIORITIES:
        if name == "RequestedToCapacityRatioPriority":
            reading.report("KP602", "without an argument it prefers free nodes, as up to 1.17", at)
        yield from _rules(reading, name, at, node.span, weight)
    else:
        reading.report(
            "KP103", f"no release had a priority `{name}`", at, did_you_mean(name, PRIORITIES)
        )


def _rules(reading: Reading, name: str, at: Span, span: Span, weight: Node) -> Iterator[_Rule]:
    for meaning in PRIORITIES[name]:
        chosen = meaning
        if meaning.builtin == "SelectorSpread" and reading.is_pinned(20):
            reading.report("KP602", f"`{name}` is spreading by topology in 1.{reading.minor}", at)
            chosen = Meaning("PodTopologySpread")
        if chosen.builtin == "EqualPriority" and not reading.is_pinned(0, SCORES_TO_TEN_MINOR_LAST):
            continue
        yield _Rule(
            name, at, span, weight, chosen.builtin, made(chosen.args, at) if chosen.args else None
        )


def _weight(reading: Reading, node: Mapping, name: str) -> Node | None:
    weight = node.get("weight")
    value = weight.value if isinstance(weight, Scalar) else None
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= WEIGHT_MAX:
        return weight
    reading.report(
        "KP113",
        f"the priority `{name}` needs a weight from 1 to {WEIGHT_MAX:,}",
        weight.span if weight is not None else name_span(node),
    )
    return None
