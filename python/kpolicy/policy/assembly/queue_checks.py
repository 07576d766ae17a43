"""KP104, KP122, KP137 and KP138: findings about the order of the queue and about holds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from kpolicy.diagnostics import Diagnostic, Note, Severity, did_you_mean
from kpolicy.policy.assembly.expressions import Expressions
from kpolicy.policy.assembly.queue_entries import HOLDS, ORDER
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.assembly.resolve import Effective
from kpolicy.policy.cel.tree import Call, Constant
from kpolicy.policy.models.scheduling_policy import Queue
from kpolicy.policy.yaml.nodes import Path

# Roots that tell one pod from another, or one moment from another.
_TELLING: Final = frozenset({"pod", "namespaceObject", "tenant", "queue"})
# For pods with this reason, autoscalers add nodes.
_UNSCHEDULABLE: Final = "Unschedulable"


def check_queue(merged: Effective, expressions: Expressions) -> Iterator[Diagnostic]:
    """Of a policy and what it says of the queue itself."""
    policy = merged.policy
    queue = policy.model.spec.queue
    if queue is None:
        return
    yield from _names(policy, queue, merged)
    yield from _reasons(policy, queue)
    if queue.order is not None:
        yield from _order(policy, expressions, (*ORDER, "expression"))


def _names(policy: Policy, queue: Queue, merged: Effective) -> Iterator[Diagnostic]:
    of_bases = {
        hold.name
        for base in merged.lineage[1:]
        for hold in (base.model.spec.queue.holds if base.model.spec.queue is not None else ())
    }
    first: dict[str, Path] = {}
    for index, hold in enumerate(queue.holds):
        path = (*HOLDS, index, "name")
        if hold.name in first:
            notes = (Note("first here", span=policy.span(first[hold.name])),)
            message = f"two holds are called `{hold.name}`"
            yield policy.remark("KP104", message, path, notes=notes)
        first.setdefault(hold.name, path)
        if hold.when is None and hold.name not in of_bases:
            message = f"no hold of the base is called `{hold.name}`"
            hint = did_you_mean(hold.name, of_bases) or "`when` says which pods are held"
            yield policy.remark("KP122", message, path, hint=hint)


def _reasons(policy: Policy, queue: Queue) -> Iterator[Diagnostic]:
    for index, hold in enumerate(queue.holds):
        if hold.reason == _UNSCHEDULABLE:
            message = "no new node helps a pod that is held, and autoscalers would add one"
            hint = "leave out `reason`, or write another"
            yield policy.remark("KP137", message, (*HOLDS, index, "reason"), hint=hint)


def _order(policy: Policy, expressions: Expressions, path: Path) -> Iterator[Diagnostic]:
    compiled, tree = expressions.compiled(path), expressions.tree(path)
    if compiled is None or compiled.ir is None or tree is None:
        return
    if isinstance(tree, Constant) and isinstance(tree.value, float) and math.isnan(tree.value):
        yield policy.remark("KP138", "this is no number", path)
        return
    if isinstance(tree, Call) and tree.name == "divide_double" and _is_zero_by_zero(tree):
        yield policy.remark("KP138", "0 divided by 0 is no number", path)
        return
    roots = {name.split(".")[0] for name, _ in compiled.reads}
    if not roots & _TELLING:
        message = "all pods get the same number"
        hint = "`tenant.share` or `pod.request('cpu')` tells pods apart"
        yield policy.remark("KP138", message, path, hint=hint, severity=Severity.WARNING)


def _is_zero_by_zero(tree: Call) -> bool:
    return all(isinstance(arg, Constant) and arg.value == 0 for arg in tree.args)
