"""Where an expression is compiled, and what compiling it gives.

A document makes one environment for each place an expression may stand in; the expressions of
policy variables that are compiled are part of the environments below them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic
from kpolicy.policy.cel.facts import CATALOGUE, Catalogue
from kpolicy.policy.cel.object_types import Time
from kpolicy.policy.cel.tree import Tree
from kpolicy.policy.cel.types import Type

COST_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class CompiledExpression:
    """The outcome of compiling one text.

    `ir` is there when there are no errors, here or in a variable that is used; `reads` are the
    facts it reads, as in the IR.
    """

    text: str
    type: Type
    diagnostics: tuple[Diagnostic, ...]
    ir: dict[str, Any] | None = None
    reads: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    time: Time = Time.CONST
    cost: int = 0
    variable_levels: int = 0
    tree: Tree | None = field(default=None, repr=False)

    def ir_bytes(self) -> bytes:
        """The IR as canonical JSON; empty when there is none."""
        if self.ir is None:
            return b""
        text = json.dumps(self.ir, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a policy. With a value it becomes a constant, without one a fact."""

    type: Type
    value: Any = None


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Environment:
    """`roots` names the roots of the facts that the expression may read, such as `node`.

    `variables` are the policy's variables, compiled in order, each seeing the ones above it.
    `inputs` are plain typed variables without a root (`kpolicy eval --var`). `cost_max` bounds one
    evaluation.
    """

    roots: tuple[str, ...] = ("pod", "node", "cluster", "namespaceObject")
    variables: Mapping[str, CompiledExpression] = field(default_factory=_nothing)
    params: Mapping[str, Parameter] = field(default_factory=_nothing)
    inputs: Mapping[str, Type] = field(default_factory=_nothing)
    catalogue: Catalogue = CATALOGUE
    cost_max: int = COST_MAX
    # Nested loops may exceed `cost_max` in the worst case: the engine limits the real cost.
    allow_quadratic: bool = False
    constant_patterns: bool = True
    # False: what the checker would refuse becomes an error where it is reached, as in CEL without a
    # checker. For one-off evaluation of untyped data.
    checked: bool = True
    # Whether to report `dyn` results and comparisons that never hold, as lint does.
    warnings: bool = True
