"""Predicates and priorities of a legacy Policy as those of a SchedulingPolicy.

Predicates are in the order of the release, and some run although the file does not list them.
Priorities keep their weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kpolicy.diagnostics import Span, did_you_mean, has_errors
from kpolicy.policy.legacy.meanings import (
    LABEL_PRESENCE,
    NODE_CONDITION,
    ORDER,
    ORDER_GENERAL,
    PREDICATES,
    PRIORITIES,
    SERVICE_AFFINITY,
    Meaning,
    default_predicates,
    default_priorities,
)
from kpolicy.policy.legacy.reading import (
    PREDICATE_ARGUMENTS,
    PRIORITY_ARGUMENTS,
    InvalidArgument,
    Reading,
    name_span,
    read_argument,
)
from kpolicy.policy.limits import WEIGHT_MAX
from kpolicy.policy.models.scheduling_policy import SCORES_TO_TEN_MINOR_LAST
from kpolicy.policy.yaml.nodes import Mapping, Node, Scalar, Sequence, items, made, mapping, string


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    # The key of its place in `ORDER`.
    key: str
    node: Node
    # The arguments of a rule about labels.
    args: Mapping | None = None


def predicates(reading: Reading) -> list[Node]:
    """The predicates without repetitions, in the order in which the release ran them."""
    listed = list(reading.listed("predicates"))
    if reading.stands_for_default("predicates"):
        names = default_predicates(reading.minor) if reading.minor >= 10 else ()
        listed = [(mapping(reading.head, name=made(name, reading.head)), name) for name in names]
    rules: dict[str, _Rule] = {}
    for node, name in listed:
        for rule in _predicate(reading, node, name):
            known = rules.get(rule.name)
            rules[rule.name] = rule if known is None else _both(known, rule)
    for rule in _mandatory(reading):
        rules.setdefault(rule.name, rule)
    if listed and "NodeResourcesFit" not in rules:
        _warn_of_full_nodes(reading)
    is_general = any(name == "GeneralPredicates" for _, name in listed)
    ranks = {key: rank for rank, key in enumerate(ORDER_GENERAL if is_general else ORDER)}
    return [rule.node for rule in sorted(rules.values(), key=lambda rule: ranks[rule.key])]


def _both(known: _Rule, rule: _Rule) -> _Rule:
    """One rule for a check that is named twice; the labels of both entries must match."""
    if rule.args is None:
        return known
    lists: dict[str, Node] = {}
    for args in (known.args, rule.args):
        for entry in args.entries if args is not None else ():
            field = entry.key.text
            listed = (*items(lists.get(field)), *items(entry.value))
            distinct = {string(label): label for label in listed}
            lists[field] = Sequence(entry.value.span, tuple(distinct.values()))
    return _with_labels(known.name, known.node.span, mapping(rule.args.span, **lists))


def _with_labels(builtin: str, span: Span, args: Mapping) -> _Rule:
    node = mapping(span, builtin=made(builtin, args.span), args=args)
    key = LABEL_PRESENCE if builtin == "NodeLabel" else builtin
    return _Rule(builtin, key, node, args)


def _predicate(reading: Reading, node: Mapping, name: str) -> Iterator[_Rule]:
    argument = read_argument(reading, node, "predicate", PREDICATE_ARGUMENTS)
    reading.known_keys(node, ("name", "argument"))
    at = name_span(node)
    if isinstance(argument, InvalidArgument):
        return
    if argument is not None and not _is_argument_dropped(reading, name, at):
        if not _is_inert(reading, name, at):
            yield _with_labels(argument.builtin, node.span, argument.args)
    elif name in PREDICATES:
        _remark_on_name(reading, name, at)
        for meaning in PREDICATES[name]:
            key = meaning.builtin or name
            yield _Rule(key, key, _as_rule(node.span, meaning, name, at))
    elif name in (LABEL_PRESENCE, SERVICE_AFFINITY):
        reading.report(
            "KP601", f"`{name}` without an argument checks nothing, in every release", at
        )
    else:
        reading.report(
            "KP103", f"no release had a predicate `{name}`", at, did_you_mean(name, PREDICATES)
        )


def _is_argument_dropped(reading: Reading, name: str, at: Span) -> bool:
    """Since 1.18 a built-in name wins over its argument; before, the argument won."""
    is_builtin = name in PREDICATES or name in (LABEL_PRESENCE, SERVICE_AFFINITY)
    if not (is_builtin and reading.is_pinned(18)):
        return False
    reading.report("KP602", f"release 1.{reading.minor} drops the argument of `{name}`", at)
    return True


def _is_inert(reading: Reading, name: str, at: Span) -> bool:
    """Releases 1.10 to 1.16 ran only the names of a fixed list, without custom names."""
    if name in (LABEL_PRESENCE, SERVICE_AFFINITY) or not reading.is_pinned(10, 16):
        return False
    reading.report(
        "KP602",
        f"release 1.{reading.minor} reads `{name}` and never asks it",
        at,
        "without a release it is asked",
    )
    return True


def _as_rule(span: Span, meaning: Meaning, name: str, at: Span) -> Mapping:
    if meaning.builtin:
        return mapping(
            span,
            builtin=made(meaning.builtin, at),
            args=made(meaning.args, at) if meaning.args else None,
        )
    message_expression = meaning.message_expression
    return mapping(
        span,
        name=made(name, at),
        expression=made(meaning.expression, at),
        message=made(meaning.message, at),
        messageExpression=made(message_expression, at) if message_expression else None,
        preemptible=made(value=False, span=at),
    )


def _mandatory(reading: Reading) -> Iterator[_Rule]:
    """The checks that always ran, whether the file listed them or not."""
    at = reading.head
    taints = ("TaintToleration", Meaning("TaintToleration"))
    second = ("CheckNodeCondition", NODE_CONDITION) if reading.is_pinned(0, 11) else taints
    for name, meaning in (("NodeUnschedulable", Meaning("NodeUnschedulable")), second):
        yield _Rule(name, name, _as_rule(at, meaning, name, at))


def _remark_on_name(reading: Reading, name: str, at: Span) -> None:
    if name == "NoVolumeNodeConflict":
        reading.report("KP602", "`NoVolumeNodeConflict` is `CheckVolumeBinding` since 1.9", at)
    if name == "PodToleratesNodeNoExecuteTaints":
        reading.report(
            "KP601", f"no release could load `{name}`; it is read as `PodToleratesNodeTaints`", at
        )
    if name.startswith("CheckNode") and name != "CheckNodeUnschedulable":
        reading.report(
            "KP602", f"releases since 1.12 refuse `{name}`; it reads the node's conditions here", at
        )


def _warn_of_full_nodes(reading: Reading) -> None:
    if has_errors(reading.diagnostics):
        return
    node = reading.root.get("predicates")
    reading.report(
        "KP325",
        "`PodFitsResources` is not listed, so pods are placed on nodes that are full",
        Span(node.span.start, node.span.start + 1) if node is not None else reading.head,
    )


# The highest score of a rule up to release 1.16, and since.
_SCORE_MAX_OLD: Final = 10
_SCORE_MAX: Final = 100
# If so many priorities outweigh all lighter ones together, the author chose it.
_LEVELS_MIN: Final = 2


@dataclass(frozen=True, slots=True)
class _ScoringRule:
    # The name in the file, and its place.
    name: str
    at: Span
    span: Span
    weight: Node
    builtin: str
    args: Node | None = None


def priorities(reading: Reading) -> list[Node]:
    """The last entry of a name counts; entries of the same kind stay independent."""
    found: list[_ScoringRule] = []
    if reading.stands_for_default("priorities"):
        weights = default_priorities(reading.minor) if reading.minor >= 10 else {}
        at = reading.head
        for name, weight in weights.items():
            found += _rules(reading, name, at, at, made(weight, at))
    for node, name in reading.listed("priorities"):
        found += _priority(reading, node, name)
    rules = {rule.name: rule for rule in found}
    _remark_on_scale(reading, list(rules.values()))
    shared = Counter(rule.builtin for rule in rules.values())
    return [_written(rule, is_named=shared[rule.builtin] > 1) for rule in rules.values()]


def _remark_on_scale(reading: Reading, rules: list[_ScoringRule]) -> None:
    """Reports weights that only work with scores of 0 to 10.

    Authors chose weights such that all lighter priorities together never outweigh a heavier one.
    """
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


def _written(rule: _ScoringRule, *, is_named: bool) -> Node:
    """The rule has the name of its built-in, unless several names of the file mean the same one."""
    return mapping(
        rule.span,
        name=Scalar(rule.at, rule.name, rule.name) if is_named else None,
        builtin=made(rule.builtin, rule.at),
        args=rule.args,
        weight=rule.weight,
    )


def _priority(reading: Reading, node: Mapping, name: str) -> Iterator[_ScoringRule]:
    argument = read_argument(reading, node, "priority", PRIORITY_ARGUMENTS)
    reading.known_keys(node, ("name", "weight", "argument"))
    at = name_span(node)
    weight = _weight(reading, node, name)
    if weight is None or isinstance(argument, InvalidArgument):
        return
    if argument is not None:
        yield _ScoringRule(name, at, node.span, weight, argument.builtin, argument.args)
    elif name in PRIORITIES:
        if name == "RequestedToCapacityRatioPriority":
            reading.report("KP602", "without an argument it prefers free nodes, as up to 1.17", at)
        yield from _rules(reading, name, at, node.span, weight)
    else:
        reading.report(
            "KP103", f"no release had a priority `{name}`", at, did_you_mean(name, PRIORITIES)
        )


def _rules(
    reading: Reading, name: str, at: Span, span: Span, weight: Node
) -> Iterator[_ScoringRule]:
    for meaning in PRIORITIES[name]:
        chosen = meaning
        if meaning.builtin == "SelectorSpread" and reading.is_pinned(20):
            reading.report("KP602", f"`{name}` is spreading by topology in 1.{reading.minor}", at)
            chosen = Meaning("PodTopologySpread")
        if chosen.builtin == "EqualPriority" and not reading.is_pinned(0, SCORES_TO_TEN_MINOR_LAST):
            continue
        yield _ScoringRule(
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
