"""The four kinds of patch: JSON patch, merge patch, strategic merge patch, apply. Pure."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kpolicy.testing import limits
from kpolicy.testing.objects import failures

# Field name -> key by which its elements merge. Other lists are replaced as a whole (tolerations,
# arguments, topology terms of affinity, ...).
MERGE_KEYS: Final[Mapping[str, str]] = {
    "conditions": "type",
    "addresses": "type",
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "podIPs": "ip",
    "hostIPs": "ip",
    "topologySpreadConstraints": "topologyKey",
    "schedulingGates": "name",
    "resourceClaims": "name",
    "ownerReferences": "uid",
    "taints": "key",
    "secrets": "name",
    "drivers": "name",
}
SERVICE_PORTS_KEY: Final = "port"
# lists of plain values that merge as sets
PRIMITIVE_SETS: Final = frozenset(("finalizers", "podCIDRs"))

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DROP: Final = "$deleteFromPrimitiveList/"


def strategic_merge(original: Any, patch: Mapping[str, Any]) -> Any:
    return _merged(original if isinstance(original, Mapping) else {}, patch, 0)


def _merged(original: Mapping[str, Any], patch: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if depth > limits.NESTING_MAX:
        return dict(patch)
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    result = dict(original)
    retained = patch.get(_RETAIN)
    if isinstance(retained, Sequence) and not isinstance(retained, str):
        result = {key: value for key, value in result.items() if key in retained}
    for key, value in patch.items():
        if key.startswith(_DROP):
            field = key.removeprefix(_DROP)
            result[field] = [element for element in result.get(field) or [] if element not in value]
        elif not key.startswith("$"):
            _merge_field(result, key, value, patch, depth)
    return result


def _merge_field(
    result: dict[str, Any], key: str, value: Any, patch: Mapping[str, Any], depth: int
) -> None:
    held = result.get(key)
    if value is None:
        result.pop(key, None)
    elif isinstance(value, Mapping):
        result[key] = _merged(held if isinstance(held, Mapping) else {}, value, depth + 1)
    elif isinstance(value, list):
        order = patch.get(_ORDER + key)
        result[key] = _merged_list(
            key, held if isinstance(held, list) else [], value, order, depth + 1
        )
    else:
        result[key] = value


def _merged_list(
    field: str, held: list[Any], patch: list[Any], order: Any, depth: int
) -> list[Any]:
    if field in PRIMITIVE_SETS:
        return held + [element for element in patch if element not in held]
    if (key := _merge_key(field, held, patch)) is None:
        return list(patch)
    if any(element.get(_DIRECTIVE) == "replace" for element in patch):
        return [element for element in patch if _DIRECTIVE not in element]
    result: list[Any] = list(held)
    for element in patch:
        at = next((i for i, old in enumerate(result) if old.get(key) == element.get(key)), None)
        if element.get(_DIRECTIVE) == "delete":
            if at is not None:
                del result[at]
        elif at is None:
            result.append(_merged({}, element, depth))
        else:
            result[at] = _merged(result[at], element, depth)
    leading = order if isinstance(order, list) else patch
    return _ordered(
        result,
        [element.get(key) for element in leading if isinstance(element, Mapping)],
        [element.get(key) for element in held],
        key,
    )


def _ordered(
    elements: list[Any], patch_keys: list[Any], held_keys: list[Any], key: str
) -> list[Any]:
    """Order elements as the API server does: those of the patch in its order, the others in
    their old order, and new ones first if that leaves a choice."""
    named = [element for element in elements if element.get(key) in patch_keys]
    named.sort(key=lambda element: patch_keys.index(element.get(key)))
    others = [element for element in elements if element.get(key) not in patch_keys]
    merged: list[Any] = []
    while named and others:
        ours, theirs = named[0].get(key), others[0].get(key)
        known = ours in held_keys and theirs in held_keys
        earlier = known and held_keys.index(theirs) < held_keys.index(ours)
        merged.append((others if earlier else named).pop(0))
    return merged + named + others


def _merge_key(field: str, held: list[Any], patch: list[Any]) -> str | None:
    """Return the key, if the list merges by key and every element has it."""
    key = MERGE_KEYS.get(field)
    elements = [*held, *patch]
    if field == "ports" and any(
        isinstance(element, Mapping) and "port" in element for element in elements
    ):
        key = SERVICE_PORTS_KEY
    if key is None or not all(isinstance(element, Mapping) for element in elements):
        return None
    keyed = all(key in element or _DIRECTIVE in element for element in elements)
    return key if keyed else None


JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
KINDS: Final = frozenset((JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH))

Object = Mapping[str, Any]


def patched(object_: Object, kind: str, patch: Any) -> Object:
    """Return `object_` with a patch of media type `kind` applied."""
    if kind == JSON_PATCH:
        result = _json_patched(object_, patch)
    elif not isinstance(patch, dict):
        raise failures.bad_request("error decoding patch: must be an object")
    elif kind == MERGE_PATCH:
        result = merged(object_, patch, 0)
    else:
        result = strategic_merge(object_, patch)
    if not isinstance(result, Mapping):
        raise failures.bad_request("error decoding patch: it leaves no object")
    return result


def merged(original: Any, patch: Any, depth: int) -> Any:
    """Merge by RFC 7386: null removes, objects merge, everything else replaces."""
    if not isinstance(patch, Mapping) or depth > limits.NESTING_MAX:
        return patch
    result = dict(original) if isinstance(original, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value, depth + 1)
    return result


def _json_patched(object_: Object, patch: Any) -> Any:
    if not isinstance(patch, list) or not all(isinstance(step, dict) for step in patch):
        raise failures.bad_request("error decoding patch: must be a list of operations")
    if len(patch) > limits.JSON_PATCH_OPERATIONS_MAX:
        raise failures.bad_request("too many operations in a JSON patch")
    document: Any = copy.deepcopy(dict(object_))
    for operation in patch:
        document = _operated(document, operation)
    return document


def _operated(document: Any, operation: Mapping[str, Any]) -> Any:
    kind, path = operation.get("op"), _steps(operation.get("path"))
    match kind:
        case "test":
            if _read(document, path) != operation.get("value"):
                raise failures.misfit_patch()
            return document
        case "add":
            value = operation.get("value")
        case "remove":
            return _removed(document, path)
        case "replace":
            _read(document, path)  # it must exist
            value = operation.get("value")
            document = _removed(document, path) if path else document
        case "move":
            source = _steps(operation.get("from"))
            value = _read(document, source)
            document = _removed(document, source)
        case "copy":
            value = _read(document, _steps(operation.get("from")))
        case _:
            raise failures.misfit_patch()
    return _added(document, path, copy.deepcopy(value))


def _steps(pointer: object) -> list[str]:
    """Split a JSON pointer (RFC 6901)."""
    if pointer == "":
        return []
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        raise failures.misfit_patch()
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _read(document: Any, path: list[str]) -> Any:
    for step in path:
        if isinstance(document, dict):
            if step not in document:
                raise failures.misfit_patch()
            document = document[step]
        elif isinstance(document, list):
            document = document[_index(step, len(document) - 1)]
        else:
            raise failures.misfit_patch()
    return document


def _index(step: str, last: int) -> int:
    """Return an index without a sign or leading zeros, and not beyond the last."""
    is_short = len(step) <= len(str(max(last, 0)))
    if not is_short or not re.fullmatch("0|[1-9][0-9]*", step) or int(step) > last:
        raise failures.misfit_patch()
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
        raise failures.misfit_patch()
    return document


def _removed(document: Any, path: list[str]) -> Any:
    if not path:
        raise failures.misfit_patch()
    _read(document, path)  # it must exist
    parent = _read(document, path[:-1])
    del parent[path[-1] if isinstance(parent, dict) else int(path[-1])]
    return document
