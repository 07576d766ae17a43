"""Pods by the names that a user gives.

Owns how a name is read (`web` means `default/web`), and what a wrong one may have meant. Assumes a
snapshot whose texts can be walked, which is done only for what the engine's pending pods do not
answer. Must not ask the engine for anything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Final

from kpolicy.engine import Engine, PodChange
from kpolicy.offline.limits import NAMES_COMPARED_MAX
from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.offline.snapshots.object_kinds import key_of
from kpolicy.offline.snapshots.snapshot import Snapshot
from kpolicy.policy.nearest import did_you_mean


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
    return written if "/" in written else f"default/{written}"


def queue_order(pods: Iterable[PodChange]) -> list[PodChange]:
    """Priority, then creation, then names: the order in which a scheduler tries them."""
    return sorted(
        pods, key=lambda pod: (-pod.priority, pod.created_ns, pod.namespace, pod.name, pod.uid)
    )


def placed_pods(snapshot: Snapshot, keys: Sequence[str]) -> dict[str, Json]:
    """Those of the snapshot that have these names, as they are written."""
    wanted = set(keys)
    found = {}
    for item in _pods(snapshot) if wanted else ():
        key = key_of(item)
        if key in wanted:
            found[key] = item
    return found


def unknown(snapshot: Snapshot, key: str) -> NotExplained:
    """With the pod that was perhaps meant."""
    name = key.partition("/")[2]
    known = list(islice(map(key_of, _pods(snapshot)), NAMES_COMPARED_MAX))
    elsewhere = sorted({one for one in known if one.endswith(f"/{name}")})
    hint = f"did you mean `{elsewhere[0]}`?" if elsewhere else did_you_mean(key, known)
    if not known:
        hint = "there is no pod in it at all"
    return NotExplained(key, "there is no such pod in the snapshot", hint)


def _pods(snapshot: Snapshot) -> Iterator[Json]:
    for _, item in snapshot.objects():
        if item.get("kind") == "Pod" and isinstance(item.get("metadata"), dict):
            yield item


# What a pod has only since it is somewhere, besides its node.
_OF_PLACEMENT: Final = frozenset({"status"})
_NOW_NS: Final = 0


@contextmanager
def unplaced(engine: Engine, pod: Json) -> Iterator[None]:
    """Inside, the pod is pending; after, all is as before."""
    spec = dict(pod.get("spec") or {})
    spec.pop("nodeName", None)
    pending = {name: value for name, value in pod.items() if name not in _OF_PLACEMENT}
    pending["spec"] = spec
    _watched(engine, ("DELETED", pod), ("ADDED", pending))
    try:
        yield
    finally:
        _watched(engine, ("DELETED", pending), ("ADDED", pod))


def _watched(engine: Engine, *events: tuple[str, Json]) -> None:
    lines = [json.dumps({"type": kind, "object": item}) + "\n" for kind, item in events]
    engine.watch("pods", "".join(lines).encode(), _NOW_NS)
