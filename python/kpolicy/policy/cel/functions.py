"""The overloads of every function: the joined table and its look-ups.

The rows are in `functions_*.py`. The engine has the same ids; a conformance test compares the two
tables.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from kpolicy.policy.cel import functions_extended, functions_kubernetes, functions_standard
from kpolicy.policy.cel.overloads import Family, Overload, overloads_of
from kpolicy.policy.cel.types import Type

FAMILIES: Final[tuple[Family, ...]] = (
    *functions_standard.FAMILIES,
    *functions_extended.FAMILIES,
    *functions_kubernetes.FAMILIES,
)

_BY_NAME: Final[dict[tuple[str, bool], list[Overload]]] = {}
for _family in FAMILIES:
    for _overload in overloads_of(_family):
        _BY_NAME.setdefault((_overload.function, _overload.member), []).append(_overload)

BY_NAME: Final = MappingProxyType({key: tuple(value) for key, value in _BY_NAME.items()})
NAMES: Final = frozenset(name for name, _ in BY_NAME if name[0].isalpha())


def candidates(function: str, member: bool) -> tuple[Overload, ...]:
    return BY_NAME.get((function, member), ())


def signatures() -> list[str]:
    """A line for each overload, `id(operands) result`, in the engine's words: heads of types."""
    lines = {
        f"{overload.id}({' '.join(map(_head, overload.params))}) {_head(overload.result)}"
        for overloads in BY_NAME.values()
        for overload in overloads
    }
    return sorted(lines)


def _head(kind: Type) -> str:
    return "dyn" if kind.is_parameter or kind.name == "number" else kind.name
