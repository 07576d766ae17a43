"""Checks all invariants on one history. I9 is not among them, because it compares two histories
(`determinism`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tests.invariants.allow_list import allow_list
from tests.invariants.bound_once import bound_once
from tests.invariants.cache import cache
from tests.invariants.capacity import capacity
from tests.invariants.devices import devices
from tests.invariants.eligible import eligible
from tests.invariants.evictions import evictions
from tests.invariants.filters import filters
from tests.invariants.history import History, Violation
from tests.invariants.last_good import last_good
from tests.invariants.leader import leader
from tests.invariants.lost_pods import lost_pods
from tests.invariants.memory import memory
from tests.invariants.plugged import plugged
from tests.invariants.policy_version import policy_version
from tests.invariants.promises import promises
from tests.invariants.rest import rest
from tests.invariants.starvation import starvation
from tests.invariants.timeline import Timeline
from tests.invariants.volumes import volumes

OfHistory = Callable[[History], Iterator[Violation]]
OfTimeline = Callable[[History, Timeline], Iterator[Violation]]

OF_HISTORY: Final[dict[str, OfHistory]] = {
    "I1": bound_once,
    "I6": cache,
    "I8": leader,
}
OF_TIMELINE: Final[dict[str, tuple[OfTimeline, ...]]] = {
    "I2": (capacity,),
    "I3": (filters, volumes, devices),
    "I4": (lost_pods,),
    "I5": (starvation,),
    "I7": (memory,),
    "I10": (eligible,),
    "I11": (policy_version, last_good),
    "I12": (allow_list, evictions, promises),
    "I13": (rest,),
    "I14": (plugged,),
}


def violations(history: History) -> list[Violation]:
    """All violations in the order of time; none means that the run is good."""
    timeline = Timeline(history)
    found = [violation for check in OF_HISTORY.values() for violation in check(history)]
    found += [
        violation
        for checks in OF_TIMELINE.values()
        for check in checks
        for violation in check(history, timeline)
    ]
    return sorted(
        found, key=lambda violation: (violation.at_ns, violation.invariant, violation.text)
    )
