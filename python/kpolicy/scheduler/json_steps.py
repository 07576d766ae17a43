"""A large JSON document read in steps, so that other threads have their turn between them.

Owns the walk through the outer containers. `json.loads` keeps the interpreter to itself until the
end: for what explains a pod on thousands of nodes that is long enough to be late with everything
else. Assumes JSON that a serialiser made. Must not know what the document says.
"""

from __future__ import annotations

import re
from json import JSONDecoder
from typing import Any, Final

# Nodes are two containers deep, and candidates of preemption three.
_DEPTH_STEPPED: Final = 3

_decode: Final = JSONDecoder().raw_decode
_WHITESPACE: Final = re.compile(r"[ \t\n\r]*")


def loads_in_steps(text: str) -> Any:
    """What `json.loads` gives."""
    value, end = _value(text, _skip(text, 0), _DEPTH_STEPPED)
    if _skip(text, end) != len(text):
        raise ValueError(f"more than one value, at {end}")
    return value


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    match text[at : at + 1] if depth else "":
        case "{":
            return _object(text, _skip(text, at + 1), depth - 1)
        case "[":
            return _array(text, _skip(text, at + 1), depth - 1)
        case _:
            return _decode(text, at)


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while text[at : at + 1] != "}":
        key, at = _decode(text, at)
        if not isinstance(key, str):
            raise ValueError(f"a key is no text, before {at}")
        at = _expect(text, at, ":")
        found[key], at = _value(text, at, depth)
        at = _next(text, at, "}")
    return found, at + 1


def _array(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while text[at : at + 1] != "]":
        value, at = _value(text, at, depth)
        found.append(value)
        at = _next(text, at, "]")
    return found, at + 1


def _next(text: str, at: int, end: str) -> int:
    """Behind the comma, or at the end of the container."""
    at = _skip(text, at)
    return at if text[at : at + 1] == end else _expect(text, at, ",")


def _expect(text: str, at: int, mark: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != mark:
        raise ValueError(f"no {mark!r} at {at}")
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    match = _WHITESPACE.match(text, at)
    return match.end() if match is not None else at
