"""What follows from decisions: binds begin, room is made, and the rest is told.

Owns that choice, for all who decide, and how much may follow at once. Must not decide, nor wait for
what it has begun.
"""

from __future__ import annotations

import asyncio

from kpolicy.scheduler.binding.binds import Binds
from kpolicy.scheduler.loop.decide import Basis, Taken
from kpolicy.scheduler.loop.pod_try import PodTry
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.scheduler.preemption.preemptions import Preemptions


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

    def act(
        self,
        taken: Taken,
        basis: Basis,
        group: asyncio.TaskGroup,
        pod_try: PodTry | None = None,
    ) -> None:
        """`pod_try`: of the one pod that was taken, where its try began before the decision."""
        reporter, metrics = self._reporter, self._reporter.metrics
        for placement in taken.placements:
            metrics.decided(placement.decision)
            tried = reporter.decided(placement, basis, pod_try)
            self._binds.start(placement, basis, tried, group)
        for rejection in taken.rejections:
            metrics.decided(rejection.decision)
            tried = reporter.decided(rejection, basis, pod_try)
            reporter.rejected(rejection, basis, tried)
            if rejection.decision.victims:
                self._preemptions.start(rejection, tried, group)
