"""Predicates of a legacy Policy as predicates of a SchedulingPolicy, in the order of the release.

Some checks run although the file does not list them.
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
from kpolicy.policy.legacy.reading import (
    PREDICATE_ARGUMENTS,
    InvalidArgument,
    Reading,
    name_span,
    read_argument,
)
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import Mapping, Node, Sequence, items, made, mapping, string


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    # The key of its place in `ORDER`.
    key: str
    node: Node
    # The arguments of a rule about labels.
    args: Mapping | None = None


def predicates(reading: Reading) -> list[Node]:
    """Each check once, in the order in which releases ran them."""
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
    """The checks that ran whatever the file listed."""
    at = reading.head
    names = ["NodeUnschedulable", "TaintToleration"]
    if reading.is_pinned(0, 11):
        names.pop()
        name = "CheckNodeCondition"
        yield _Rule(name, name, _as_rule(at, NODE_CONDITION, name, at))
    for name in names:
        yield _Rule(name, name, mapping(at, builtin=made(name, at)))


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
