"""The process that `memory` and `load` measure: `python -m benches.resident NAME …`. It prints one
JSON object.

`live` is a scheduler after its first lists, with all modules of `kpolicy run`, sink, queue and
engine, fed page by page. Then it decides pods until the engine's caches are full. `offline` reads a
snapshot file as `kpolicy simulate` does. It is a separate process, so that nothing else is in the
figures.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Final

from benches import recorded
from kpolicy.clock import SystemClock
from kpolicy.cluster.limits import LIST_PAGE_OBJECTS
from kpolicy.engine import Engine
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.limits import BATCH_PODS
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot, default_program
from kpolicy.scheduler.binding.reservations import Reservations
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import EVERY_PROFILE, EngineSink, QueueFeed, Signals
from kpolicy.scheduler.runtime import EngineThread, Runtime
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from kpolicy.telemetry.traces import Traces

_STATUS: Final = Path("/proc/self/status")
_MIB: Final = 1024
# The number of different requests that fills the caches for 5,000 nodes.
WAITING: Final = 10_000

Figures = dict[str, Any]


def main(words: Sequence[str]) -> int:
    name, *rest = words
    figures = asyncio.run(live(*map(int, rest))) if name == "live" else offline(rest[0])
    print(json.dumps(figures))
    return 0


async def live(nodes: int, existing: int, threads: int = 0) -> Figures:
    """`threads`: 0 for as many as there are processors."""
    importlib.import_module("kpolicy.scheduler.process")
    importlib.import_module("kpolicy.telemetry.traces")
    started = resident()
    size = generated_cluster.Size(nodes, existing, WAITING)
    engine = Engine(seed=1, threads=threads or None)
    refusals = engine.load(default_program().bytes)
    assert not refusals, refusals
    clock = SystemClock()
    metrics, signals = SchedulerMetrics(), Signals()
    thread = EngineThread(engine, clock, metrics)
    runtime = Runtime(clock, thread, metrics, Traces(), Random(1))
    feed = QueueFeed(Queue(), clock, signals)
    reservations = Reservations(1, signals.work_came)
    sink = EngineSink(runtime, feed, reservations, on_heard=lambda resource: None)
    feed.serve(frozenset({EVERY_PROFILE}))
    began_s = time.process_time()
    try:
        await _list(sink, "nodes", "Node", recorded.nodes(size))
        await _list(sink, "pods", "Pod", recorded.pods(size))
        listed, listed_s = resident(), time.process_time()
        await _list(
            sink, "pods", "Pod", generated_cluster.waiting(recorded.WORKLOAD, size), is_more=True
        )
        uids = [generated_cluster.uid(index) for index in range(size.pods)]
        done = 0
        while done < len(uids):
            batch = uids[done : done + BATCH_PODS]
            done += len(engine.schedule(batch, clock.now_ns()).decisions)
    finally:
        thread.stop()
    return {
        "started": started,
        "listed": listed,
        "decided": resident(),
        "peak": peak(),
        "listSeconds": listed_s - began_s,
        "decideSeconds": time.process_time() - listed_s,
        "statistics": json.loads(engine.statistics()),
    }


async def _list(
    sink: EngineSink, resource: str, kind: str, items: Iterator[str], *, is_more: bool = False
) -> None:
    """`is_more`: objects that were listed before stay."""
    if not is_more:
        await sink.list_begin(resource)
    while some := list(islice(items, LIST_PAGE_OBJECTS)):
        await sink.list_page(resource, recorded.page(kind, some))
    if not is_more:
        await sink.list_end(resource, "1")


def offline(path: str) -> Figures:
    began, began_cpu = time.perf_counter(), time.process_time()
    engine = Snapshot.load(path).engine()
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    statistics = json.loads(engine.statistics())
    return {
        "seconds": seconds,
        "cpuSeconds": cpu_seconds,
        "resident": resident(),
        "peak": peak(),
        "nodes": statistics["nodes"],
        "pods": statistics["pods"],
    }


def resident() -> float:
    return _status("VmRSS")


def peak() -> float:
    return _status("VmHWM")


def _status(name: str) -> float:
    """A figure of /proc/self/status, in MiB."""
    for line in _STATUS.read_text("ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / _MIB
    raise LookupError(name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
