"""Compiles the selectors of device classes and claims, which come with objects, not with a policy.

The environment is that of Kubernetes: the variable `device`, and the libraries. What an evaluation
may cost is limited by the engine.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from kpolicy.policy.cel import Environment, compile_expression
from kpolicy.policy.cel.facts import CATALOGUE, Member, ObjectType, Root, Time
from kpolicy.policy.cel.types import BOOL, DYN, STRING, Type, map_of

# Attributes and capacities together.
_ENTRIES_MAX: Final = 32
_DRIVER_BYTES_MAX: Final = 63
_QUANTITY: Final = Type("quantity")
_COST_MAX: Final = 2**62


def _by_domain(value: Type) -> Member:
    of_domain = map_of(STRING, map_of(STRING, value))
    return Member(of_domain, time=Time.NODE, entries=True, reads_absent=True, size=_ENTRIES_MAX)


_DEVICE: Final = ObjectType(
    "Device",
    MappingProxyType(
        {
            "driver": Member(STRING, time=Time.NODE, size=_DRIVER_BYTES_MAX),
            "attributes": _by_domain(DYN),
            "capacity": _by_domain(_QUANTITY),
            "allowMultipleAllocations": Member(BOOL, time=Time.NODE),
        }
    ),
)
_ENVIRONMENT: Final = Environment(
    roots=("device",),
    catalogue=CATALOGUE.extended({"device": Root("Device", Time.NODE)}, {"Device": _DEVICE}),
    cost_max=_COST_MAX,
    allow_quadratic=True,
    warnings=False,
)


def compile_selector(text: str) -> tuple[str, bytes, str]:
    """The text, what it compiles to, and why it does not compile: one of the last two is empty."""
    compiled = compile_expression(text, expects=(BOOL, DYN), environment=_ENVIRONMENT)
    if compiled.ir is None:
        return text, b"", "; ".join(problem.message for problem in compiled.diagnostics)
    return text, compiled.ir_bytes(), ""
