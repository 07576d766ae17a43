"""I2: the pods that the scheduler binds to a node never exceed what the node has.

Resources are counted at the version of each bind. There is one excuse: a write of another client
that the scheduler could not have seen when it decided (another scheduler's bind, or a change of the
node).
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.invariants.history import History, Object, Span, Violation, Write
from tests.invariants.pods_and_nodes import name_of
from tests.invariants.reference import too_much
from tests.invariants.timeline import Placed, Timeline

NAME = "I2"


def capacity(history: History, timeline: Timeline) -> Iterator[Violation]:
    for uid, bind in timeline.bound_by.items():
        placed = timeline.placed.get(uid)
        if placed is None:
            continue
        there = accountable(timeline, bind, placed)
        span = Span(timeline.decision(bind).nodes.low, placed.version)
        nodes = timeline.node_within(placed.node, span)
        wrong = [too_much(there, node, history.terms.ignored) for node in nodes]
        if nodes and all(wrong):
            names = ", ".join(name_of(pod) for pod in there)
            text = f"{uid} on {placed.node} is too much ({wrong[-1]}): {names}"
            yield Violation(NAME, placed.at_ns, text)


def accountable(timeline: Timeline, bind: Write, placed: Placed) -> list[Object]:
    """The pods on the node right after the bind, except pods of others that the scheduler had not
    seen."""
    seen = timeline.decision(bind).pods.low
    there = []
    for pod in timeline.on_node(placed.node, placed.version):
        other = timeline.placed[pod["metadata"]["uid"]]
        bound_by = timeline.bound_by.get(other.uid)
        is_foreign = bound_by is None or bound_by.instance != bind.instance
        if not (is_foreign and other.version > seen and other.uid != placed.uid):
            there.append(pod)
    return there
