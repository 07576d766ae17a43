"""What the API server says against what the engine and the queue hold.

Owns the words for a difference and the rules for what is none: a pod whose bind is under way, one
that is leaving, one that another scheduler serves. Pure. Must not know where the three come from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kpolicy.cluster.watch.roster import Roster, RosterPod


class Side(StrEnum):
    MISSED = "missed"  # the API server has it, we do not
    REDUNDANT = "redundant"  # we have it, the API server does not
    DIFFERENT = "different"  # both have it, elsewhere


@dataclass(frozen=True, slots=True)
class Difference:
    """`what` differs: `nodes`, `pods`, `places`, `nominations` or `queue`."""

    what: str
    side: Side
    subject: str
    uid: str = ""
    theirs: str = ""
    ours: str = ""


WHATS = ("nodes", "pods", "places", "nominations", "queue")


@dataclass(frozen=True, slots=True)
class HeldPod:
    key: str
    node: str
    is_assumed: bool
    nominated: str
    scheduler: str


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the engine holds; pods by uid."""

    nodes: frozenset[str]
    pods: Mapping[str, HeldPod]

    @staticmethod
    def nodes_of(lines: bytes) -> frozenset[str]:
        """Those alone."""
        return frozenset(json.loads(lines.partition(b"\n")[0]))

    @classmethod
    def read(cls, lines: bytes) -> Holdings:
        """`Engine.holdings`; a line at a time, so that other threads have their turn."""
        first, *rest = lines.splitlines()
        pods = {}
        for line in rest:
            uid, key, node, is_assumed, nominated, scheduler = json.loads(line)
            pods[uid] = HeldPod(key, node, is_assumed, nominated, scheduler)
        return cls(frozenset(json.loads(first)), pods)


def compare(
    theirs: Roster,
    ours: Holdings,
    queued: Mapping[str, str],
    serves: Callable[[str], bool],
) -> list[Difference]:
    """`queued`: keys of pods in the queue, by uid; `serves`: whether a schedulerName is ours."""
    return [
        *_nodes(theirs, ours),
        *_pods(theirs, ours),
        *_queue(theirs, ours, queued, serves),
    ]


def _nodes(theirs: Roster, ours: Holdings) -> Iterator[Difference]:
    for name in sorted(theirs.nodes - ours.nodes):
        yield Difference("nodes", Side.MISSED, name)
    for name in sorted(ours.nodes - theirs.nodes):
        yield Difference("nodes", Side.REDUNDANT, name)


def _pods(theirs: Roster, ours: Holdings) -> Iterator[Difference]:
    for uid, pod in theirs.pods.items():
        held = ours.pods.get(uid)
        if held is None:
            yield Difference("pods", Side.MISSED, pod.key, uid)
            continue
        # An assumed pod is on a node before the API server has heard of it.
        if pod.node != held.node and not (held.is_assumed and not pod.node):
            yield Difference("places", Side.DIFFERENT, pod.key, uid, pod.node, held.node)
        elif not pod.node and not held.node and pod.nominated != held.nominated:
            yield _nomination(uid, pod, held)
    for uid, held in ours.pods.items():
        if uid not in theirs.pods:
            yield Difference("pods", Side.REDUNDANT, held.key, uid, ours=held.node)


def _nomination(uid: str, pod: RosterPod, held: HeldPod) -> Difference:
    side = Side.DIFFERENT
    if not pod.nominated:
        side = Side.REDUNDANT
    elif not held.nominated:
        side = Side.MISSED
    return Difference("nominations", side, pod.key, uid, pod.nominated, held.nominated)


def _queue(
    theirs: Roster,
    ours: Holdings,
    queued: Mapping[str, str],
    serves: Callable[[str], bool],
) -> Iterator[Difference]:
    for uid, pod in theirs.pods.items():
        is_waiting = not pod.node and not pod.is_leaving and serves(pod.scheduler)
        if is_waiting and uid not in queued:
            yield Difference("queue", Side.MISSED, pod.key, uid)
    for uid, key in queued.items():
        found = theirs.pods.get(uid)
        held = ours.pods.get(uid)
        # A bound pod stays under way until the watch has said so.
        if found is None or (found.node and not (held is not None and held.is_assumed)):
            node = found.node if found is not None else ""
            yield Difference("queue", Side.REDUNDANT, key, uid, node)
