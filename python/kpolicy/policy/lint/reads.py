"""KP351, KP361, KP403 and KP404: what an expression reads, and what follows from it.

Owns which facts change by evictions, and which parts leave the columns, by the engine's rules
(docs/internals/expressions.md, "Evaluating"). Each is told once an expression, at its first place.
Must not know values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.policy.cel.catalogue_rows import Time
from kpolicy.policy.cel.tree import Tree
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
# A little arithmetic: node by node as well, but for next to nothing.
_CHEAP: Final = ("clamp", "linear", "step", "math", "negate", "modulo")
_SIMPLE: Final = frozenset({"int", "double", "bool", "string"})
_OF_NODES: Final = frozenset({"node", "victim"})
_CLASSED: Final = frozenset({"text", "classes"})


def reads(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    for rule in policy.rules:
        yield from _not_preemptible(policy, rule)
        yield from _by_lane(policy, rule)
    yield from _of_profile(policy)
    for one in policy.all():
        if one is not policy.victims:
            yield from _annotations(policy, one)


def own(tree: Tree) -> Iterator[Tree]:
    """The parts written in this text, in order; a variable's are in its own."""
    pending = [tree]
    while pending:
        part = pending.pop()
        yield part
        if part.op != "variable":
            pending.extend(reversed(part.args))


def _deep(tree: Tree, seen: set[str]) -> Iterator[tuple[Tree, Tree]]:
    """Every part, variables' included, each with the part of the own text it belongs to."""
    for part in own(tree):
        yield part, part
        if part.op == "variable" and part.name not in seen:
            seen.add(part.name)
            for inner, _ in _deep(part.args[0], seen):
                yield inner, part


def _not_preemptible(policy: WrittenPolicy, rule: RuleExpression) -> Iterator[Diagnostic]:
    if not isinstance(rule.rule, Predicate) or rule.rule.preemptible:
        return
    for part, at in _deep(rule.expression.tree, set()):
        names = part.name.split(".")
        if part.op in ("fact", "present") and names[0] != "pod" and _CHANGED & set(names):
            message = f"`{part.name}` changes when pods are evicted, so preemption could help here"
            hint = "leave out `preemptible: false`"
            yield policy.say(rule.expression, "KP351", message, at.span, hint)
            return


def _annotations(policy: WrittenPolicy, one: WrittenExpression) -> Iterator[Diagnostic]:
    for part in own(one.tree):
        name = part.name.removesuffix("[]").rpartition(".")[2]
        if part.op in ("fact", "present", "member", "present_member") and name == "annotations":
            message = "this reads an annotation, which has no column and may be large"
            yield policy.say(one, "KP404", message, part.span, "a label would do as well")
            return


def _of_profile(policy: WrittenPolicy) -> Iterator[Diagnostic]:
    """Conditions that are the same for all pods of one scheduler name."""
    own_conditions = [one for rule in policy.rules for one in policy.own_conditions(rule)]
    for one in (*policy.conditions, *own_conditions):
        facts = {part.name for part, _ in _deep(one.tree, set()) if part.op in ("fact", "present")}
        if facts == {"pod.schedulerName"}:
            message = "this is the same for all pods of a profile"
            hint = "give the profile that it means a policy of its own, and leave this out"
            yield policy.say(one, "KP361", message, one.tree.span, hint)


# The columns.


def _by_lane(policy: WrittenPolicy, rule: RuleExpression) -> Iterator[Diagnostic]:
    found = _without_kernel(rule.expression.tree, set())
    if found is not None:
        part, fact, span = found
        what = "this part" if part.op != "loop" else "this loop"
        message = (
            f"{what} is evaluated node by node: it has no kernel, and `{fact}` has no classes of "
            "nodes"
        )
        if part.name == fact:
            message = f"`{fact}` has no column, so it is read node by node"
        hint = "`node.pods.count(selector(…))` counts without a loop" if part.op == "loop" else ""
        yield policy.say(rule.expression, "KP403", message, span, hint)


def _without_kernel(tree: Tree, seen: set[str]) -> tuple[Tree, str, Span] | None:
    """The first part that runs lane by lane, the fact that is to blame, and where."""
    if tree.time <= Time.POD:
        return None
    if tree.op == "variable":
        if tree.name in seen:
            return None
        seen.add(tree.name)
        inner = _without_kernel(tree.args[0], seen)
        return None if inner is None else (inner[0], inner[1], tree.span)
    if _has_kernel(tree):
        for arg in tree.args:
            found = _without_kernel(arg, seen)
            if found is not None:
                return found
        return None
    if tree.op in ("fact", "present") and _is_read(tree):
        is_annotation = tree.name.endswith("annotations[]")  # KP404 says so
        has_column = bool(tree.column) or tree.time == Time.NODE_CLASS
        return None if has_column or is_annotation else (tree, tree.name, tree.span)
    fact = next((part.name for part, _ in _deep(tree, set()) if _blocks(part)), None)
    return None if fact is None else (tree, fact, tree.span)


def _is_read(tree: Tree) -> bool:
    """A fact whose arguments are known when a cycle begins."""
    return all(arg.time <= Time.POD for arg in tree.args)


def _has_kernel(tree: Tree) -> bool:
    """Whether only its operands matter."""
    if tree.op in ("and", "or", "conditional"):
        return True
    if tree.op != "call":
        return False
    if tree.name == "in_list":
        return tree.args[0].type.name in _SIMPLE
    family = tree.name.rpartition("_")[0]
    if tree.name.partition("_")[0] in _CHEAP:
        return True
    return (tree.name in _KERNELS or family in _KERNELS) and all(
        arg.type.name in _SIMPLE for arg in tree.args
    )


def _blocks(part: Tree) -> bool:
    """A fact of nodes that does not put them in classes; one of the pod is asked about those."""
    root = part.name.partition(".")[0]
    if part.op not in ("fact", "present") or part.time <= Time.POD or root not in _OF_NODES:
        return False
    return not _is_read(part) or part.column not in _CLASSED
