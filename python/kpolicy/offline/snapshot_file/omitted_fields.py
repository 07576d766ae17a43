"""Fields that are never written into a snapshot.

No rule and no fact reads them. They are large, or may hold secrets (variables, arguments, commands,
headers of probes).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_METADATA: Final = frozenset({"managedFields", "selfLink"})
_CONTAINER: Final = frozenset(
    {
        "args",
        "command",
        "env",
        "envFrom",
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    }
)
_CONTAINER_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
# A controller's pods are there themselves; its template would bring their variables back.
_OF_SPEC: Final[Mapping[str, frozenset[str]]] = {
    "ReplicaSet": frozenset({"template"}),
    "ReplicationController": frozenset({"template"}),
    "StatefulSet": frozenset({"template", "volumeClaimTemplates"}),
}
_OF_OBJECT: Final[Mapping[str, frozenset[str]]] = {"StorageClass": frozenset({"parameters"})}


def cleaned(item: Mapping[str, Any]) -> dict[str, Any]:
    """The object without them; what has another form than it should is left as it is."""
    kind = str(item.get("kind"))
    kept = _without(item, _OF_OBJECT.get(kind, frozenset()))
    if isinstance(metadata := item.get("metadata"), dict):
        kept["metadata"] = _metadata(metadata)
    if isinstance(spec := item.get("spec"), dict):
        kept["spec"] = (
            _pod_spec(spec) if kind == "Pod" else _without(spec, _OF_SPEC.get(kind, frozenset()))
        )
    return kept


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    kept = _without(metadata, _METADATA)
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and _LAST_APPLIED in annotations:
        kept["annotations"] = _without(annotations, frozenset({_LAST_APPLIED}))
    return kept


def _pod_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(spec)
    for name in _CONTAINER_LISTS:
        if isinstance(containers := spec.get(name), list):
            kept[name] = [
                _without(each, _CONTAINER) if isinstance(each, dict) else each
                for each in containers
            ]
    return kept


def _without(holder: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in holder.items() if name not in names}
