"""I4: no pod is lost. At rest, every pending pod of the scheduler is in one queue, and its status
says why it is pending. As in kube-scheduler, nothing is written about pods that are not tried yet:
those that are gated, and those whose claims on devices are missing or on their way out.

Whether the reason is true follows from I13: no pod that would fit is left.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.invariants.devices import lacks_claims
from tests.invariants.history import STATUS, History, Object, Violation
from tests.invariants.pods_and_nodes import is_deleting, is_gated, name_of, node_of, profile_of
from tests.invariants.timeline import Timeline

NAME = "I4"


def pending(history: History, timeline: Timeline) -> list[Object]:
    """The pending pods of the scheduler at the end."""
    return [
        pod
        for pod in timeline.pods(timeline.last)
        if not node_of(pod) and profile_of(pod) in history.profiles
    ]


def lost_pods(history: History, timeline: Timeline) -> Iterator[Violation]:
    rest = history.at_rest
    if rest is None:
        return
    there = [pod for pod in pending(history, timeline) if not is_deleting(pod)]
    if rest.pending != len(there):
        text = f"{rest.pending} pods wait in our queue, {len(there)} by the API server"
        yield Violation(NAME, rest.at_ns, text)
    for pod in there:
        uid = pod["metadata"]["uid"]
        lane = None if rest.queued is None else rest.queued.get(uid, "")
        if lane == "":
            yield Violation(NAME, rest.at_ns, f"{name_of(pod)} {uid} is in no lane")
        if is_gated(pod):
            if lane not in (None, "GATED"):
                yield Violation(NAME, rest.at_ns, f"{name_of(pod)} is gated, and in lane {lane}")
            continue
        if STATUS in history.terms.broken or lacks_claims(pod, timeline):
            continue
        conditions = (pod.get("status") or {}).get("conditions") or ()
        latest = next(
            (condition for condition in conditions if condition["type"] == "PodScheduled"), None
        )
        if latest is None or latest["status"] != "False" or not latest.get("message"):
            text = f"{name_of(pod)} waits, and its status does not say why: {latest}"
            yield Violation(NAME, rest.at_ns, text)
