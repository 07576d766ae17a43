"""Plugins at the points after a decision: Reserve, Permit, PreBind, Bind, PostBind, Unreserve.

Each placed pod goes through them by itself. Until its bind is sent, its placement can be withdrawn,
also while plugins are asked; what plugins reserved is then given back. Messages are those of
kube-scheduler.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.writes.binder import (
    Binding,
    BindOutcome,
    Declined,
    Fenced,
    PodUnreadable,
)
from kpolicy.engine import Outcome
from kpolicy.plugins import stages
from kpolicy.plugins.limits import UNRESERVE_TRIES_MAX
from kpolicy.plugins.order import LoadedPlugin, ProfilePlugins
from kpolicy.plugins.points import Point
from kpolicy.plugins.thread import Failed, Job, Work
from kpolicy.plugins.waiting import Rejected, WaitingPod
from kpolicy.scheduler import limits
from kpolicy.scheduler.binding.pre_binds import Nominations
from kpolicy.scheduler.binding.reservations import BindEnd, Reservation, Reservations
from kpolicy.scheduler.extenders.in_force import ExtenderBinds
from kpolicy.scheduler.loop.pod_try import Placement
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.plugged.host import PluginHost

_log = logging.getLogger(__name__)

_STOPPED = BindEnd(Outcome.FAILED, retry=True)


class PluginPlacements:
    """`of` gives what plugins have to do with a placed pod."""

    def __init__(
        self,
        host: PluginHost,
        reservations: Reservations,
        nominations: Nominations,
        binds: ExtenderBinds,
        fence: Callable[[], bool],
    ) -> None:
        self.host = host
        self.reservations = reservations
        self.nominations = nominations
        self.binds = binds
        self.fence = fence
        self.is_stopping = False
        # By uid, the pods that plugins are asked about, or that wait on Permit.
        self.awaiting: dict[str, PluggedPod] = {}

    def of(self, placement: Placement, reservation: Reservation) -> PluggedPod | None:
        """None if the profile has no plugins at these points."""
        plugins = self.host.of(placement.pod.profile)
        if not plugins.asks_after_decisions:
            return None
        return PluggedPod(self, placement, reservation, plugins)

    def stop(self) -> None:
        """Withdraws the pods that wait on Permit, now and from now on."""
        self.is_stopping = True
        for pod in tuple(self.awaiting.values()):
            pod.stop()


class PluggedPod:
    """One placed pod on its way through the points. Each method returns how its reservation ends,
    or None if the pod goes on."""

    def __init__(
        self,
        placements: PluginPlacements,
        placement: Placement,
        reservation: Reservation,
        plugins: ProfilePlugins,
    ) -> None:
        self.reservation = reservation
        self._placements = placements
        self._host = placements.host
        self._attempt: Attempt = placement.pod
        self._pod = self._host.pod(placement.pod)
        self._plugins = plugins
        # Without writes of our own in between, PreBind follows Permit in the same hop.
        self._binds_at_once = not placement.decision.waits_for_writes
        self._is_pre_bound = not plugins.at(Point.PRE_BIND)
        self._was_reserved = False
        self._waiting: WaitingPod | None = None
        self._is_over = False
        self._last: Job | None = None

    # --- the points, in their order --------------------------------------------------------------

    async def reserve(self) -> BindEnd | None:
        """Reserve, Permit, and the wait for it."""
        if not self._plugins.asks_before_binds:
            return None
        self._was_reserved = bool(self._plugins.at(Point.RESERVE))
        if not (self._was_reserved or self._plugins.at(Point.PERMIT)):
            return await self.pre_bind() if self._binds_at_once else None
        return await self._awaited(self._reserve())

    async def pre_bind(self) -> BindEnd | None:
        if self._is_pre_bound:
            return None
        self._is_pre_bound = True
        work = stages.pre_bind(self._pod, self.reservation.node, self._plugins)
        return await self._awaited(self._end_of(work))

    @property
    def binds(self) -> bool:
        """Whether a plugin may bind the pod."""
        return bool(self._plugins.at(Point.BIND))

    async def bind(self, binding: Binding) -> BindOutcome | None:
        """None if no plugin has bound it. A plugin's word is not enough: the pod is read."""
        placements = self._placements
        if not placements.fence():
            return Fenced()
        work = stages.bind(self._pod, self.reservation.node, self._plugins)
        with placements.reservations.plugins_awaited():
            answer = await self._host.runner.answer(self._begin(work))
            if answer == "":
                return None
            message = (
                answer.message
                if isinstance(answer, Failed)
                else f'plugin "{answer}" says it bound the pod; the API server does not'
            )
            looks_max = 1 if isinstance(answer, Failed) else limits.EXTENDER_BIND_LOOKS_MAX
            seen = await placements.binds.confirm(binding, message, looks_max)
        is_lost = isinstance(answer, Failed) and answer.is_lost
        if isinstance(seen, PodUnreadable) or (isinstance(seen, Declined) and is_lost):
            return placements.binds.doubt(message)
        return seen

    async def unreserve(self) -> None:
        """Whatever ended the placement. Every plugin with `reserve` is told."""
        self._forget_wait()
        if not self._was_reserved:
            return
        for plugin in reversed(self._plugins.at(Point.RESERVE)):
            self._tell(await self._given_back(plugin))

    async def post_bind(self) -> None:
        self._host.store.just_bound(self._attempt.uid, self.reservation.node)
        if self._plugins.at(Point.POST_BIND):
            work = stages.post_bind(self._pod, self.reservation.node, self._plugins)
            self._tell(await self._host.runner.answer(self._begin(work, can_wait=True)))

    def stop(self) -> None:
        if self._waiting is not None:
            self.reservation.withdraw(_STOPPED)

    # --- inside ----------------------------------------------------------------------------------

    async def _given_back(self, plugin: LoadedPlugin) -> object:
        work = stages.unreserve(self._pod, self.reservation.node, plugin)
        answer: object = None
        for _ in range(UNRESERVE_TRIES_MAX):
            answer = await self._host.runner.answer(self._begin(work))
            if not (isinstance(answer, Failed) and answer.is_anothers):
                break
        return answer

    async def _reserve(self) -> BindEnd | None:
        node, goes_on = self.reservation.node, self._binds_at_once and not self._is_pre_bound
        work = stages.reserve_and_permit(
            self._pod, node, self._plugins, self._begin_wait, binds_at_once=goes_on
        )
        answer = await self._asked(work)
        if answer is not True:
            self._is_pre_bound = self._is_pre_bound or goes_on
            return self._end(answer)
        return await self._wait()

    async def _end_of(self, work: Work) -> BindEnd | None:
        return self._end(await self._asked(work))

    def _end(self, answer: object) -> BindEnd | None:
        if self.reservation.withdrawn is not None:
            return self.reservation.withdrawn
        match answer:
            case Rejected(plugin=plugin, of_the_node=message):
                return BindEnd(Outcome.FAILED, retry=True, message=message, refused_by=plugin)
            case Failed(message=message):
                return BindEnd(Outcome.FAILED, retry=True, message=message)
        return None

    async def _awaited(self, work: Coroutine[Any, Any, BindEnd | None]) -> BindEnd | None:
        awaiting, uid = self._placements.awaiting, self._attempt.uid
        awaiting[uid] = self
        try:
            with self._placements.reservations.plugins_awaited():
                return await work
        finally:
            self.reservation.on_withdrawn = None
            if awaiting.get(uid) is self:
                del awaiting[uid]

    async def _asked(self, work: Work) -> Any:
        """The answer, or something else if the placement is withdrawn meanwhile."""
        if self.reservation.withdrawn is not None:
            return None
        runner, job = self._host.runner, self._begin(work)
        self.reservation.on_withdrawn = lambda: runner.give_up(job, "withdrawn")
        return await runner.answer(job)

    def _begin(self, work: Work, *, can_wait: bool = False) -> Job:
        runner = self._host.runner
        self._last = runner.begin(self._attempt.key, work, self._last, can_wait=can_wait)
        return self._last

    def _begin_wait(self, seconds: dict[str, float]) -> None:
        """Called in the thread of plugins."""
        waiting = self._waiting = self._host.wait(self._pod, self.reservation.node, seconds)
        if self._is_over:  # looked at after it was added: it may have been withdrawn meanwhile
            self._host.waiting.remove(waiting.pod.uid, waiting.key)

    async def _wait(self) -> BindEnd | None:
        waiting, reservation = self._waiting, self.reservation
        assert waiting is not None, "the thread of plugins has made it"
        changed = asyncio.Event()
        reservation.on_withdrawn = changed.set
        waiting.subscribe(lambda: self._host.wake_loop(changed.set))
        if self._placements.is_stopping:
            reservation.withdraw(_STOPPED)
        result = "Unschedulable"
        try:
            self._placements.nominations.write(self._attempt, reservation.node)
            while (outcome := waiting.outcome()) is False and reservation.withdrawn is None:
                await self._until_changed(waiting, changed)
            if reservation.withdrawn is not None:
                return reservation.withdrawn
            if isinstance(outcome, Rejected):
                return self._end(outcome)
            result = "Success"
            return None
        finally:
            self._host.waited(waiting, result)
            self._forget_wait()

    async def _until_changed(self, waiting: WaitingPod, changed: asyncio.Event) -> None:
        clock = self._host.clock
        left_s = (waiting.first_end_ns() - clock.monotonic_ns()) / NANOSECONDS
        if left_s > 0:
            async with clock.move_on_after(left_s):
                await changed.wait()
            changed.clear()
        else:
            waiting.time_out(clock.monotonic_ns())

    def _forget_wait(self) -> None:
        self._is_over = True
        if (waiting := self._waiting) is not None:
            self._host.waiting.remove(waiting.pod.uid, waiting.key)

    def _tell(self, answer: object) -> None:
        message = answer.message if isinstance(answer, Failed) else answer
        if message:
            _log.warning("%s: %s", self._attempt.key, message)
