"""The objects of a snapshot in the few values that figures need.

An object that is there twice counts once, as in the engine. An object of a wrong form counts by its
name alone; the engine reports it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.offline.snapshots.object_kinds import (
    DEFAULT_SCHEDULER,
    is_read,
    key_of,
    mapping_at,
    name_of,
    uid_of,
)
from kpolicy.offline.snapshots.resource_amounts import ENDED, Amounts, allocatable, requested
from kpolicy.offline.snapshots.snapshot_problem import DUPLICATE, Problem


class State(Enum):
    """Of a pod."""

    PENDING = "pending"
    GATED = "gated"
    ON_NODE = "on a node"
    ENDED = "ended"


class Entry(NamedTuple):
    """`amounts`: what a node has, or a pod asks. `word`: a node's version, a pod's scheduler."""

    kind: str
    key: str
    uid: str
    source: str
    amounts: Amounts
    word: str = ""
    state: State | None = None
    is_unschedulable: bool = False


@dataclass(slots=True)
class Inventory:
    """`entries` by kind and what tells objects apart: pods by uid, everything else by name."""

    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)

    def nodes(self) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.kind == "Node"]

    def pods(self) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.kind == "Pod"]


def inventory(items: Iterable[tuple[str, Json]]) -> Inventory:
    made = Inventory()
    seen: dict[tuple[str, str], Entry] = {}  # by kind and name
    twice: dict[tuple[str, str, str, bool], list[str]] = defaultdict(list)
    for source, item in items:
        if not is_read(item):
            made.left_out[str(item.get("kind") or "(no kind)")] += 1
            continue
        if not name_of(item):
            continue  # which the engine has named
        entry = _entry(source, item)
        before = seen.setdefault((entry.kind, entry.key), entry)
        if before is not entry:
            is_another = entry.kind == "Pod" and entry.uid != before.uid
            twice[entry.kind, before.source, source, is_another].append(entry.key)
        made.entries[entry.kind, entry.uid if entry.kind == "Pod" else entry.key] = entry
    made.problems += _doubles(twice)
    return made


def _doubles(twice: Mapping[tuple[str, str, str, bool], list[str]]) -> Iterable[Problem]:
    for (kind, first, source, is_another), keys in twice.items():
        more = f" and {len(keys) - 1:,} more" if len(keys) > 1 else ""
        where = "earlier in it" if first == source else f"in {first}"
        used = " with another uid; both are used" if is_another else "; the last is used"
        message = f"already there, {where}{used}"
        yield Problem(DUPLICATE, source, f"{kind} {keys[0]}{more}", message)


def _entry(source: str, item: Json) -> Entry:
    kind = str(item["kind"])
    named = Entry(kind, key_of(item), uid_of(item), source, {})
    try:
        if kind == "Node":
            return _node(named, item)
        if kind == "Pod":
            return _pod(named, item)
    except (TypeError, AttributeError, ValueError):
        pass
    return named


def _node(named: Entry, node: Json) -> Entry:
    info = mapping_at(mapping_at(node, "status"), "nodeInfo")
    return named._replace(
        amounts=allocatable(node),
        word=str(info.get("kubeletVersion") or "(unknown)"),
        is_unschedulable=bool(mapping_at(node, "spec").get("unschedulable")),
    )


def _pod(named: Entry, pod: Json) -> Entry:
    spec = mapping_at(pod, "spec")
    if mapping_at(pod, "status").get("phase") in ENDED:
        state = State.ENDED
    elif spec.get("nodeName"):
        state = State.ON_NODE
    else:
        state = State.GATED if spec.get("schedulingGates") else State.PENDING
    scheduler = str(spec.get("schedulerName") or DEFAULT_SCHEDULER)
    return named._replace(amounts=requested(pod), word=scheduler, state=state)
