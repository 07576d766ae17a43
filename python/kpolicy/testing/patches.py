"""Patches: what an object becomes.

Owns JSON merge patch (RFC 7386), JSON patch (RFC 6902) and the choice among all kinds by content
type. Pure; a patch that does not fit is a `Failure`; the object given is never changed. Must not
know the store nor which fields may change.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from kpolicy.testing import failures, limits
from kpolicy.testing.encoding import Json
from kpolicy.testing.failures import Failure
from kpolicy.testing.strategic import strategic_merge

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
KINDS: Final = frozenset((JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH))

Object = Mapping[str, Any]


class _MisfitError(Exception):
    """A JSON patch operation that does not fit; never leaves this module."""


def patched(object_: Object, kind: str, patch: Json) -> Object | Failure:
    """`object_` with a patch of media type `kind` applied."""
    if kind == JSON_PATCH:
        return _json_patched(object_, patch)
    if not isinstance(patch, dict):
        return failures.bad_request("error decoding patch: must be an object")
    if kind == MERGE_PATCH:
        return _object(merged(object_, patch, 0))
    if kind in (STRATEGIC_PATCH, APPLY_PATCH):
        return _object(strategic_merge(object_, patch))
    return failures.unsupported_patch_type()


def merged(original: Any, patch: Any, depth: int) -> Any:
    """RFC 7386: null removes, objects merge, all else replaces."""
    if not isinstance(patch, Mapping) or depth > limits.NESTING_MAX:
        return patch
    result = dict(original) if isinstance(original, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value, depth + 1)
    return result


def _json_patched(object_: Object, patch: Json) -> Object | Failure:
    if not isinstance(patch, list) or not all(isinstance(each, dict) for each in patch):
        return failures.bad_request("error decoding patch: must be a list of operations")
    if len(patch) > limits.JSON_PATCH_OPERATIONS_MAX:
        return failures.bad_request("too many operations in a JSON patch")
    document: Any = copy.deepcopy(dict(object_))
    for operation in patch:
        assert isinstance(operation, dict)
        try:
            document = _operated(document, operation)
        except _MisfitError:
            return failures.misfit_patch()
    return _object(document)


def _object(document: Any) -> Object | Failure:
    if not isinstance(document, Mapping):
        return failures.bad_request("error decoding patch: it leaves no object")
    return document


def _operated(document: Any, operation: Mapping[str, Any]) -> Any:
    kind, path = operation.get("op"), _steps(operation.get("path"))
    match kind:
        case "test":
            if _read(document, path) != operation.get("value"):
                raise _MisfitError("test failed")
            return document
        case "add":
            return _added(document, path, copy.deepcopy(operation.get("value")))
        case "remove":
            return _removed(document, path)
        case "replace":
            _read(document, path)
            value = copy.deepcopy(operation.get("value"))
            return _added(_removed(document, path), path, value) if path else value
        case "move":
            source = _steps(operation.get("from"))
            moved = _read(document, source)
            return _added(_removed(document, source), path, moved)
        case "copy":
            return _added(
                document, path, copy.deepcopy(_read(document, _steps(operation.get("from"))))
            )
        case _:
            raise _MisfitError(f"unknown operation {kind!r}")


def _steps(pointer: object) -> list[str]:
    """RFC 6901."""
    if pointer == "":
        return []
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        raise _MisfitError(f"not a path: {pointer!r}")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _read(document: Any, path: list[str]) -> Any:
    for step in path:
        if isinstance(document, dict):
            if step not in document:
                raise _MisfitError(f"no such path: {step}")
            document = document[step]
        elif isinstance(document, list):
            document = document[_index(step, len(document) - 1)]
        else:
            raise _MisfitError(f"no such path: {step}")
    return document


def _index(step: str, last: int) -> int:
    if not step.isascii() or not step.isdigit() or (len(step) > 1 and step[0] == "0"):
        raise _MisfitError(f"not an index: {step}")
    if len(step) > len(str(max(last, 0))) or int(step) > last:
        raise _MisfitError(f"index out of range: {step}")
    return int(step)


def _added(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, last = _read(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        at = len(parent) if last == "-" else _index(last, len(parent))
        parent.insert(at, value)
    else:
        raise _MisfitError(f"no such path: {last}")
    return document


def _removed(document: Any, path: list[str]) -> Any:
    if not path:
        raise _MisfitError("the whole object cannot be removed")
    _read(document, path)
    parent = _read(document, path[:-1])
    del parent[path[-1] if isinstance(parent, dict) else int(path[-1])]
    return document
