"""Predicates of a legacy Policy, as those of a SchedulingPolicy.

Owns names, arguments, what is asked without being listed, and the order. Assumes `Reading`.
Must not know priorities.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kpolicy.diagnostics import Span, has_errors
from kpolicy.policy.legacy.meanings import (
    LABEL_PRESENCE,
    NODE_CONDITION,
    ORDER,
    ORDER_GENERAL,
    PREDICATES,
    SERVICE_AFFINITY,
    Meaning,
    default_predicates,
)
from kpolicy.policy.legacy.reading import Reading, name_span, predicate_argument
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import Mapping, Node, Sequence, items, made, mapping, string


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    # What it is in the order in which predicates are asked.
    key: str
    node: Node
    # Labels, for a rule that has some.
    args: Mapping | None = None


def predicates(reading: Reading) -> list[Node]:
    """In the order in which releases asked them, each check once."""
    listed = list(reading.listed("predicates"))
    if reading.stands_for_default("predicates"):
        names = default_predicates(reading.minor) if reading.minor >= 10 else ()
        listed = [(mapping(reading.head, name=made(one, reading.head)), one) for one in names]
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
    return [one.node for one in sorted(rules.values(), key=lambda one: ranks[one.key])]


def _both(known: _Rule, rule: _Rule) -> _Rule:
    """A check named twice is asked once; labels of several entries must all be as wanted."""
    if rule.args is None:
        return known
    lists: dict[str, Node] = {}
    for args in (known.args, rule.args):
        for entry in args.entries if args is not None else ():
            field = entry.key.text
            listed = (*items(lists.get(field)), *items(entry.value))
            distinct = {string(one): one for one in listed}
            lists[field] = Sequence(entry.value.span, tuple(distinct.values()))
    return _with_labels(known.name, known.node.span, mapping(rule.args.span, **lists))


def _with_labels(builtin: str, span: Span, args: Mapping) -> _Rule:
    node = mapping(span, builtin=made(builtin, args.span), args=args)
    key = LABEL_PRESENCE if builtin == "NodeLabel" else builtin
    return _Rule(builtin, key, node, args)


def _predicate(reading: Reading, node: Mapping, name: str) -> Iterator[_Rule]:
    argument, problems = predicate_argument(node)
    reading.diagnostics.extend(problems)
    reading.ignore_unknown(node, ("name", "argument"))
    at = name_span(node)
    if argument is not None and not _is_argument_dropped(reading, name, at):
        if not _is_inert(reading, name, at):
            yield _with_labels(argument.builtin, node.span, argument.args)
    elif argument is None and problems:
        return
    elif name in PREDICATES:
        _remark_on_name(reading, name, at)
        for meaning in PREDICATES[name]:
            key = meaning.builtin or name
            yield _Rule(key, key, _meant(node.span, meaning, name, at))
    elif name in (LABEL_PRESENCE, SERVICE_AFFINITY):
        reading.say("KP601", f"`{name}` without an argument checks nothing, in every release", at)
    else:
        reading.say(
            "KP103", f"no release had a predicate `{name}`", at, did_you_mean(name, PREDICATES)
        )


def _is_argument_dropped(reading: Reading, name: str, at: Span) -> bool:
    """Since 1.18 a built-in name wins over its argument; before, the argument won."""
    is_builtin = name in PREDICATES or name in (LABEL_PRESENCE, SERVICE_AFFINITY)
    if not (is_builtin and reading.is_pinned(18)):
        return False
    reading.say("KP602", f"release 1.{reading.minor} drops the argument of `{name}`", at)
    return True


def _is_inert(reading: Reading, name: str, at: Span) -> bool:
    """Releases 1.10 to 1.16 asked only names in a fixed list, which custom names are not in."""
    if name in (LABEL_PRESENCE, SERVICE_AFFINITY) or not reading.is_pinned(10, 16):
        return False
    reading.say(
        "KP602",
        f"release 1.{reading.minor} reads `{name}` and never asks it",
        at,
        "without a release it is asked",
    )
    return True


def _meant(span: Span, meaning: Meaning, name: str, at: Span) -> Mapping:
    if meaning.builtin:
        args = made(meaning.args, at) if meaning.args else None
        return mapping(span, builtin=made(meaning.builtin, at), args=args)
    told = meaning.message_expression
    return mapping(
        span,
        name=made(name, at),
        expression=made(meaning.expression, at),
        message=made(meaning.message, at),
        messageExpression=made(told, at) if told else None,
        preemptible=made(value=False, span=at),
    )


def _mandatory(reading: Reading) -> Iterator[_Rule]:
    """What was checked whatever the policy said."""
    at = reading.head
    names = ["NodeUnschedulable", "TaintToleration"]
    if reading.is_pinned(0, 11):
        names = ["NodeUnschedulable"]
        name = "CheckNodeCondition"
        yield _Rule(name, name, _meant(at, NODE_CONDITION, name, at))
    for name in names:
        yield _Rule(name, name, mapping(at, builtin=made(name, at)))


def _remark_on_name(reading: Reading, name: str, at: Span) -> None:
    if name == "NoVolumeNodeConflict":
        reading.say("KP602", "`NoVolumeNodeConflict` is `CheckVolumeBinding` since 1.9", at)
    if name == "PodToleratesNodeNoExecuteTaints":
        reading.say(
            "KP601", f"no release could load `{name}`; it is read as `PodToleratesNodeTaints`", at
        )
    if name.startswith("CheckNode") and name != "CheckNodeUnschedulable":
        reading.say(
            "KP602", f"releases since 1.12 refuse `{name}`; it reads the node's conditions here", at
        )


def _warn_of_full_nodes(reading: Reading) -> None:
    if has_errors(tuple(reading.diagnostics)):
        return
    node = reading.root.get("predicates")
    at = Span(node.span.start, node.span.start + 1) if node is not None else reading.head
    reading.say(
        "KP325", "`PodFitsResources` is not listed, so pods are placed on nodes that are full", at
    )
