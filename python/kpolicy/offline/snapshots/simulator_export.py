"""Exports of kube-scheduler-simulator: one JSON or YAML document with a list for each kind.

Its objects need not say what kind they have. Its scheduler's configuration is no object.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from kpolicy.object_kinds import OBJECT_KINDS

# The simulator's own names of its lists.
_KINDS: Final = {
    "pods": "Pod",
    "nodes": "Node",
    "pvs": "PersistentVolume",
    "pvcs": "PersistentVolumeClaim",
    "storageClasses": "StorageClass",
    "priorityClasses": "PriorityClass",
    "namespaces": "Namespace",
}
CONFIGURATION: Final = "schedulerConfig"
_API_VERSIONS: Final = {
    kind.name: f"{kind.group}/{kind.version}" if kind.group else kind.version
    for kind in OBJECT_KINDS
} | {"PriorityClass": "scheduling.k8s.io/v1"}
# An object of the API begins with `apiVersion`, `kind`, `items` or `metadata`.
_START: Final = re.compile(rb'\s*\{\s*"(?:%s)"\s*:' % "|".join((*_KINDS, CONFIGURATION)).encode())


def export_as_list(document: bytes) -> bytes | None:
    """The `List` of the objects in an export; None if the document is something else."""
    if not _START.match(document[:256]):
        return None
    try:
        export = json.loads(document)
    except (ValueError, RecursionError):
        return None
    if not isinstance(export, dict) or not export.keys() <= {*_KINDS, CONFIGURATION}:
        return None
    items = [
        {"apiVersion": _API_VERSIONS[kind], "kind": kind, **_named(item)}
        for name, kind in _KINDS.items()
        for item in export.get(name) or ()
        if isinstance(item, dict)
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()


def _named(item: dict[str, Any]) -> dict[str, Any]:
    """Go writes the kind of an object as an empty text if it has none."""
    return {
        name: value for name, value in item.items() if value or name not in ("kind", "apiVersion")
    }
