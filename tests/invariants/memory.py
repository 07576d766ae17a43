"""I7: at rest, nothing is held: no reservation, no bind under way, no attempt, and no map of the
scheduler beyond its named limit.

Memory in bytes is measured in real processes (`benches/churn`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.invariants.devices import lacks_claims
from tests.invariants.history import STATUS, Held, History, Violation
from tests.invariants.pods_and_nodes import name_of, node_of, profile_of
from tests.invariants.timeline import Timeline

NAME = "I7"


def memory(history: History, timeline: Timeline) -> Iterator[Violation]:
    rest = history.at_rest
    if rest is None:
        return
    for held in (
        Held("reservations", rest.assumed),
        Held("binds under way", rest.binds_in_flight),
        Held("attempts under way", rest.attempts_under_way),
        *rest.held,
    ):
        if held.count > held.count_max:
            text = f"{held.count} {held.name} are left, where {held.count_max} may be"
            yield Violation(NAME, rest.at_ns, text)
    # A run with this view has waited until victims are gone, but cleared nominations must be
    # written too. As in kube-scheduler, a pod that is not tried for lack of claims keeps its own.
    if rest.held and STATUS not in history.terms.broken:
        yield from _nominations(history, timeline, rest.at_ns)


def _nominations(history: History, timeline: Timeline, at_ns: int) -> Iterator[Violation]:
    for pod in timeline.pods(timeline.last):
        node = (pod.get("status") or {}).get("nominatedNodeName")
        is_ours = not node_of(pod) and profile_of(pod) in history.profiles
        if node and is_ours and not lacks_claims(pod, timeline):
            yield Violation(NAME, at_ns, f"{name_of(pod)} is still nominated to {node}")
