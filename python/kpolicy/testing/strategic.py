"""Strategic merge patch: lists of objects merge by key.

Owns the merge and the keys of the lists it knows, for the resources served here. Pure: the object
given is never changed. Also stands in for server-side apply, which merges the same lists by the
same keys; field ownership is not kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kpolicy.testing import limits

# Field name -> key its elements merge by. A field that is not here is replaced as a whole, as lists
# without a merge key are (tolerations, arguments, topology terms of affinity, ...).
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
# Lists of plain values that merge as sets.
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
            result[field] = [each for each in result.get(field) or [] if each not in value]
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
        return held + [each for each in patch if each not in held]
    key = _merge_key(field, held, patch)
    if key is None:
        return list(patch)
    if any(each.get(_DIRECTIVE) == "replace" for each in patch):
        return [each for each in patch if _DIRECTIVE not in each]
    result: list[Any] = list(held)
    for each in patch:
        at = next((i for i, old in enumerate(result) if old.get(key) == each.get(key)), None)
        if each.get(_DIRECTIVE) == "delete":
            if at is not None:
                del result[at]
        elif at is None:
            result.append(_merged({}, each, depth))
        else:
            result[at] = _merged(result[at], each, depth)
    leading = order if isinstance(order, list) else patch
    return _ordered(
        result,
        [each.get(key) for each in leading if isinstance(each, Mapping)],
        [each.get(key) for each in held],
        key,
    )


def _ordered(
    elements: list[Any], patch_keys: list[Any], held_keys: list[Any], key: str
) -> list[Any]:
    """What the patch names in its order, all else in the order it had; new elements come first
    where neither says more, as the API server has it."""
    named = [each for each in elements if each.get(key) in patch_keys]
    named.sort(key=lambda each: patch_keys.index(each.get(key)))
    others = [each for each in elements if each.get(key) not in patch_keys]
    merged: list[Any] = []
    while named and others:
        ours, theirs = named[0].get(key), others[0].get(key)
        known = ours in held_keys and theirs in held_keys
        earlier = known and held_keys.index(theirs) < held_keys.index(ours)
        merged.append((others if earlier else named).pop(0))
    return merged + named + others


def _merge_key(field: str, held: list[Any], patch: list[Any]) -> str | None:
    """The key, if the list merges and every element is one that can."""
    key = MERGE_KEYS.get(field)
    elements = [*held, *patch]
    if field == "ports" and any(isinstance(each, Mapping) and "port" in each for each in elements):
        key = SERVICE_PORTS_KEY
    if key is None or not all(isinstance(each, Mapping) for each in elements):
        return None
    keyed = all(key in each or _DIRECTIVE in each for each in elements)
    return key if keyed else None
