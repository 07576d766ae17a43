"""KP130, KP341, KP351, KP361, KP403 and KP404: what an expression reads, and what follows from it.

Which facts evictions change, which parts leave the columns by the engine's rules
(docs/internals/expressions.md, "Evaluating"), and which labels and built-ins are deprecated. Each
is reported once an expression, at its first place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.policy.cel.facts import NOW, Time
from kpolicy.policy.cel.tree import (
    And,
    Call,
    Conditional,
    Constant,
    Fact,
    Loop,
    Or,
    Tree,
    Variable,
    own_nodes,
    read_of,
)
from kpolicy.policy.lint.lookups import is_literal
from kpolicy.policy.lint.written import RuleExpression, WrittenExpression, WrittenPolicy
from kpolicy.policy.models.scheduling_policy import Predicate

# Last parts of facts of a node, a domain or the cluster that evictions change.
_CHANGED: Final = frozenset({"free", "requested", "utilization", "podCount", "fits", "pods"})
_KERNELS: Final = frozenset(
    {
        "add",
        "subtract",
        "multiply",
        "divide",
        "not",
        "equals",
        "not_equals",
        "less",
        "less_equals",
        "greater",
        "greater_equals",
        "ratio",
        "to_int",
        "to_double",
    }
)
# Arithmetic that is evaluated node by node too, but at almost no cost.
_CHEAP: Final = ("clamp", "linear", "step", "math", "negate", "modulo")
_SIMPLE: Final = frozenset({"int", "double", "bool", "string"})
_OF_NODES: Final = frozenset({"node", "victim"})
_CLASSED: Final = frozenset({"text", "classes"})


def reads(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    for rule in policy.rules:
        yield from _not_preemptible(policy, rule)
        yield from _each_minute(policy, rule)
        if not rule.scores_devices:
            yield from _by_lane(policy, rule)
    yield from _of_profile(policy)
    for expression in policy.all():
        if expression is not policy.victims:
            yield from _annotations(policy, expression)


def _deep(tree: Tree, seen: set[str]) -> Iterator[tuple[Tree, Tree]]:
    """Every part, those of variables included, with the part of the own text that contains it."""
    for part in own_nodes(tree):
        yield part, part
        if isinstance(part, Variable) and part.name not in seen:
            seen.add(part.name)
            for inner, _ in _deep(part.value, seen):
                yield inner, part


def _fact_of(tree: Tree) -> Fact | None:
    """The fact that a node reads or asks the presence of."""
    read = read_of(tree)
    return read if isinstance(read, Fact) else None


def _not_preemptible(policy: WrittenPolicy, rule: RuleExpression) -> Iterator[Diagnostic]:
    if not isinstance(rule.rule, Predicate) or rule.rule.preemptible:
        return
    for part, at in _deep(rule.expression.tree, set()):
        fact = _fact_of(part)
        if fact and not fact.name.startswith("pod.") and _CHANGED & set(fact.name.split(".")):
            message = f"`{fact.name}` changes when pods are evicted, so preemption could help here"
            hint = "leave out `preemptible: false`"
            yield policy.finding(rule.expression, "KP351", message, at.span, hint)
            return


def _each_minute(policy: WrittenPolicy, rule: RuleExpression) -> Iterator[Diagnostic]:
    """A predicate that reads the time other than by windows, whose edges are known."""
    if not isinstance(rule.rule, Predicate):
        return
    own = (*policy.own_conditions(rule), rule.expression)
    for expression in own:
        windows = {
            id(part.args[0])
            for part, _ in _deep(expression.tree, set())
            if isinstance(part, Call) and part.name.startswith("within_")
        }
        for part, at in _deep(expression.tree, set()):
            if isinstance(part, Fact) and part.name == NOW and id(part) not in windows:
                message = "this may change each minute, and pods that it rejects are judged again"
                hint = "`now.within('0 22 * * *', duration('8h'))` changes when the window does"
                yield policy.finding(expression, "KP341", message, at.span, hint)
                return


def reads_the_time(tree: Tree) -> bool:
    """Whether the expression, or a variable that it uses, reads `now`."""
    return any(isinstance(part, Fact) and part.name == NOW for part, _ in _deep(tree, set()))


def _annotations(policy: WrittenPolicy, expression: WrittenExpression) -> Iterator[Diagnostic]:
    for part in own_nodes(expression.tree):
        read = read_of(part)
        if read is not None and read.name.removesuffix("[]").rpartition(".")[2] == "annotations":
            message = "this reads an annotation, which has no column and may be large"
            yield policy.finding(
                expression, "KP404", message, part.span, "a label would do as well"
            )
            return


def _of_profile(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    """Conditions that are the same for all pods of one scheduler name."""
    own_conditions = [own for rule in policy.rules for own in policy.own_conditions(rule)]
    for condition in (*policy.conditions, *own_conditions):
        parts = (_fact_of(part) for part, _ in _deep(condition.tree, set()))
        facts = {fact.name for fact in parts if fact is not None}
        if facts == {"pod.schedulerName"}:
            message = "this is the same for all pods of a profile"
            hint = "give the profile that it means a policy of its own, and leave this out"
            yield policy.finding(condition, "KP361", message, condition.tree.span, hint)


# The columns.


def _by_lane(policy: WrittenPolicy, rule: RuleExpression) -> Iterator[Diagnostic]:
    found = _without_kernel(rule.expression.tree, set())
    if found is not None:
        part, fact, span = found
        read, is_loop = _fact_of(part), isinstance(part, Loop)
        message = (
            f"this {'loop' if is_loop else 'part'} is evaluated node by node: it has no kernel, "
            f"and `{fact}` has no classes of nodes"
        )
        if read is not None and read.name == fact:
            message = f"`{fact}` has no column, so it is read node by node"
        hint = "`node.pods.count(selector(…))` counts without a loop" if is_loop else ""
        yield policy.finding(rule.expression, "KP403", message, span, hint)


def _without_kernel(tree: Tree, seen: set[str]) -> tuple[Tree, str, Span] | None:
    """The first part that is evaluated node by node, the fact that is the reason, and its place."""
    if tree.time <= Time.POD:
        return None
    if isinstance(tree, Variable):
        if tree.name in seen:
            return None
        seen.add(tree.name)
        inner = _without_kernel(tree.value, seen)
        return None if inner is None else (inner[0], inner[1], tree.span)
    if _has_kernel(tree):
        parts = (_without_kernel(operand, seen) for operand in tree.operands)
        return next((found for found in parts if found is not None), None)
    fact = _fact_of(tree)
    if fact is not None and _is_read(fact):
        is_annotation = fact.name.endswith("annotations[]")  # reported as KP404
        has_column = bool(fact.column) or tree.time == Time.NODE_CLASS
        return None if has_column or is_annotation else (tree, fact.name, tree.span)
    blocking = next(filter(None, (_blocking(part) for part, _ in _deep(tree, set()))), None)
    return None if blocking is None else (tree, blocking.name, tree.span)


def _is_read(fact: Fact) -> bool:
    """Whether the arguments of the fact are known when a cycle begins."""
    return all(arg.time <= Time.POD for arg in fact.args)


def _has_kernel(tree: Tree) -> bool:
    """Whether the engine evaluates it for all nodes at once, if it does so for its operands."""
    match tree:
        case And() | Or() | Conditional():
            return True
        case Call("in_list", (item, _)):
            return item.type.name in _SIMPLE
        case Call(name=name, args=args):
            if name.partition("_")[0] in _CHEAP:
                return True
            is_kernel = name in _KERNELS or name.rpartition("_")[0] in _KERNELS
            return is_kernel and all(arg.type.name in _SIMPLE for arg in args)
    return False


def _blocking(tree: Tree) -> Fact | None:
    """A fact that is not the same for all nodes of a class; facts of the pod are no obstacle."""
    fact = _fact_of(tree)
    if fact is None or tree.time <= Time.POD or fact.name.partition(".")[0] not in _OF_NODES:
        return None
    return None if _is_read(fact) and fact.column in _CLASSED else fact


_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane",
}
_STRATEGY: Final = "`builtin: NodeResourcesFit` with `args: {{strategy: {}}}`"
_BUILTINS: Final = {
    **dict.fromkeys(
        ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"),
        "`NodeVolumeLimits`: volumes of this kind are those of a CSI driver now",
    ),
    "NodeResourcesLeastAllocated": _STRATEGY.format("LeastAllocated"),
    "NodeResourcesMostAllocated": _STRATEGY.format("MostAllocated"),
    "RequestedToCapacityRatio": _STRATEGY.format("RequestedToCapacityRatio"),
    "NodePreferAvoidPods": "a taint with the effect `PreferNoSchedule`, and `TaintToleration`",
}


def deprecated(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    if policy.policy.kind != "SchedulingPolicy":
        return
    for path, rule in policy.policy.rules():
        instead = _BUILTINS.get(rule.builtin or "")
        if instead is not None:
            message = f"kube-scheduler has given up `{rule.builtin}`"
            at = (*path, "builtin")
            yield policy.policy.remark("KP130", message, at, hint=f"use {instead}")
    for expression in policy.all():
        first = {key.value: key.span for key in reversed(list(_keys(expression.tree)))}
        for label, span in reversed(first.items()):
            message = f"Kubernetes has given up the label `{label}`"
            yield policy.finding(expression, "KP130", message, span, f"use `{_LABELS[label]}`")


def _keys(tree: Tree) -> Iterator[Constant]:
    for part in own_nodes(tree):
        fact = _fact_of(part)
        names = fact.name.split(".") if fact else [""]
        args = fact.args if fact else ()
        of_domain = "domain" in names or names[-1] == "domains"
        keys = args[:1] if of_domain else args[-1:] if names[-1] == "labels[]" else ()
        yield from (key for key in keys if is_literal(key) and key.value in _LABELS)
