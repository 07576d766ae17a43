"""Runs the scheduler's own sink, queue, cycle and binds on a cluster that exists only as bytes.

Lists and watch lines are generated beforehand. A binder answers at once, and the watch confirms
each bind. There is no API server and no network. All pods must fit.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kpolicy.clock import SystemClock
from kpolicy.cluster.limits import LIST_PAGE_OBJECTS
from kpolicy.engine import Engine
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.snapshots.cluster_snapshot import PolicyRefusedError, Progress
from kpolicy.policy.assembly.assemble import Program
from kpolicy.scheduler.loop.queue_feed import EngineSink
from kpolicy.scheduler.runtime import Witness
from tests.loop_without_server import WritesAtOnce, loop_of

WORKLOAD: Final = "basic"
# About the bytes of one read from a socket: some sixty pods.
CHUNK_BYTES: Final = 64 * 1024
# After this time a run counts as hanging.
RUN_S_MAX: Final = 300.0
_LOOK_EVERY_S: Final = 0.01


@dataclass(frozen=True, slots=True)
class Placed:
    """All pods were placed. `processor_ns` is the processor time of all threads, without the code
    that stands for the API server."""

    resources: int
    pages: int
    chunks: int
    processor_ns: int


class Placing:
    """`witnesses` hear of every call of the engine, which is a new one."""

    def __init__(
        self,
        engine: Engine,
        size: generated_cluster.Size,
        program: Program,
        witnesses: Sequence[Witness] = (),
    ) -> None:
        self._witnesses = witnesses
        self._size = size
        self._engine = engine
        self._engine.records = bool(witnesses)
        refusals = self._engine.load(program.bytes)
        if refusals:
            raise PolicyRefusedError(refusals)
        for witness in witnesses:
            witness("load", (program.bytes,), {}, refusals)
        self._resources = self._engine.resources()
        self._pages = _pages(generated_cluster.nodes(self._size))
        self._chunks = _chunks("ADDED", generated_cluster.waiting(WORKLOAD, self._size))
        self._confirming_chunks = 0  # chunks that confirmed binds
        self._left = 0
        self._making_ns = 0  # in the code that stands for the API server

    async def run(self, progress: Progress | None) -> Placed:
        gc.collect()
        began_ns = time.process_time_ns()
        async with asyncio.timeout(RUN_S_MAX):
            await self._place(progress)
        return Placed(
            len(self._resources),
            pages=len(self._pages),
            chunks=len(self._chunks) + self._confirming_chunks,
            processor_ns=time.process_time_ns() - began_ns - self._making_ns,
        )

    async def _place(self, progress: Progress | None) -> None:
        api = WritesAtOnce()
        loop = loop_of(
            self._engine,
            SystemClock(),
            api,
            run_id="bench",
            on_left=self._one_left,
            witnesses=self._witnesses,
        )
        try:
            async with asyncio.TaskGroup() as group:
                await self._list(loop.sink)
                settling = group.create_task(loop.binds.run())
                deciding = group.create_task(loop.cycle.run(group))
                confirming = group.create_task(self._confirm(loop.sink, api))
                for chunk in self._chunks:
                    await loop.sink.lines("pods", chunk)
                while self._left < self._size.pods:
                    await asyncio.sleep(_LOOK_EVERY_S)
                    if progress is not None:
                        progress(self._left, self._size.pods)
                loop.cycle.stop()
                await deciding
                assert await loop.binds.drain(RUN_S_MAX), "every reservation ends"
                settling.cancel()
                confirming.cancel()
        finally:
            loop.thread.stop()

    async def _list(self, sink: EngineSink) -> None:
        for resource in self._resources:
            await sink.list_begin(resource)
            pages = self._pages if resource == "nodes" else ()
            for page in pages:
                await sink.list_page(resource, page)
            await sink.list_end(resource, "1")

    async def _confirm(self, sink: EngineSink, api: WritesAtOnce) -> None:
        """Sends watch lines for all binds since the last call."""
        while True:
            await api.came.wait()
            api.came.clear()
            bindings, api.waiting = api.waiting, []
            began_ns = time.thread_time_ns()
            items = (
                generated_cluster.on_node(WORKLOAD, _number(binding.name), _number(binding.node))
                for binding in bindings
            )
            chunks = _chunks("MODIFIED", items)
            self._making_ns += time.thread_time_ns() - began_ns
            for chunk in chunks:
                self._confirming_chunks += 1
                await sink.lines("pods", chunk)

    def _one_left(self, _: str) -> None:
        self._left += 1


def _pages(items: Iterable[str]) -> list[bytes]:
    made = list(items)
    return [
        b'{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":['
        + ",".join(made[start : start + LIST_PAGE_OBJECTS]).encode()
        + b"]}"
        for start in range(0, len(made), LIST_PAGE_OBJECTS)
    ]


def _chunks(kind: str, items: Iterable[str]) -> list[bytes]:
    """Whole lines, about as many as one read from a socket."""
    chunks: list[bytes] = []
    held: list[str] = []
    size = 0
    for item in items:
        line = f'{{"type":"{kind}","object":{item}}}\n'
        held.append(line)
        size += len(line)
        if size >= CHUNK_BYTES:
            chunks.append("".join(held).encode())
            held, size = [], 0
    return [*chunks, "".join(held).encode()] if held else chunks


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])
