"""Constants in the JSON form that the engine reads: see docs/internals/expressions.md."""

from __future__ import annotations

import base64
import math
from typing import Any

from .types import DYN, Type


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
    if kind == DYN:
        return constant_json(value, _kind_of(value))
    return value


def _kind_of(value: Any) -> Type:
    if isinstance(value, float):
        return Type("double")
    if isinstance(value, bytes):
        return Type("bytes")
    if isinstance(value, dict):
        return Type("map", (DYN, DYN))
    if isinstance(value, list | tuple):
        return Type("list", (DYN,))
    return Type("string")


def double_text(value: float) -> str:
    """The shortest text that reads back as the same double."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)
