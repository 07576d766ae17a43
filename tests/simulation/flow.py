"""Pods that come and go for an hour of virtual time, decided by the real engine, queue and binder.

There is no API server: binds succeed at once, and the watch confirms them. So a million pods take
minutes. Each bind is checked when it is sent, and at the end nothing may be left.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kpolicy.clock import Pulse
from kpolicy.cluster.writes.binder import Binding, BindOutcome
from kpolicy.engine import Engine
from kpolicy.journal.journal_thread import Journal
from kpolicy.policy.compile import compile_policy
from kpolicy.scheduler.loop.queue_feed import EngineSink
from tests.loop_without_server import Loop, WritesAtOnce, loop_of
from tests.manual_clock import ManualClock

NODES: Final = 100
PODS_A_NODE: Final = 200
HOUR_S: Final = 3600
# A pod is deleted after so many seconds.
LIFE_S: Final = 60
# A second of virtual time must be worked off in so many turns of the real loop.
TURNS_MAX: Final = 20_000
SCHEDULER: Final = "kpolicy"


@dataclass
class Course:
    """What a run came to."""

    made: int = 0
    bound: Counter[str] = field(default_factory=Counter)  # times, by uid of the pods that live
    binds: int = 0
    twice: int = 0
    on_node: Counter[str] = field(default_factory=Counter)
    fullest: int = 0
    left_in_engine: int = -1
    left_reserved: int = -1
    left_in_queue: int = -1
    resident_bytes: list[int] = field(default_factory=list)


class _Api(WritesAtOnce):
    """Checks each bind when it is sent."""

    def __init__(self, course: Course) -> None:
        super().__init__()
        self._course = course

    async def bind(
        self, binding: Binding, traceparent: str | None = None, *, pulse: Pulse
    ) -> BindOutcome:
        course = self._course
        course.binds += 1
        course.bound[binding.uid] += 1
        course.twice += course.bound[binding.uid] > 1
        course.on_node[binding.node] += 1
        course.fullest = max(course.fullest, course.on_node[binding.node])
        return await super().bind(binding, traceparent, pulse=pulse)


def _node(number: int) -> dict[str, object]:
    name = f"n{number}"
    allocatable = {"cpu": "1000", "memory": "1Ti", "pods": str(PODS_A_NODE)}
    return {"metadata": {"name": name, "uid": name}, "status": {"allocatable": allocatable}}


def _pod(number: int, version: int, node: str = "") -> str:
    where = f',"nodeName":"{node}"' if node else ""
    return (
        f'{{"metadata":{{"name":"p{number}","namespace":"flow","uid":"u{number}",'
        f'"resourceVersion":"{version}"}},"spec":{{"schedulerName":"{SCHEDULER}"{where},'
        '"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"10m"}}}]}}'
    )


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Flow:
    """`pods` come in `seconds` of virtual time, evenly. `journal` hears of every call."""

    def __init__(self, pods: int, seconds: int, journal: Journal | None = None) -> None:
        self.course = Course()
        self._witnesses = () if journal is None else (journal,)
        self._pods, self._seconds = pods, seconds
        self._version = 1
        self._nodes: dict[int, str] = {}  # of each pod that lives

    async def run(self) -> Course:
        clock, engine = ManualClock(), Engine(1, threads=1)
        api, course = _Api(self.course), self.course
        program = compile_policy(()).program
        assert program is not None
        loop = loop_of(engine, clock, api, run_id="flow", witnesses=self._witnesses)
        try:
            async with asyncio.TaskGroup() as group:
                assert await loop.thread.call(engine.load, program.bytes) == []
                await _list(loop.sink, engine.resources())
                settling = group.create_task(loop.binds.run())
                deciding = group.create_task(loop.cycle.run(group))
                await self._flow(clock, loop, api)
                loop.cycle.stop()
                await deciding
                settling.cancel()
            statistics = json.loads(engine.statistics())
        finally:
            loop.thread.stop()
        course.left_in_engine, course.left_reserved = statistics["pods"], statistics["podsAssumed"]
        course.left_in_queue = len(loop.queue.entries())
        return course

    async def _flow(self, clock: ManualClock, loop: Loop, api: _Api) -> None:
        course, alive, sink = self.course, deque[range](), loop.sink
        for second in range(self._seconds + LIFE_S):
            due = self._pods * min(second + 1, self._seconds) // self._seconds
            fresh = range(course.made, due)
            course.made = due
            await self._watch(sink, "ADDED", fresh)
            for _ in range(TURNS_MAX):
                if course.binds == due and loop.reservations.under_way == 0:
                    break
                await asyncio.sleep(0)
                await clock.advance(0.01)
                await self._confirm(sink, api)
            assert course.binds == due, (
                f"{due - course.binds} pods are not bound in second {second}"
            )
            await self._confirm(sink, api)
            alive.append(fresh)
            if len(alive) > LIFE_S:
                await self._delete(sink, alive.popleft())
            if second % LIFE_S == 0:
                course.resident_bytes.append(resident_bytes())
            await clock.advance(1)
        for left in alive:
            await self._delete(sink, left)

    async def _confirm(self, sink: EngineSink, api: _Api) -> None:
        bindings, api.waiting = api.waiting, []
        numbers = []
        for binding in bindings:
            number = int(binding.uid[1:])
            self._nodes[number] = binding.node
            numbers.append(number)
        await self._watch(sink, "MODIFIED", numbers)

    async def _delete(self, sink: EngineSink, numbers: range) -> None:
        await self._watch(sink, "DELETED", numbers)
        for number in numbers:
            self.course.on_node[self._nodes.pop(number)] -= 1
            del self.course.bound[f"u{number}"]

    async def _watch(self, sink: EngineSink, kind: str, numbers: range | list[int]) -> None:
        if not numbers:
            return
        lines = []
        for number in numbers:
            self._version += 1
            pod = _pod(number, self._version, self._nodes.get(number, ""))
            lines.append(f'{{"type":"{kind}","object":{pod}}}\n')
        await sink.lines("pods", "".join(lines).encode())


async def _list(sink: EngineSink, resources: list[str]) -> None:
    for resource in resources:
        await sink.list_begin(resource)
        if resource == "nodes":
            page = {"metadata": {"resourceVersion": "1"}, "items": [*map(_node, range(NODES))]}
            await sink.list_page(resource, json.dumps({"kind": "NodeList", **page}).encode())
        await sink.list_end(resource, "1")
