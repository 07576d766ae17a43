"""Counts how many things of a history each invariant has to check, and says which counts may be
zero.

An invariant without anything to check proves nothing. I9 is not among them, because it compares two
histories (`determinism`).
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.invariants.history import LEASE, History
from tests.invariants.lost_pods import pending
from tests.invariants.timeline import Timeline


def inputs(history: History) -> dict[str, int]:
    """For each invariant, the number of binds, pods, writes or answers that it checks."""
    timeline = Timeline(history)
    placed = len(timeline.bound_by.keys() & timeline.placed.keys())
    asked = len(history.binds())
    rest = history.at_rest
    knows_lanes = rest is not None and rest.queued is not None
    led = any(write.what == LEASE and write.succeeded for write in history.ours())
    offered = any(offer.hash for offer in history.policies)
    return {
        "I1": len(timeline.bound_by),
        "I2": placed,
        "I3": placed,
        "I4": 1 + len(pending(history, timeline)) if knows_lanes else 0,
        "I5": placed if history.trouble_free else 0,
        "I6": 1 if rest is not None and rest.compared is not None else 0,
        # Attempts under way are counted in the queues.
        "I7": 3 if knows_lanes else 0,
        "I8": asked if led else 0,
        "I10": asked,
        "I11": asked if offered else 0,
        "I12": len(history.ours()),
        "I13": 1 if history.calm_since_ns is not None else 0,
        "I14": len(history.plugin_calls),
    }


def without_input(history: History, expected: Iterable[str]) -> list[str]:
    """The invariants that should have had something to check, and had nothing."""
    had = inputs(history)
    return [name for name in expected if not had[name]]


def counts_text(counts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items())
