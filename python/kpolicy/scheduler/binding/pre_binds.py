"""What happens before a bind: the node is nominated, volumes are bound and waited for, and claims
on devices are written.

One loop asks the engine about every volume that is waited for. Messages are kube-scheduler's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from kpolicy.clock import NO_PULSE, Clock, Pulse, first_of
from kpolicy.cluster.writes.pod_status import PodStatusWriter
from kpolicy.cluster.writes.volume_writer import (
    BindVolume,
    NotWritten,
    ObjectVersion,
    SelectNode,
    VolumePatch,
    VolumeWriter,
    WriteFenced,
    Written,
)
from kpolicy.engine import (
    AwaitedVolume,
    BoundAnnotation,
    ClaimRelease,
    ClaimWork,
    Decision,
    Outcome,
    PreBindWrite,
    VolumeProgress,
    VolumeState,
    VolumeWork,
)
from kpolicy.scheduler import limits
from kpolicy.scheduler.binding.device_claims import DeviceClaims, HeldClaim
from kpolicy.scheduler.binding.reservations import BindEnd, Reservation
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.runtime import EngineThread

# The resources that the progress of a waiting pod depends on.
_READ: Final = frozenset(
    {"persistentvolumes", "persistentvolumeclaims", "nodes", "csinodes", "pods"}
)
_TIMED_OUT: Final = "context deadline exceeded"


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    volumes: tuple[AwaitedVolume, ...]
    progress: asyncio.Future[VolumeProgress]


class PreBinds:
    """Run it as a task."""

    def __init__(
        self,
        writer: VolumeWriter,
        devices: DeviceClaims,
        nominations: Nominations,
        thread: EngineThread,
        clock: Clock,
    ) -> None:
        self._writer = writer
        self._devices = devices
        self._nominations = nominations
        self._thread = thread
        self._clock = clock
        self._waiting: list[_Waiting] = []
        # Set when the engine may have news about a waiting pod.
        self._news = asyncio.Event()

    def resource_changed(self, resource: str) -> None:
        """A watch event of this resource was applied."""
        if resource in _READ and self._waiting:
            self._news.set()

    async def pre_bind(
        self, pod: Attempt, decision: Decision, reservation: Reservation
    ) -> BindEnd | None:
        """Returns None if the pod may be bound, otherwise how its reservation ends. A withdrawal
        ends the waiting, but no write that is under way: its devices may be another pod's once the
        reservation has ended. As in kube-scheduler, what was written stays."""
        await first_of(self._nominations.tell(pod, decision.node), reservation.wait_withdrawn())
        awaited: list[AwaitedVolume] = []
        held: list[HeldClaim] = []
        for write in decision.writes:
            if reservation.withdrawn is not None:
                return reservation.withdrawn
            match await self._write(pod, decision.node, write):
                case BindEnd() as failed:
                    return failed
                case AwaitedVolume() as volume:
                    awaited.append(volume)
                case HeldClaim() as claim:
                    held.append(claim)
        return await first_of(
            self._ready(pod, decision, awaited, held), reservation.wait_withdrawn()
        )

    async def take_back(self, pod: Attempt, decision: Decision) -> None:
        """The pod was not bound. Its claims on devices are not reserved for it any more; volumes
        stay as they are, as in kube-scheduler."""
        await self._devices.take_back(pod, decision)

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        """Asks the engine about all waiting pods, whenever there may be news of them."""
        while True:
            if not self._waiting:
                self._news.clear()
                pulse.rest(self._news.is_set)
                await self._news.wait()
            pulse.beat()
            self._news.clear()
            asked = list(self._waiting)
            answers = await self._thread.call(
                self._thread.engine.volumes,
                [volume for waiting in asked for volume in waiting.volumes],
            )
            left = iter(answers)
            for waiting in asked:
                # All answers are collected; the first failure decides.
                progress = _first([next(left) for _ in waiting.volumes])
                if progress.state != VolumeState.WAITING and not waiting.progress.done():
                    waiting.progress.set_result(progress)
            await self._clock.sleep(limits.VOLUMES_LOOK_S_MIN)
            async with self._clock.move_on_after(limits.VOLUMES_LOOK_S_MAX):
                await self._news.wait()

    async def _ready(
        self,
        pod: Attempt,
        decision: Decision,
        awaited: Sequence[AwaitedVolume],
        held: Sequence[HeldClaim],
    ) -> BindEnd | None:
        """Waits for devices and volumes, which are written."""
        if (end := await self._devices.wait(pod, decision.node, held)) is not None or not awaited:
            return end
        seconds_max = max(work.seconds_max for work in decision.volumes)
        progress = await self._wait(tuple(awaited), seconds_max)
        if progress is None:
            return _failed(f"binding volumes: {_TIMED_OUT}")
        if progress.state == VolumeState.BOUND:
            return None
        if progress.state == VolumeState.GONE:
            # The watch event of the pod has already removed it from the queue.
            return BindEnd(Outcome.FAILED)
        return _failed(f"binding volumes: {progress.message}")

    async def _write(
        self, pod: Attempt, node: str, write: PreBindWrite
    ) -> AwaitedVolume | HeldClaim | BindEnd | None:
        match write:
            case VolumeWork():
                return await self._write_volume(pod, node, write)
            case ClaimWork():
                return await self._devices.hold(pod, write)
            case BoundAnnotation():
                return None  # the bind itself writes it
            case ClaimRelease():
                raise AssertionError("a placed pod gives nothing up")
            case _:
                assert_never(write)

    async def _write_volume(
        self, pod: Attempt, node: str, work: VolumeWork
    ) -> AwaitedVolume | BindEnd:
        version = ""
        if work.to_write:
            match await self._writer.write(_patch(pod, node, work)):
                case Written(version=written):
                    version = written
                case NotWritten(message=message):
                    return _failed(message)
                case WriteFenced():
                    return BindEnd(Outcome.FAILED, retry=True)
        return AwaitedVolume(pod.uid, node, work.claim, work.volume, version)

    async def _wait(
        self, volumes: tuple[AwaitedVolume, ...], seconds_max: int
    ) -> VolumeProgress | None:
        """Returns None if it took too long."""
        waiting = _Waiting(volumes, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._news.set()
        try:
            async with self._clock.move_on_after(seconds_max):
                return await waiting.progress
            return None
        finally:
            self._waiting.remove(waiting)


def _patch(pod: Attempt, node: str, work: VolumeWork) -> VolumePatch:
    claim = ObjectVersion(work.claim, work.claim_uid, work.claim_version)
    if not work.volume:
        return SelectNode(pod.namespace, claim, node)
    volume = ObjectVersion(work.volume, work.volume_uid, work.volume_version)
    return BindVolume(volume, pod.namespace, claim, work.to_mark)


def _first(progress: Iterable[VolumeProgress]) -> VolumeProgress:
    bound = VolumeProgress(VolumeState.BOUND, "")
    return next((claim for claim in progress if claim.state != VolumeState.BOUND), bound)


def _failed(why: str) -> BindEnd:
    message = f'running PreBind plugin "VolumeBinding": {why}'
    return BindEnd(Outcome.FAILED, retry=True, message=message)


class Nominations:
    """`fence` is true while this replica may act as the leader."""

    def __init__(self, status: PodStatusWriter, clock: Clock, fence: Callable[[], bool]) -> None:
        self._status = status
        self._clock = clock
        self._fence = fence
        self._window = asyncio.Semaphore(limits.NOMINATIONS_IN_FLIGHT_MAX)

    def write(self, pod: Attempt, node: str) -> bool:
        """Waits for nothing. Returns False if this replica may not write."""
        if may_write := self._fence():
            self._status.nominate(pod.namespace, pod.name, pod.uid, node)
        return may_write

    async def tell(self, pod: Attempt, node: str) -> None:
        """Returns when the nomination is written or given up, after `NOMINATION_S_MAX` at the
        latest."""
        async with self._clock.move_on_after(limits.NOMINATION_S_MAX), self._window:
            if self.write(pod, node):
                await self._status.outbox.at_rest(pod.uid)
