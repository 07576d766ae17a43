"""The watch events of a simulated pod, as texts with gaps for its names and times.

Pods of a kind share one `PodTexts`: 200,000 pods are filled in, and not made as objects.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from kpolicy.offline.snapshots.inventory import PODS, requested

# Amounts are counted in thousandths, so that they are whole: 1 cpu is 1,000.
MILLI: Final = 1_000
# A text that stands for a gap, and the gap.
_GAPS: Final = {
    "\u0001name": "%(name)s",
    "\u0001uid": "%(uid)s",
    "\u0001created": "%(created)s",
    "\u0001node": "%(node)s",
    "\u0001started": "%(started)s",
    "\u0001deleted": "%(deleted)s",
}
# Fields that the API server and the kubelet write, and that another pod of the kind has not.
_OF_ONE_POD: Final = frozenset(
    {"uid", "creationTimestamp", "deletionTimestamp", "resourceVersion", "managedFields"}
)


@dataclass(frozen=True, slots=True, eq=False)
class PodTexts:
    """`amounts` are what the pod requests, by resource, in thousandths. The gaps are `name`, `uid`
    and `created`; of `bound` also `node` and `started`; of the last two also `deleted`."""

    amounts: Mapping[str, int]
    added: str
    bound: str
    leaving: str
    deleted: str


def pod_texts(pod: Mapping[str, Any]) -> PodTexts:
    """`pod` is an object of the API; what it says of its own name and node is left out."""
    own = _map(pod, "metadata").items()
    metadata = {name: value for name, value in own if name not in _OF_ONE_POD}
    metadata |= {"name": "\u0001name", "uid": "\u0001uid", "creationTimestamp": "\u0001created"}
    metadata.setdefault("namespace", "default")
    spec = {name: value for name, value in _map(pod, "spec").items() if name != "nodeName"}
    pending: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
    }
    bound = copy.deepcopy(pending)
    bound["spec"]["nodeName"] = "\u0001node"
    bound["status"] = {"phase": "Running", "startTime": "\u0001started"}
    leaving = copy.deepcopy(bound)
    leaving["metadata"]["deletionTimestamp"] = "\u0001deleted"
    amounts = {
        name: milli(amount) for name, amount in requested(pod).items() if amount and name != PODS
    }
    return PodTexts(
        amounts,
        _event("ADDED", pending),
        _event("MODIFIED", bound),
        _event("MODIFIED", leaving),
        _event("DELETED", bound),
    )


def milli(amount: Fraction) -> int:
    """In thousandths, rounded up as the API server does."""
    return -(-amount.numerator * MILLI // amount.denominator)


def _map(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = item.get(name)
    return value if isinstance(value, Mapping) else {}


def _event(kind: str, item: Mapping[str, Any]) -> str:
    text = json.dumps({"type": kind, "object": item}, separators=(",", ":")).replace("%", "%%")
    for mark, gap in _GAPS.items():
        text = text.replace(json.dumps(mark)[1:-1], gap)
    return text + "\n"
