"""What happens before a bind: the node is nominated, and volumes are bound and waited for.

One loop asks the engine about every volume that is waited for. Messages are kube-scheduler's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kpolicy.clock import Clock
from kpolicy.cluster.writes.volume_writer import (
    BindVolume,
    NotWritten,
    ObjectVersion,
    SelectNode,
    VolumePatch,
    WriteFenced,
    WriteOutcome,
    Written,
)
from kpolicy.engine import (
    AwaitedVolume,
    Decision,
    Outcome,
    VolumeProgress,
    VolumeState,
    VolumeWork,
)
from kpolicy.heartbeat import NO_PULSE, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.binding.reservations import BindEnd
from kpolicy.scheduler.loop.engine_thread import EngineThread
from kpolicy.scheduler.loop.queued_pod import QueuedPod

# What the judgement of a waiting pod rests on.
_READ: Final = frozenset(
    {"persistentvolumes", "persistentvolumeclaims", "nodes", "csinodes", "pods"}
)
_TIMED_OUT: Final = "context deadline exceeded"


class VolumeWriterPort(Protocol):
    async def write(self, patch: VolumePatch) -> WriteOutcome: ...


class NominationsPort(Protocol):
    async def tell(self, pod: QueuedPod, node: str) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    volumes: tuple[AwaitedVolume, ...]
    progress: asyncio.Future[VolumeProgress]


class PreBinds:
    """Run it as a task."""

    def __init__(
        self,
        writer: VolumeWriterPort,
        nominations: NominationsPort,
        thread: EngineThread,
        clock: Clock,
    ) -> None:
        self._writer = writer
        self._nominations = nominations
        self._thread = thread
        self._clock = clock
        self._waiting: list[_Waiting] = []
        self._begun = asyncio.Event()
        self._news = asyncio.Event()

    def heard(self, resource: str) -> None:
        """Something of this resource came."""
        if resource in _READ:
            self._news.set()

    async def pre_bind(self, pod: QueuedPod, decision: Decision) -> BindEnd | None:
        """None: the pod may be bound. Otherwise how its reservation ends."""
        await self._nominations.tell(pod, decision.node)
        awaited = []
        for work in decision.volumes:
            version = ""
            if work.to_write:
                match await self._writer.write(_patch(pod, decision.node, work)):
                    case Written(version=written):
                        version = written
                    case NotWritten(message=message):
                        return _failed(message)
                    case WriteFenced():
                        return BindEnd(Outcome.FAILED, retry=True)
            awaited.append(AwaitedVolume(pod.uid, decision.node, work.claim, work.volume, version))
        seconds_max = max(work.seconds_max for work in decision.volumes)
        progress = await self._wait(tuple(awaited), seconds_max)
        if progress is None:
            return _failed(f"binding volumes: {_TIMED_OUT}")
        if progress.state == VolumeState.BOUND:
            return None
        if progress.state == VolumeState.GONE:
            # Its watch event has ended it in the queue already.
            return BindEnd(Outcome.FAILED)
        return _failed(f"binding volumes: {progress.message}")

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        """Ask about all that wait, as often as there is news of them."""
        while True:
            self._begun.clear()
            if not self._waiting:
                pulse.rest(self._begun.is_set)
                await self._begun.wait()
            pulse.beat()
            self._news.clear()
            asked = list(self._waiting)
            answers = await self._thread.call(
                self._thread.engine.volumes, [volume for one in asked for volume in one.volumes]
            )
            left = iter(answers)
            for one in asked:
                # All of its answers are taken; the first that is not good decides.
                progress = _first([next(left) for _ in one.volumes])
                if progress.state != VolumeState.WAITING and not one.progress.done():
                    one.progress.set_result(progress)
            await self._rest()

    async def _wait(
        self, volumes: tuple[AwaitedVolume, ...], seconds_max: int
    ) -> VolumeProgress | None:
        """None when it took too long."""
        one = _Waiting(volumes, asyncio.get_running_loop().create_future())
        self._waiting.append(one)
        self._begun.set()
        deadline = asyncio.ensure_future(self._clock.sleep(seconds_max))
        try:
            waits: tuple[asyncio.Future[Any], ...] = (one.progress, deadline)
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return one.progress.result() if one.progress.done() else None
        finally:
            deadline.cancel()
            one.progress.cancel()
            self._waiting.remove(one)

    async def _rest(self) -> None:
        await self._clock.sleep(limits.VOLUMES_LOOK_S_MIN)
        timer = asyncio.ensure_future(self._clock.sleep(limits.VOLUMES_LOOK_S_MAX))
        news = asyncio.ensure_future(self._news.wait())
        begun = asyncio.ensure_future(self._begun.wait())
        waits: tuple[asyncio.Future[Any], ...] = (timer, news, begun)
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def _patch(pod: QueuedPod, node: str, work: VolumeWork) -> VolumePatch:
    claim = ObjectVersion(work.claim, work.claim_uid, work.claim_version)
    if not work.volume:
        return SelectNode(pod.namespace, claim, node)
    volume = ObjectVersion(work.volume, work.volume_uid, work.volume_version)
    return BindVolume(volume, pod.namespace, claim, work.to_mark)


def _first(progress: Iterable[VolumeProgress]) -> VolumeProgress:
    bound = VolumeProgress(VolumeState.BOUND, "")
    return next((each for each in progress if each.state != VolumeState.BOUND), bound)


def _failed(why: str) -> BindEnd:
    message = f'running PreBind plugin "VolumeBinding": {why}'
    return BindEnd(Outcome.FAILED, retry=True, message=message)


class StatusPort(Protocol):
    def nominate(self, namespace: str, name: str, uid: str, node: str) -> None: ...
    async def at_rest(self, uid: str) -> None: ...


class Nominations:
    """`fence` is true while we may act."""

    def __init__(self, status: StatusPort, clock: Clock, fence: Callable[[], bool]) -> None:
        self._status = status
        self._clock = clock
        self._fence = fence
        self._window = asyncio.Semaphore(limits.NOMINATIONS_IN_FLIGHT_MAX)

    async def tell(self, pod: QueuedPod, node: str) -> None:
        """Returns once it is written or given up, and in any case before long."""
        writing = asyncio.ensure_future(self._write(pod, node))
        deadline = asyncio.ensure_future(self._clock.sleep(limits.NOMINATION_S_MAX))
        try:
            await asyncio.wait({writing, deadline}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            writing.cancel()
            deadline.cancel()

    async def _write(self, pod: QueuedPod, node: str) -> None:
        async with self._window:
            if self._fence():
                self._status.nominate(pod.namespace, pod.name, pod.uid, node)
                await self._status.at_rest(pod.uid)
