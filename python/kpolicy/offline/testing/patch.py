"""JSON Patch (RFC 6902) of API objects: add, replace and remove.

Owns the meaning of the operations. Assumes plain data; changes a copy. What cannot be done is told,
never raised. Must not know what an object is.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from kpolicy.offline.testing.model import PatchOperation


class _CannotError(Exception):
    """The operation does not fit the object."""


def patched(
    item: dict[str, Any], operations: Iterable[PatchOperation]
) -> tuple[dict[str, Any], int | None, str]:
    """The patched object; where that fails, the index of the operation and why."""
    result = copy.deepcopy(item)
    for index, operation in enumerate(operations):
        try:
            _apply(result, operation)
        except _CannotError as error:
            return result, index, str(error)
    return result, None, ""


def _apply(item: Any, operation: PatchOperation) -> None:
    if not operation.path.startswith("/"):
        raise _CannotError("a path begins with `/`")
    parts = [part.replace("~1", "/").replace("~0", "~") for part in operation.path[1:].split("/")]
    for part in parts[:-1]:
        item = _step(item, part)
    last = parts[-1]
    if operation.op == "add":
        _add(item, last, copy.deepcopy(operation.value))
        return
    _step(item, last)
    key = last if isinstance(item, dict) else int(last)
    if operation.op == "remove":
        del item[key]
    else:
        item[key] = copy.deepcopy(operation.value)


def _step(item: Any, part: str) -> Any:
    if isinstance(item, dict) and part in item:
        return item[part]
    if isinstance(item, list) and part.isdecimal() and int(part) < len(item):
        return item[int(part)]
    raise _CannotError(f"there is no `{part}` in the pod at that place")


def _add(item: Any, part: str, value: Any) -> None:
    if isinstance(item, dict):
        item[part] = value
    elif isinstance(item, list) and part == "-":
        item.append(value)
    elif isinstance(item, list) and part.isdecimal() and int(part) <= len(item):
        item.insert(int(part), value)
    else:
        raise _CannotError(f"`{part}` cannot be added at that place")
