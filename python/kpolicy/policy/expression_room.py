"""How much is left of what all expressions of a compilation may come to.

Owns the count. A policy is small, and what it is laid out to need not be: a rule that uses a
variable has all of it, and who extends a policy has its rules again. Must not know rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from kpolicy.policy.cel import CompiledExpression
from kpolicy.policy.limits import CHARACTERS_A_NODE, EXPRESSION_NODES_MAX


@dataclass(slots=True)
class ExpressionRoom:
    """`is_told`: somebody has said that there is no room left."""

    left: int = EXPRESSION_NODES_MAX
    is_told: bool = False

    @property
    def is_full(self) -> bool:
        return self.left <= 0

    def take(self, compiled: CompiledExpression) -> None:
        nodes = len(compiled.ir["nodes"]) if compiled.ir is not None else 0
        self.left -= max(nodes, len(compiled.text) // CHARACTERS_A_NODE)
