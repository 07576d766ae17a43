"""Parts of which the JSON Schemas of output are made, each with what it is about."""

from __future__ import annotations

from typing import Any


def text_of(about: str) -> dict[str, Any]:
    return {"type": "string", "description": about}


def whole_number_of(about: str) -> dict[str, Any]:
    return {"type": "integer", "description": about}


def number_of(about: str) -> dict[str, Any]:
    return {"type": "number", "description": about}


def any_object(about: str) -> dict[str, Any]:
    return {"type": "object", "description": about}


def object_of(required: dict[str, Any], about: str = "", **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        **({"description": about} if about else {}),
        "required": list(required),
        "properties": {**required, **optional},
    }


def list_of(of: dict[str, Any], about: str) -> dict[str, Any]:
    return {"type": "array", "items": of, "description": about}
