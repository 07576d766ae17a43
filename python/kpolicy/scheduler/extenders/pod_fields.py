"""Pods and nodes as extenders get them: as kube-scheduler sends them, without the fields of pods
that the operator withholds (`--extender-pod-fields`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from kpolicy.quick_dataclass import dataclass

ENV: Final = "env"
ARGS: Final = "args"
ANNOTATIONS: Final = "annotations"
FIELDS: Final = (ENV, ARGS, ANNOTATIONS)
# The words that stand for a list of fields.
ALL: Final = "all"
NONE: Final = "none"

_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
# A command carries the same secrets as its arguments.
_OF_CONTAINERS: Final = {ENV: ("env", "envFrom"), ARGS: ("args", "command")}
# kubectl repeats the whole pod in this annotation.
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def pod_fields(written: Iterable[str]) -> frozenset[str]:
    """The fields that extenders get. Raises ValueError with the reason if they are none."""
    listed = tuple(written)
    if listed in ((ALL,), (NONE,)):
        return frozenset(FIELDS if listed == (ALL,) else ())
    for name in listed:
        if name not in FIELDS:
            known = ", ".join(FIELDS)
            raise ValueError(f"`{name}` is not one of {known}, and not `{ALL}` or `{NONE}` alone")
    return frozenset(listed)


@dataclass(frozen=True, slots=True)
class PodFields:
    """The fields that extenders get, of those that can be withheld."""

    sent: frozenset[str] = frozenset(FIELDS)

    def pod(self, item: dict[str, Any]) -> bytes:
        """The pod as extenders get it. `item` may be changed."""
        spec, metadata = item.get("spec"), item["metadata"]
        withheld = set(FIELDS) - self.sent
        for name in withheld & _OF_CONTAINERS.keys():
            for container in _containers(spec):
                for key in _OF_CONTAINERS[name]:
                    container.pop(key, None)
        if ANNOTATIONS in withheld:
            metadata.pop("annotations", None)
        elif withheld and isinstance(metadata.get("annotations"), dict):
            metadata["annotations"].pop(_LAST_APPLIED, None)
        return bare(item)


def _containers(spec: Any) -> list[dict[str, Any]]:
    listed = [spec.get(key) for key in _CONTAINERS] if isinstance(spec, dict) else []
    return [item for items in listed for item in items or () if isinstance(item, dict)]


def bare(item: dict[str, Any]) -> bytes:
    """An object as kube-scheduler sends it: without its kind and its managers."""
    item.pop("kind", None)
    item.pop("apiVersion", None)
    item["metadata"].pop("managedFields", None)
    return json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode()
