"""I12, for deletions: each has the uid of a chosen victim, which has a lower priority than the
scheduler's pod.

Whether the engine chose the victim, and whether a disruption budget was violated without need, is
checked only where decisions were logged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests.invariants.allow_list import DELETION
from tests.invariants.devices import wants_devices
from tests.invariants.history import (
    SECOND_NS,
    Decision,
    History,
    Object,
    RoomDecided,
    Span,
    Violation,
    Write,
)
from tests.invariants.pods_and_nodes import node_of, priority_of, profile_of
from tests.invariants.reference import Forbids, fits
from tests.invariants.timeline import Timeline

NAME = "I12"
# The preemptor may have been deleted meanwhile: a silent watch is noticed after 75 s, and the
# deletion of the victim is tried again for a while.
STALE_S: Final = 120.0
# The recorder sees a change a little after the API server made it, and on a busy machine later than
# the scheduler.
RECORDED_LATE_S: Final = 2.0


def evictions(history: History, timeline: Timeline) -> Iterator[Violation]:
    if not history.terms.evicts:
        return
    users = {start.instance: start.user for start in history.starts}
    decided = {
        (users.get(room.instance, ""), uid) for room in history.rooms for uid in room.victims
    }
    for write in history.ours():
        if (write.verb, write.what) != DELETION:
            continue
        why = unlawful(write, history, timeline)
        uid = write.in_request("preconditions", "uid")
        if not why and history.starts and (write.user, uid) not in decided:
            why = "nobody decided that it should go"
        if why:
            who = f"{write.verb} {write.what} {write.namespace}/{write.name} by {write.user}"
            yield Violation(NAME, write.received_ns, f"{who}: {why}")
    for room in history.rooms:
        for uid in needless(room, history, timeline):
            text = f"{uid} on {room.node} goes for {room.uid} against a budget, without need"
            yield Violation(NAME, room.at_ns, text)


def unlawful(deletion: Write, history: History, timeline: Timeline) -> str:
    uid = deletion.in_request("preconditions", "uid")
    if not uid:
        return "no uid is named"
    if not deletion.succeeded:
        return ""
    states = timeline.states_of(uid)
    if not states:
        return "nobody knows that pod"
    low = timeline.version_at(deletion.received_ns - round(STALE_S * SECOND_NS))
    high = timeline.version_at(deletion.received_ns + round(RECORDED_LATE_S * SECOND_NS))
    worth = [
        priority_of(pod)
        for pod in timeline.pods_within(Span(low, high))
        if not node_of(pod) and profile_of(pod) in history.profiles
    ]
    if max(worth, default=priority_of(states[0])) <= priority_of(states[0]):
        return f"no pod above its priority {priority_of(states[0])} waited"
    return ""


def needless(room: RoomDecided, history: History, timeline: Timeline) -> list[str]:
    """Victims of a budget that allows nothing, where all others of less worth would have been
    enough. Judged only where all that was known of the node is known here too."""
    budgets = _exhausted(timeline, room.budgets)
    spans = (room.pods, room.nodes, room.budgets)
    if not budgets or any(span.low != span.high for span in spans):
        return []
    pod = timeline.pod(room.uid, room.pods.low)
    node = next(iter(timeline.node_within(room.node, room.nodes)), None)
    if pod is None or node is None or _is_promised(room, history, timeline):
        return []
    # It may be for their devices that pods go.
    if wants_devices(pod):
        return []
    there = timeline.on_node(room.node, room.pods.low)
    stay = [
        other
        for other in there
        if priority_of(other) >= priority_of(pod)
        or any(_covers(budget, other) for budget in budgets)
    ]
    if not fits(pod, node, stay, _forbids(room, history)):
        return []
    return [pod["metadata"]["uid"] for pod in stay if pod["metadata"]["uid"] in room.victims]


def _exhausted(timeline: Timeline, span: Span) -> list[Object]:
    found = timeline.others_within("poddisruptionbudgets", span)
    return [pod for pod in found if not (pod.get("status") or {}).get("disruptionsAllowed")]


def _covers(budget: Object, pod: Object) -> bool:
    wanted: dict[str, Any] = (budget["spec"].get("selector") or {}).get("matchLabels") or {}
    labels = pod["metadata"].get("labels") or {}
    return bool(wanted) and all(labels.get(key) == value for key, value in wanted.items())


def _is_promised(room: RoomDecided, history: History, timeline: Timeline) -> bool:
    """Whether the node may hold pods that the API server does not show: placements under way, and
    nominated pods."""
    meant: list[Decision | RoomDecided] = [
        *(decision for decision in history.decisions if decision.instance == room.instance),
        *history.rooms,
    ]
    for victim in meant:
        if victim.node == room.node and victim.at_ns <= room.at_ns and victim.uid != room.uid:
            pod = timeline.pod(victim.uid, room.pods.low)
            if pod is not None and not node_of(pod):
                return True
    return any(
        (pod.get("status") or {}).get("nominatedNodeName") == room.node
        for pod in timeline.pods(room.pods.low)
        if pod["metadata"]["uid"] != room.uid
    )


def _forbids(room: RoomDecided, history: History) -> Forbids:
    """Labels that an offered policy forbids: any policy offered by then may be in force."""
    return tuple(
        label
        for offer in history.policies
        if offer.at_ns <= room.at_ns
        for label in (*offer.forbids, *offer.shuns)
    )
