"""What follows from decisions: binds begin, room is made, and the rest is told.

Owns that choice, for all who decide, and how much may follow at once. Must not decide, nor wait for
what it has begun.
"""

from __future__ import annotations

import asyncio

from kpolicy.scheduler.binds import Binds
from kpolicy.scheduler.decide import Taken
from kpolicy.scheduler.preemption import Preemptions
from kpolicy.scheduler.report import Basis, Reporter


class Consequences:
    """Of decisions on one basis; they live in the group that `act` is given."""

    def __init__(self, binds: Binds, preemptions: Preemptions, reporter: Reporter) -> None:
        self._binds = binds
        self._preemptions = preemptions
        self._reporter = reporter

    @property
    def room(self) -> int:
        """How many pods may be placed now."""
        return self._binds.room

    @property
    def under_way(self) -> bool:
        """Whether anything that followed has not come to its end."""
        return bool(self._binds.under_way or self._preemptions.under_way)

    def act(self, taken: Taken, basis: Basis, group: asyncio.TaskGroup) -> None:
        metrics = self._reporter.metrics
        for placement in taken.placements:
            metrics.decided(placement.decision)
            self._binds.start(placement, basis, group)
        for rejection in taken.rejections:
            metrics.decided(rejection.decision)
            self._reporter.rejected(rejection, basis)
            if rejection.decision.victims:
                self._preemptions.start(rejection, group)
