"""The faults that stay for good after everything else is repaired: their kinds, and which requests
each affects.

A fault that ends by chance hides code that waits for ever; these never end.
"""

from __future__ import annotations

from enum import Enum
from random import Random
from typing import Final

from kpolicy.testing.apiserver.api_calls import Call
from tests.invariants.history import CONFIG_MAP, EVENT, STATUS
from tests.simulation.trouble import NO_TROUBLE, Kind, Trouble

# The longest duration of writing a victim's status with which preemption still works.
SLOW_S: Final = (2.0, 4.5)


class Remains(Enum):
    """Reports show the values."""

    NOTHING = "nothing"
    STANDBY_DEAF = "standby cut off for good: it hears nothing"
    STANDBY_MUTE = "standby cut off for good: nobody hears it"
    EVENTS_BUSY = "events refused for good"
    EVENTS_UNHEARD = "events never answered"
    STATUS_SLOW = "pods' status slow for good"
    STATUS_FAILING = "pods' status failing for good"
    POLICY_GONE = "policy gone for good"
    MAP_FAILING = "own ConfigMap failing for good"
    SHADOW_DEAD = "shadow dead from the beginning"
    EXTENDER_DEAD = "ignorable extender dead for good"

    @property
    def is_about_the_map(self) -> bool:
        return self in (Remains.POLICY_GONE, Remains.MAP_FAILING)

    @property
    def is_about_the_standby(self) -> bool:
        return self in (Remains.STANDBY_DEAF, Remains.STANDBY_MUTE)

    @property
    def broken(self) -> frozenset[str]:
        """Parts that are not checked at rest, as in `Write.what`."""
        if self in (Remains.EVENTS_BUSY, Remains.EVENTS_UNHEARD):
            return frozenset({EVENT})
        if self is Remains.STATUS_FAILING:
            return frozenset({STATUS})
        return frozenset({CONFIG_MAP}) if self is Remains.MAP_FAILING else frozenset()

    def trouble_of(self, call: Call, chance: Random) -> Trouble:
        """The fault of a request of the scheduler."""
        what = (call.resource, call.subresource)
        if what == ("events", "") and self is Remains.EVENTS_BUSY:
            return Trouble(Kind.BUSY, 429, 1)
        if what == ("events", "") and self is Remains.EVENTS_UNHEARD:
            return Trouble(Kind.UNHEARD)
        if what == ("pods", "status") and self is Remains.STATUS_SLOW:
            return Trouble(Kind.LATE, seconds=chance.uniform(*SLOW_S))
        if what == ("pods", "status") and self is Remains.STATUS_FAILING:
            return Trouble(Kind.FAILING, 503)
        if self is Remains.MAP_FAILING and call.is_write and call.resource == "configmaps":
            return Trouble(Kind.FAILING, 500)
        return NO_TROUBLE
