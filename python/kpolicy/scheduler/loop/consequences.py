"""Acts on the engine's decisions: starts binds and preemptions, and reports each rejection.

It does not wait for what it starts.
"""

from __future__ import annotations

import asyncio

from kpolicy.scheduler.binding.binds import Binds
from kpolicy.scheduler.binding.reservations import Reservations
from kpolicy.scheduler.loop.decide import Basis, Taken
from kpolicy.scheduler.loop.pod_try import PodTry
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.loop.reporter import Reporter
from kpolicy.scheduler.preemption.preemptions import Preemptions
from kpolicy.scheduler.runtime import Runtime


class Consequences:
    def __init__(
        self,
        runtime: Runtime,
        reservations: Reservations,
        reporter: Reporter,
        *,
        binds: Binds,
        preemptions: Preemptions,
    ) -> None:
        self._metrics = runtime.metrics
        self._reservations = reservations
        self._reporter = reporter
        self._binds = binds
        self._preemptions = preemptions

    @property
    def room(self) -> int:
        """How many pods may be placed now."""
        return self._reservations.room

    @property
    def under_way(self) -> bool:
        """Whether anything that followed has not come to its end."""
        return bool(self._reservations.under_way or self._preemptions.under_way)

    def begin(self, pod: Attempt) -> PodTry:
        return self._reporter.begin(pod)

    def act(
        self,
        taken: Taken,
        basis: Basis,
        group: asyncio.TaskGroup,
        pod_try: PodTry | None = None,
    ) -> None:
        """`pod_try`: of the one pod that was taken, where its try began before the decision."""
        reporter, metrics = self._reporter, self._metrics
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
