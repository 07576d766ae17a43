"""What the rules of a policy may cost together on one node, against its limit for a cycle.

Predicates draw on `limits.costPerCycle` first, then priorities, in the order of the document. A
predicate with `enforcement: audit` is evaluated for a single node and draws nothing. The engine
deals out the budget in the same way, for as many nodes as there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.assembly.expressions import Expressions
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.limits import COST_PER_NODE_MAX
from kpolicy.policy.yaml.nodes import Path

_COST_PER_CYCLE_DEFAULT: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class DrawnCost:
    """The path of a rule's expression, and the cost of it and all rules before it on one node."""

    path: Path
    together: int


def drawn_costs(policy: Policy, expressions: Expressions) -> Iterator[DrawnCost]:
    spec = policy.model.spec
    per_node = min(spec.limits.cost_per_node or COST_PER_NODE_MAX, COST_PER_NODE_MAX)
    together = 0
    for side, rules in (("predicates", spec.predicates), ("priorities", spec.priorities)):
        for index, rule in enumerate(rules):
            if spec.shadow or getattr(rule, "enforcement", "") == "audit":
                continue
            path: Path = ("spec", side, index)
            costs = [
                min(compiled.cost, per_node)
                for name in ("expression", "messageExpression")
                if (compiled := expressions.compiled((*path, name))) is not None
            ]
            if costs:
                together += sum(costs)
                yield DrawnCost((*path, "expression"), together)


def never_evaluated(
    policies: Sequence[Policy], expressions: Mapping[str, Expressions]
) -> Iterator[Diagnostic]:
    """KP401 for the first rule of each policy that is too expensive even for a single node."""
    for policy in policies:
        yield from beyond(policy, expressions[policy.name], 1)


def beyond(policy: Policy, expressions: Expressions, nodes: int) -> Iterator[Diagnostic]:
    """A finding about the first rule that is not evaluated when there are so many nodes."""
    stated = policy.model.spec.limits.cost_per_cycle
    limit = stated or _COST_PER_CYCLE_DEFAULT
    for cost in drawn_costs(policy, expressions):
        # Without a stated limit, rules may always cost as much as one expression may on each node.
        is_limited = stated is not None or cost.together > COST_PER_NODE_MAX
        if is_limited and limit // max(cost.together, 1) < nodes:
            on = "one node" if nodes == 1 else f"each of {nodes:,} nodes"
            yield policy.remark(
                "KP401",
                f"with the rules before it may cost {cost.together:,} units on {on}, "
                f"the limit of a cycle is {limit:,}",
                cost.path,
                hint="from here on no rule of this policy is evaluated (KR110): "
                "raise `limits.costPerCycle`, or write cheaper rules",
            )
            return
