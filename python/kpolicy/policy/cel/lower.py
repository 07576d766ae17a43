"""Checked tree to IR: the JSON that the engine reads (docs/internals/expressions.md).

Nodes are listed in single-assignment order, constants are interned, slots numbered, and a policy
variable is laid out once however often it is used. The tree has no errors.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, assert_never

from kpolicy.policy.cel.tree import (
    And,
    Bind,
    Call,
    Conditional,
    Constant,
    Fact,
    Failing,
    Field,
    Has,
    Loop,
    MemberRead,
    NewList,
    NewMap,
    OptionalField,
    Or,
    OrOptional,
    OrValue,
    Present,
    Read,
    Reported,
    Slot,
    Tree,
    Variable,
)
from kpolicy.policy.cel.types import BYTES, DOUBLE, DYN, ERROR, STRING, Type, list_of, map_of
from kpolicy.quick_dataclass import dataclass

FORMAT: Final = 1
# Less than the engine's bound of 200: lint walks the same trees, with some calls a level.
DEPTH_MAX: Final = 128
# Bounds of the engine, which refuses an expression beyond them.
NODES_MAX: Final = 8192
SLOTS_MAX: Final = 64


_OPS: Final[dict[type[Tree], str]] = {
    Field: "field",
    Has: "has",
    OptionalField: "optional_field",
    NewList: "list",
    NewMap: "map",
    And: "and",
    Or: "or",
    Conditional: "conditional",
    OrValue: "or_value",
    OrOptional: "or_optional",
}


class BeyondLimits(Exception):  # noqa: N818
    """The IR would be refused by the engine."""


def lower(tree: Tree, cost: int, text: str, variables: Mapping[str, str]) -> dict[str, Any]:
    """The IR as a JSON object; `variables` are the texts of the policy's variables by name."""
    layout = _Layout()
    root = layout.add(tree)
    return {
        "format": FORMAT,
        "constants": layout.constant_values,
        "nodes": layout.nodes,
        "root": root,
        "spans": layout.spans,
        "sources": {
            "": text,
            **{f"variables.{name}": variables[name] for name in sorted(layout.variables)},
        },
        "reads": [layout.reads[key] for key in sorted(layout.reads)],
        "cost": cost,
        "time": tree.time.name.lower(),
        "type": _type_json(tree.type),
    }


def _type_json(kind: Type) -> Any:
    return DYN.json() if kind == ERROR else kind.json()


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

    def add(self, tree: Tree) -> int:
        """Lays out a tree, operands first; the index of its node."""
        match tree:
            case Variable():
                return self._variable(tree)
            case Loop():
                return self._loop(tree)
            case Bind():
                value = self.add(tree.value)
                (number,) = self._new_slots((tree.slot,))
                body = self.add(tree.body)
                return self._emit(tree, {"op": "bind", "slot": number}, [value, body])
        return self._emit(tree, self._node(tree), [self.add(operand) for operand in tree.operands])

    def _node(self, tree: Tree) -> dict[str, Any]:
        match tree:
            case Constant():
                return {"op": "constant", "constant": self._constant(tree)}
            case Slot(slot=slot):
                return {"op": "slot", "slot": self.slots[slot]}
            case Fact() | MemberRead():
                return self._read(tree, "")
            case Present(read=read):
                return self._read(read, "present")
            case Failing():
                return {"op": "error", "message": tree.message}
            case Call():
                return {"op": "call", "overload": tree.name}
            case Field() | Has() | OptionalField():
                return {"op": _OPS[type(tree)], "name": tree.name}
            case NewList() | NewMap():
                optional = {"optional": list(tree.optional)} if tree.optional else {}
                return {"op": _OPS[type(tree)], **optional}
            case And() | Or() | Conditional() | OrValue() | OrOptional():
                return {"op": _OPS[type(tree)]}
            case Reported() | Variable() | Loop() | Bind():
                raise AssertionError(f"{tree} is not laid out like this")
            case _:
                assert_never(tree)

    def _read(self, read: Read, present: str) -> dict[str, Any]:
        """A fact or a member of an object; with `present`, whether it is there."""
        if isinstance(read, MemberRead):
            return {"op": "present_member" if present else "member", "member": read.name}
        self._note_read(read)
        return {"op": present or "fact", "fact": read.name}

    def _emit(self, tree: Tree, node: dict[str, Any], args: list[int]) -> int:
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

    def _variable(self, tree: Variable) -> int:
        if tree.name not in self.variables:
            within, slots = self.within, self.slots
            self.within, self.slots = f"variables.{tree.name}", {}
            self.variables[tree.name] = self.add(tree.value)
            self.within, self.slots = within, slots
        return self.variables[tree.name]

    def _loop(self, tree: Loop) -> int:
        over = self.add(tree.over)
        numbers = self._new_slots(tree.slots)
        args = [over, *(self.add(operand) for operand in tree.body)]
        node = {"op": "loop", "kind": tree.kind.value, "slots": numbers}
        return self._emit(tree, node, args)

    def _new_slots(self, slots: tuple[int, ...]) -> list[int]:
        numbers = list(range(self.slot_count, self.slot_count + len(slots)))
        self.slot_count += len(slots)
        if self.slot_count > SLOTS_MAX:
            raise BeyondLimits
        self.slots.update(zip(slots, numbers, strict=True))
        return numbers

    def _constant(self, tree: Constant) -> int:
        value = constant_json(tree.value, tree.type)
        key = json.dumps([_type_json(tree.type), value], sort_keys=True)
        if key not in self.constants:
            self.constants[key] = len(self.constant_values)
            self.constant_values.append(value)
        return self.constants[key]

    def _note_read(self, fact: Fact) -> None:
        """Notes a read of a fact, for waking pods and preparing columns; `null`: any argument."""
        args = [
            constant_json(arg.value, arg.type) if isinstance(arg, Constant) else None
            for arg in fact.args
        ]
        column = {"column": fact.column} if fact.column else {}
        read = {"fact": fact.name, "args": args, **column}
        self.reads[json.dumps([fact.name, args], sort_keys=True)] = read


def constant_json(value: Any, kind: Type) -> Any:
    """The JSON form of a literal, or of a parameter's value, of the given type."""
    if value is None:
        return None
    if kind.name == "list":
        return [constant_json(item, kind.parameters[0]) for item in value]
    if kind.name == "map":
        key_type, value_type = kind.parameters
        pairs = [
            [constant_json(key, key_type), constant_json(item, value_type)]
            for key, item in value.items()
        ]
        return {"map": pairs}
    if kind.name in ("uint", "type", "quantity", "selector", "timestamp", "duration"):
        return {kind.name: value}
    if kind.name == "double":
        return {"double": double_text(float(value))}
    if kind.name == "bytes":
        return {"bytes": base64.b64encode(value).decode()}
    return constant_json(value, _kind_of(value)) if kind == DYN else value


def _kind_of(value: Any) -> Type:
    match value:
        case float():
            return DOUBLE
        case bytes():
            return BYTES
        case dict():
            return map_of(DYN, DYN)
        case list() | tuple():
            return list_of(DYN)
    return STRING


def double_text(value: float) -> str:
    """The shortest text that reads back as the same double."""
    text = repr(value)
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)
