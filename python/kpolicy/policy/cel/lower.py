"""Checked tree to IR.

Owns the layout: a list of nodes in single-assignment order, constants interned, slots numbered, a
policy variable laid out once however often it is used. Assumes a tree without errors.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from .tree import Tree
from .types import DYN, ERROR, Type
from .values import constant_json

FORMAT: Final = 1
# Less than the engine's bound of 200: lint walks the same trees, with some calls a level.
DEPTH_MAX: Final = 128
# Bounds of the engine; an expression beyond them is refused there.
NODES_MAX: Final = 8192
SLOTS_MAX: Final = 64


class BeyondLimits(Exception):  # noqa: N818
    """The IR would be refused by the engine."""


@dataclass(slots=True)
class _Layout:
    nodes: list[dict[str, Any]] = field(default_factory=list)
    spans: list[list[Any]] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    constants: dict[str, int] = field(default_factory=dict)
    constant_values: list[Any] = field(default_factory=list)
    reads: dict[str, dict[str, Any]] = field(default_factory=dict)
    variables: dict[str, int] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)
    slot_count: int = 0
    # The policy variable being laid out: its spans are offsets in its own text.
    within: str = ""

    def emit(self, tree: Tree, node: dict[str, Any], args: list[int]) -> int:
        if args:
            node["args"] = args
        node["type"] = _type_json(tree.type)
        depth = 1 + max((self.depths[arg] for arg in args), default=0)
        if len(self.nodes) >= NODES_MAX or depth > DEPTH_MAX:
            raise BeyondLimits
        self.nodes.append(node)
        self.depths.append(depth)
        span: list[Any] = [tree.span.start, tree.span.end]
        self.spans.append([*span, self.within] if self.within else span)
        return len(self.nodes) - 1


def _type_json(kind: Type) -> Any:
    return DYN.json() if kind == ERROR else kind.json()


def lower(tree: Tree, cost: int) -> dict[str, Any]:
    """The IR as a JSON object."""
    layout = _Layout()
    root = _lower(layout, tree)
    return {
        "format": FORMAT,
        "constants": layout.constant_values,
        "nodes": layout.nodes,
        "root": root,
        "spans": layout.spans,
        "reads": [layout.reads[key] for key in sorted(layout.reads)],
        "cost": cost,
        "time": tree.time.name.lower(),
        "type": _type_json(tree.type),
    }


def _lower(layout: _Layout, tree: Tree) -> int:
    if tree.op == "variable":
        return _variable(layout, tree)
    if tree.op == "constant":
        return layout.emit(tree, {"op": "constant", "constant": _constant(layout, tree)}, [])
    if tree.op == "slot":
        return layout.emit(tree, {"op": "slot", "slot": layout.slots[tree.slots[0]]}, [])
    if tree.op in ("loop", "bind"):
        return _binding(layout, tree)
    args = [_lower(layout, arg) for arg in tree.args]
    node: dict[str, Any] = {"op": tree.op}
    if tree.op in ("fact", "present"):
        node["fact"] = tree.name
        _note_read(layout, tree)
    elif tree.op in ("member", "present_member"):
        node["member"] = tree.name
    elif tree.op == "error":
        node["message"] = tree.name
    elif tree.op == "call":
        node["overload"] = tree.name
    elif tree.op in ("field", "has", "optional_field"):
        node["name"] = tree.name
    elif tree.optional:
        node["optional"] = list(tree.optional)
    return layout.emit(tree, node, args)


def _variable(layout: _Layout, tree: Tree) -> int:
    known = layout.variables.get(tree.name)
    if known is not None:
        return known
    within, slots = layout.within, layout.slots
    layout.within, layout.slots = f"variables.{tree.name}", {}
    made = _lower(layout, tree.args[0])
    layout.within, layout.slots = within, slots
    layout.variables[tree.name] = made
    return made


def _binding(layout: _Layout, tree: Tree) -> int:
    first = _lower(layout, tree.args[0])
    numbers = []
    for slot in tree.slots:
        if layout.slot_count >= SLOTS_MAX:
            raise BeyondLimits
        layout.slots[slot] = layout.slot_count
        numbers.append(layout.slot_count)
        layout.slot_count += 1
    args = [first, *(_lower(layout, arg) for arg in tree.args[1:])]
    if tree.op == "bind":
        return layout.emit(tree, {"op": "bind", "slot": numbers[0]}, args)
    return layout.emit(tree, {"op": "loop", "kind": tree.name, "slots": numbers}, args)


def _constant(layout: _Layout, tree: Tree) -> int:
    value = constant_json(tree.value, tree.type)
    key = json.dumps([_type_json(tree.type), value], sort_keys=True)
    if key not in layout.constants:
        layout.constants[key] = len(layout.constant_values)
        layout.constant_values.append(value)
    return layout.constants[key]


def _note_read(layout: _Layout, tree: Tree) -> None:
    """What the expression reads: for wakes, and for who prepares columns. `null`: not constant."""
    args = [
        constant_json(arg.value, arg.type) if arg.op == "constant" else None for arg in tree.args
    ]
    read: dict[str, Any] = {"fact": tree.name, "args": args}
    if tree.column:
        read["column"] = tree.column
    layout.reads[json.dumps([tree.name, args], sort_keys=True)] = read
