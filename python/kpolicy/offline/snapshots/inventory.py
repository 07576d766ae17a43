"""The objects of a snapshot in the few values that figures need.

An object that is there twice counts once, as in the engine. An object of a wrong form counts by its
name alone; the engine reports it. These sums are for figures; the engine has its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any, Final, NamedTuple

from kpolicy.offline.snapshots.json_objects import (
    DEFAULT_SCHEDULER,
    Json,
    is_read,
    key_of,
    mapping_at,
    name_of,
    uid_of,
)
from kpolicy.offline.snapshots.snapshot_problem import DUPLICATE, Problem
from kpolicy.policy.quantities import read_quantity

PODS: Final = "pods"
ENDED: Final = frozenset({"Succeeded", "Failed"})
# The resources that pod-level requests may name.
_POD_LEVEL: Final = ("cpu", "memory")
_NOTHING: Final = Fraction(0)
_ONE_UNIT: Final = Fraction(1)

Amounts = dict[str, Fraction]


def requested(pod: Mapping[str, Any]) -> Amounts:
    """Including one of `pods`."""
    spec = pod.get("spec") or {}
    if _is_simple(spec):
        return {**_requests(spec["containers"][0]), PODS: _ONE_UNIT}
    running: Amounts = {}
    for container in spec.get("containers") or ():
        add(running, _requests(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        at_start = dict(sidecars)
        add(at_start, _requests(container))
        if container.get("restartPolicy") == "Always":
            sidecars = at_start
        peak = _largest(peak, at_start)
    add(running, sidecars)
    total = _largest(running, peak)
    total |= {
        name: amount
        for name, amount in _requests(spec).items()
        if name in _POD_LEVEL or name.startswith("hugepages-")
    }
    add(total, _amounts(spec.get("overhead")))
    add(total, {PODS: _ONE_UNIT})
    return total


def allocatable(node: Mapping[str, Any]) -> Amounts:
    status = node.get("status") or {}
    return _amounts(status.get("allocatable") or status.get("capacity"))


def total(parts: Iterable[Amounts]) -> Amounts:
    """Whole numbers are added up for each denominator: adding fractions takes ten times as long."""
    sums: dict[str, dict[int, int]] = {}
    for amounts in parts:
        for name, amount in amounts.items():
            by_denominator = sums.setdefault(name, {})
            denominator = amount.denominator
            by_denominator[denominator] = by_denominator.get(denominator, 0) + amount.numerator
    return {
        name: sum((Fraction(*reversed(part)) for part in found.items()), _NOTHING)
        for name, found in sums.items()
    }


def add(to: Amounts, amounts: Mapping[str, Fraction]) -> None:
    for name, amount in amounts.items():
        to[name] = to.get(name, _NOTHING) + amount


def _is_simple(spec: Mapping[str, Any]) -> bool:
    """One container and nothing else that counts, as most pods are: there is nothing to add up."""
    return len(spec.get("containers") or ()) == 1 and not any(
        spec.get(name) for name in ("initContainers", "resources", "overhead")
    )


def _requests(holder: Mapping[str, Any]) -> Amounts:
    """A limit without a request is a request."""
    resources = holder.get("resources") or {}
    return _amounts(resources.get("limits")) | _amounts(resources.get("requests"))


def _amounts(written: Mapping[str, Any] | None) -> Amounts:
    return {name: quantity(amount) for name, amount in (written or {}).items()}


def _largest(first: Amounts, other: Amounts) -> Amounts:
    names = {**first, **other}
    return {name: max(first.get(name, _NOTHING), other.get(name, _NOTHING)) for name in names}


def quantity(written: str | float) -> Fraction:
    """In whole units; 0 for what is no quantity."""
    return read_quantity(str(written).strip()) or _NOTHING


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
    key, uid = key_of(item), uid_of(item)
    try:
        if kind == "Node":
            return Entry(kind, key, uid, source, *_node(item))
        if kind == "Pod":
            return Entry(kind, key, uid, source, *_pod(item))
    except (TypeError, AttributeError, ValueError):
        pass
    return Entry(kind, key, uid, source, {})


def _node(node: Json) -> tuple[Amounts, str, State | None, bool]:
    info = mapping_at(mapping_at(node, "status"), "nodeInfo")
    version = str(info.get("kubeletVersion") or "(unknown)")
    is_unschedulable = bool(mapping_at(node, "spec").get("unschedulable"))
    return allocatable(node), version, None, is_unschedulable


def _pod(pod: Json) -> tuple[Amounts, str, State]:
    spec = mapping_at(pod, "spec")
    if mapping_at(pod, "status").get("phase") in ENDED:
        state = State.ENDED
    elif spec.get("nodeName"):
        state = State.ON_NODE
    else:
        state = State.GATED if spec.get("schedulingGates") else State.PENDING
    return requested(pod), str(spec.get("schedulerName") or DEFAULT_SCHEDULER), state
