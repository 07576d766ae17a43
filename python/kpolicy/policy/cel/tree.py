"""The checked tree: what an expression means, before it is laid out as IR.

Owns the node. Assumes that the checker made it: types agree, macros are loops, facts are resolved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kpolicy.diagnostics import Span

from .catalogue_rows import Time
from .types import Type


@dataclass(frozen=True, slots=True)
class Tree:
    """One node; `op` is an operation of the IR, or `variable` for a use of a policy's variable.

    `name` is the fact, overload, member or field; `value` that of a constant. `slots` are bound by
    `loop` and `bind`, read by `slot`; their numbers are unique within one compilation. `size`
    bounds the items or bytes of the value, `cost` is what this node adds to its operands.
    """

    op: str
    type: Type
    span: Span
    args: tuple[Tree, ...] = ()
    name: str = ""
    value: Any = None
    slots: tuple[int, ...] = ()
    optional: tuple[int, ...] = ()
    time: Time = Time.CONST
    size: int = 1
    cost: int = 1
    column: str = ""
    # A map fact whose entries are facts of their own.
    column_entries: bool = False
    entry_size: int = 63
