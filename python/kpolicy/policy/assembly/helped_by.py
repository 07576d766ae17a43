"""Whether a new node could help a pod that a predicate rejects on every node: what it says itself,
or else what follows from the facts that it reads.

A built-in may be helped unless it says otherwise, because kube-scheduler lets autoscalers try.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.assembly.expressions import Expressions, ExpressionSets
from kpolicy.policy.assembly.read_policy import Policy, condition_paths
from kpolicy.policy.assembly.resolve import AppliedRule
from kpolicy.policy.cel.tree import Tree, read_of
from kpolicy.policy.models.scheduling_policy import Predicate
from kpolicy.policy.yaml.nodes import Path

HelpedBy: TypeAlias = Literal["newNode", "other"]
# Facts of the cluster that a node more or less changes; the others are those of pods.
_SUMS_OF_NODES: Final = frozenset(
    {"cluster.nodeCount", "cluster.free", "cluster.allocatable", "cluster.domains"}
)


def helped_by(applied: AppliedRule, expressions: ExpressionSets) -> HelpedBy:
    """Of a predicate as a profile has it."""
    written, rule = applied.written, applied.written.rule
    assert isinstance(rule, Predicate)
    if rule.helped_by is not None:
        return rule.helped_by
    if written.builtin is not None:
        return "newNode"
    own = expressions.of(applied.heir, written.policy.name)
    trees = list(_trees(written.policy, written.path, rule, own))
    for policy in applied.unless:
        trees += _at(expressions.of(applied.heir, policy.name), _of_policy(policy))
    return "newNode" if any(map(reads_nodes, trees)) else "other"


def check_helped_by(policy: Policy, expressions: Expressions) -> Iterator[Diagnostic]:
    """KP137: predicates that say that a new node helps, and read nothing that one changes."""
    for path, rule in policy.rules():
        is_stated = isinstance(rule, Predicate) and rule.helped_by == "newNode"
        if not is_stated or expressions.tree((*path, "expression")) is None:
            continue
        if not any(map(reads_nodes, _trees(policy, path, rule, expressions))):
            message = "no new node helps here: the rule reads no fact of nodes"
            at = (*path, "helpedBy")
            yield policy.remark("KP137", message, at, hint="leave out `helpedBy: newNode`")


def reads_nodes(tree: Tree) -> bool:
    """Whether an expression reads what a node more could change, also in its variables."""
    pending = [tree]
    while pending:
        part = pending.pop()
        read = read_of(part)
        if read is not None and (
            read.name.partition(".")[0] == "node" or read.name in _SUMS_OF_NODES
        ):
            return True
        pending.extend(part.operands)
    return False


def _trees(policy: Policy, path: Path, rule: object, own: Expressions) -> Iterator[Tree]:
    """The predicate, and the conditions under which it is asked."""
    assert isinstance(rule, Predicate)
    paths = [*_of_policy(policy), *condition_paths(path, rule), (*path, "expression")]
    return _at(own, paths)


def _of_policy(policy: Policy) -> list[Path]:
    return condition_paths(("spec",), policy.model.spec)


def _at(expressions: Expressions, paths: Iterable[Path]) -> Iterator[Tree]:
    trees = (expressions.tree(path) for path in paths)
    return (tree for tree in trees if tree is not None)
