"""Pods of a snapshot: found by the names that a user writes, and judged as if they were pending."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from kpolicy.engine import Engine, PodChange
from kpolicy.offline.limits import NAMES_COMPARED_MAX
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.offline.snapshots.inventory import ENDED
from kpolicy.offline.snapshots.json_objects import DEFAULT_SCHEDULER, Json, key_of, mapping_at
from kpolicy.policy.nearest import did_you_mean

_NOW_NS: Final = 0


@dataclass(frozen=True, slots=True)
class NotExplained:
    """A pod that was asked for and has no explanation; `hint` may be empty."""

    pod: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.pod}: {self.message}" + (f"; {self.hint}" if self.hint else "")


def key_of_pod(pod: PodChange) -> str:
    return f"{pod.namespace}/{pod.name}"


def full_key(written: str) -> str:
    """`web` means `default/web`."""
    return written if "/" in written else f"default/{written}"


def scheduler_of(pod: Json) -> str:
    return str(mapping_at(pod, "spec").get("schedulerName") or DEFAULT_SCHEDULER)


def node_of(pod: Json) -> str:
    return str(mapping_at(pod, "spec").get("nodeName") or "")


def has_ended(pod: Json) -> bool:
    return mapping_at(pod, "status").get("phase") in ENDED


def queue_order(pods: Iterable[PodChange]) -> list[PodChange]:
    """The order in which a scheduler tries pods: by priority, creation and name."""
    return sorted(
        pods, key=lambda pod: (-pod.priority, pod.created_ns, pod.namespace, pod.name, pod.uid)
    )


def pods_of(snapshot: Snapshot) -> Iterator[Json]:
    for _, item in snapshot.objects():
        if item.get("kind") == "Pod" and isinstance(item.get("metadata"), dict):
            yield item


def pods_by_key(snapshot: Snapshot, keys: Sequence[str]) -> dict[str, Json]:
    """The snapshot's objects of these pods. Walks the snapshot only if there are any keys."""
    found = ((key_of(pod), pod) for pod in (pods_of(snapshot) if keys else ()))
    return {key: pod for key, pod in found if key in keys}


def unknown_pod(snapshot: Snapshot, key: str) -> NotExplained:
    """Hints at the pod that was perhaps meant."""
    name = key.partition("/")[2]
    known = list(islice(map(key_of, pods_of(snapshot)), NAMES_COMPARED_MAX))
    elsewhere = sorted(other for other in known if other.endswith(f"/{name}"))
    hint = f"did you mean `{elsewhere[0]}`?" if elsewhere else did_you_mean(key, known)
    return NotExplained(
        key,
        "there is no such pod in the snapshot",
        hint if known else "there is no pod in it",
    )


def as_pending(pod: Json, scheduler_name: str = "") -> Json:
    """The pod without its node and status; with another scheduler name, if one is given."""
    spec = {name: value for name, value in mapping_at(pod, "spec").items() if name != "nodeName"}
    if scheduler_name:
        spec["schedulerName"] = scheduler_name
    return {**{name: value for name, value in pod.items() if name != "status"}, "spec": spec}


def watch_lines(*events: tuple[str, Any]) -> bytes:
    """Lines of a watch, such as `("DELETED", pod)`."""
    lines = (json.dumps({"type": kind, "object": item}) + "\n" for kind, item in events)
    return "".join(lines).encode()


@contextmanager
def unplaced(engine: Engine, pod: Json) -> Iterator[None]:
    """Inside, the engine holds the pod as pending; afterwards as before."""
    pending = as_pending(pod)
    engine.watch("pods", watch_lines(("DELETED", pod), ("ADDED", pending)), _NOW_NS)
    try:
        yield
    finally:
        engine.watch("pods", watch_lines(("DELETED", pending), ("ADDED", pod)), _NOW_NS)
