"""Where an expression is compiled: what names mean there.

Owns the types of that description. A document makes one environment for each place an expression
may stand in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from .catalogue import CATALOGUE, Catalogue
from .types import Type

if TYPE_CHECKING:
    from .compile import CompiledExpression

COST_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a policy. With a value it becomes a constant, without one a fact."""

    type: Type
    value: Any = None


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Environment:
    """`roots` are the facts to be seen, by the name of the root: `("pod", "node")`.

    `variables` are compiled before, in order, each seeing the ones above it. `inputs` are plain
    typed variables without a root (`kpolicy eval --var`). `cost_max` bounds one evaluation.
    """

    roots: tuple[str, ...] = ("pod", "node", "cluster", "namespaceObject")
    variables: Mapping[str, CompiledExpression] = field(default_factory=_nothing)
    params: Mapping[str, Parameter] = field(default_factory=_nothing)
    inputs: Mapping[str, Type] = field(default_factory=_nothing)
    catalogue: Catalogue = CATALOGUE
    cost_max: int = COST_MAX
    # A worst case of loops inside loops may be above it: what a node really costs counts.
    allow_quadratic: bool = False
    constant_patterns: bool = True
    # False: what the checker would refuse becomes an error where it is reached, as in CEL without a
    # checker. For one-off evaluation of untyped data.
    checked: bool = True
    # What lint wants on: `dyn` results, comparisons that never hold.
    warnings: bool = True
