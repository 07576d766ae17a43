"""Stands in for all kubelets: bound pods run, succeed when their annotation says so, and end when
deleted.

Reads the store's changes and writes from a task of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Network
from math import inf
from typing import Any, Final

from kpolicy.api_times import NANOSECONDS, api_time
from kpolicy.clock import Clock
from kpolicy.testing import limits
from kpolicy.testing.apiserver.object_writes import AT_ONCE, carry_out
from kpolicy.testing.objects.pod_admission import with_condition
from kpolicy.testing.objects.resource_types import PODS
from kpolicy.testing.objects.store import Change, ChangeType, Record, Store

Object = Mapping[str, Any]

# annotation: after how many seconds a pod has succeeded; without it, the pod runs for ever
RUN_SECONDS_ANNOTATION: Final = "testing.kpolicy.dev/run-seconds"
_POD_NETWORK: Final = IPv4Network("10.0.0.0/8")
# steps are due at multiples of this, so that a burst of pods wakes the task seldom
_TICK_NS: Final = 20_000_000


@dataclass(frozen=True, slots=True)
class KubeletTimes:
    start_s: float = 0.5  # from bound to running
    stop_s: float = 0.2  # from deleted to gone


class Step(Enum):
    START = "start"
    FINISH = "finish"
    STOP = "stop"


def next_step(pod: Object, times: KubeletTimes) -> tuple[Step, float] | None:
    """Return what happens to a pod next, and in how many seconds."""
    if not pod["spec"].get("nodeName"):
        return None
    if pod["metadata"].get("deletionTimestamp"):
        ended = pod["metadata"].get("deletionGracePeriodSeconds") == 0
        return None if ended else (Step.STOP, times.stop_s)
    phase = (pod.get("status") or {}).get("phase")
    if phase == "Pending":
        return Step.START, times.start_s
    if phase == "Running":
        run_s = _run_seconds(pod)
        return None if run_s is None else (Step.FINISH, run_s)
    return None


def running(pod: Object, now: str, address: int) -> Object:
    state = {"running": {"startedAt": now}}
    more = {
        "startTime": now,
        "podIP": _address_text(address),
        "podIPs": [{"ip": _address_text(address)}],
    }
    return _in_phase(pod, "Running", state, now, more)


def finished(pod: Object, now: str) -> Object:
    state = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": now}}
    return _in_phase(pod, "Succeeded", state, now, {})


def _in_phase(pod: Object, phase: str, state: Object, now: str, more: Object) -> Object:
    is_running = phase == "Running"
    containers = [
        _container(container, state, is_running) for container in pod["spec"]["containers"]
    ]
    status: Object = {
        **(pod.get("status") or {}),
        "phase": phase,
        **more,
        "containerStatuses": containers,
    }
    reason = {} if is_running else {"reason": "PodCompleted"}
    status = with_condition(status, "Initialized", {"status": "True"}, now)
    for type_ in ("Ready", "ContainersReady"):
        status = with_condition(status, type_, {"status": str(is_running), **reason}, now)
    return {**pod, "status": status}


def _container(container: Object, state: Object, is_running: bool) -> Object:
    image = container.get("image", "")
    return {
        "name": container["name"],
        "image": image,
        "imageID": image,
        "containerID": f"testing://{container['name']}",
        "restartCount": 0,
        "lastState": {},
        "ready": is_running,
        "started": is_running,
        "state": state,
    }


class Kubelet:
    def __init__(self, store: Store, clock: Clock, times: KubeletTimes) -> None:
        self._store = store
        self._clock = clock
        self._times = times
        self._due: list[tuple[int, int, Step, str, str, str]] = []
        self._order = itertools.count()
        self._addresses = itertools.count(1)
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Do what is due until cancelled."""
        for record in self._store.records(PODS):
            self._plan(record)
        stop_listening = self._store.listen(PODS, self._changed)
        try:
            await self._work()
        finally:
            stop_listening()
            self._due.clear()

    def _changed(self, change: Change) -> None:
        if change.type is ChangeType.DELETED:
            return
        before = change.previous and next_step(change.previous.object, self._times)
        if next_step(change.record.object, self._times) != before:
            self._plan(change.record)

    def _plan(self, record: Record) -> None:
        planned = next_step(record.object, self._times)
        if planned is None or len(self._due) >= limits.KUBELET_STEPS_MAX:
            return
        step, after_s = planned
        due_ns = self._clock.monotonic_ns() + round(after_s * NANOSECONDS)
        due_ns += -due_ns % _TICK_NS
        entry = (due_ns, next(self._order), step, record.namespace, record.name, record.uid)
        heapq.heappush(self._due, entry)
        if self._due[0] is entry:
            self._woken.set()

    async def _work(self) -> None:
        while True:
            self._woken.clear()
            done = 0
            now_ns = self._clock.monotonic_ns()
            while self._due and self._due[0][0] <= now_ns and done < limits.KUBELET_STEPS_AT_ONCE:
                _, _, step, namespace, name, uid = heapq.heappop(self._due)
                self._do(step, namespace, name, uid)
                done += 1
            if done:
                await asyncio.sleep(0)
                continue
            if self._due:
                await self._rest((self._due[0][0] - now_ns) / NANOSECONDS)
            else:
                await self._woken.wait()

    async def _rest(self, seconds: float) -> None:
        """Wait until a step is due, or one that is due sooner was planned."""
        async with self._clock.move_on_after(seconds):
            await self._woken.wait()

    def _do(self, step: Step, namespace: str, name: str, uid: str) -> None:
        held = self._store.read(PODS, namespace, name)
        if held is None or held.uid != uid:
            return
        planned = next_step(held.object, self._times)
        if planned is None or planned[0] is not step:
            return
        now = api_time(self._clock.now_ns())
        if step is Step.STOP:
            carry_out(self._store, held, AT_ONCE, self._clock.now_ns())
            return
        new = (
            running(held.object, now, next(self._addresses))
            if step is Step.START
            else finished(held.object, now)
        )
        self._store.change(PODS, namespace, name, lambda _: new, uid=uid)


def _run_seconds(pod: Object) -> float | None:
    text = (pod["metadata"].get("annotations") or {}).get(RUN_SECONDS_ANNOTATION, "")
    with contextlib.suppress(ValueError):
        if 0 <= (seconds := float(text)) < inf:
            return seconds
    return None


def _address_text(number: int) -> str:
    return str(_POD_NETWORK[number % _POD_NETWORK.num_addresses])
