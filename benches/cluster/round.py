"""Runs one round: starts a scheduler while pods wait, and measures until all are bound and have
events.

Processor time is read before the first bind and at the end, so that the start (imports, lists) and
the work are separate figures.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benches.cluster.audit_tail import AuditTail
from benches.cluster.contenders import Contender
from benches.cluster.processor_time import resident_mib, used_s
from benches.cluster.stage import scheduled_events, waiting_pods
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import ControlPlaneError
from tests.cluster.process import Process

_LOOK_S: Final = 0.05
_BOUND_WITHIN_S: Final = 600.0
# How long to wait for events after the last bind.
_EVENTS_WITHIN_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Round:
    """Seconds of processor time, and counts of what the API server says. `start_s` is the
    contender's before its first bind."""

    contender: str
    pods: int
    bound: int
    answered: int  # binds; on a busy machine fewer, as some are written after their client gave up
    seconds: float
    start_s: float
    work_s: float
    api_server_s: float
    etcd_s: float
    events: int
    resident_mib: float

    @property
    def pods_per_second(self) -> float:
        return (self.answered - 1) / self.seconds if self.seconds else 0.0

    @property
    def cpu_ms(self) -> float:
        return 1000 * self.work_s / self.pods

    @property
    def cpu_with_start_ms(self) -> float:
        return 1000 * (self.start_s + self.work_s) / self.pods

    @property
    def api_server_ms(self) -> float:
        return 1000 * self.api_server_s / self.pods

    def line(self) -> dict[str, Any]:
        return {
            "scheduler": self.contender,
            "pods": self.pods,
            "bound": self.bound,
            "bindsAnswered": self.answered,
            "seconds": round(self.seconds, 3),
            "podsPerSecond": round(self.pods_per_second, 1),
            "cpuMsPerPod": round(self.cpu_ms, 3),
            "cpuMsPerPodWithStart": round(self.cpu_with_start_ms, 3),
            "apiServerCpuMsPerPod": round(self.api_server_ms, 3),
            "etcdCpuMsPerPod": round(1000 * self.etcd_s / self.pods, 3),
            "scheduledEvents": self.events,
            "residentMiB": round(self.resident_mib, 1),
        }


@dataclass(frozen=True, slots=True)
class _Used:
    contender_s: float
    api_server_s: float
    etcd_s: float


def run(
    plane: ControlPlane, contender: Contender, pods: int, namespace: str, folder: Path
) -> Round:
    with waiting_pods(plane, namespace, pods, contender.scheduler_name):
        tail = AuditTail(plane.folder / "audit.log")
        process = Process(namespace, contender.command(plane, folder), folder / f"{namespace}.log")
        process.start()
        try:
            before = _before_first_bind(plane, process, tail)
            _until_told(process, tail, pods)
            after, resident = _used(plane, process), resident_mib(process.pid)
        finally:
            process.stop()
        tail.look()
        answered = tail.answered()
        return Round(
            contender.name,
            pods,
            len(plane.admin.placements(namespace)),
            answered.binds,
            answered.seconds,
            before.contender_s,
            after.contender_s - before.contender_s,
            after.api_server_s - before.api_server_s,
            after.etcd_s - before.etcd_s,
            scheduled_events(plane, namespace),
            resident,
        )


def _before_first_bind(plane: ControlPlane, process: Process, tail: AuditTail) -> _Used:
    """The processor time used when no bind was seen for the last time."""
    ends_at = time.monotonic() + _BOUND_WITHIN_S
    while True:
        process.raise_if_ended()
        used = _used(plane, process)
        tail.look()
        if tail.binds:
            return used
        if time.monotonic() > ends_at:
            raise ControlPlaneError(f"nothing was bound; {process.described_log()}")
        time.sleep(_LOOK_S)


def _until_told(process: Process, tail: AuditTail, pods: int) -> None:
    """Waits until each pod has a bind and an event, or nothing arrives any more."""
    ends_at = time.monotonic() + _BOUND_WITHIN_S
    seen, quiet_since = (0, 0), time.monotonic()
    while tail.binds < pods or tail.events < pods:
        process.raise_if_ended()
        time.sleep(_LOOK_S)
        tail.look()
        now = time.monotonic()
        if (tail.binds, tail.events) != seen:
            seen, quiet_since = (tail.binds, tail.events), now
        if tail.binds >= pods and now - quiet_since > _EVENTS_WITHIN_S:
            return
        if now > ends_at:
            raise ControlPlaneError(f"{tail.binds} of {pods} bound; {process.described_log()}")


def _used(plane: ControlPlane, process: Process) -> _Used:
    return _Used(used_s(process.pid), used_s(plane.api_server.pid), used_s(plane.etcd.pid))
