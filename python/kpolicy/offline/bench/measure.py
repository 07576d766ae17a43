"""How fast the engine decides: one workload, one size, one program.

The clock runs only during `schedule`, which decides and assumes pods one after the other. The time
of a single decision is the engine's own stamps (filter and score) and an equal share of the rest of
its call (assume, preemption, crossing into Rust), so that all of `seconds` belongs to some
decision.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.engine import Decision, Engine, Verdict
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.bench.generated_cluster import Size, bodies
from kpolicy.offline.limits import BATCH_PODS
from kpolicy.offline.snapshots.cluster_snapshot import Progress, default_program, loaded_engine
from kpolicy.policy.assembly.assemble import Program

_NOW_NS: Final = 0
NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Measured:
    """`line` is what `kpolicy bench --output json` prints. `cpu_seconds` is processor time of all
    threads, which a busy machine distorts less."""

    workload: str
    size: Size
    threads: int | None  # None: nobody asked for a number
    scheduled: int
    seconds: float
    p50_us: float
    p99_us: float
    cpu_seconds: float

    @property
    def pods_per_second(self) -> float:
        """Decided pods, placed or not."""
        return self.size.pods / self.seconds

    def line(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "nodes": self.size.nodes,
            "existing": self.size.existing,
            "pods": self.size.pods,
            "scheduled": self.scheduled,
            "seconds": round(self.seconds, 6),
            "podsPerSecond": round(self.pods_per_second, 1),
            "p50us": round(self.p50_us, 2),
            "p99us": round(self.p99_us, 2),
            **({} if self.threads is None else {"threads": self.threads}),
        }


@dataclass(frozen=True, slots=True)
class Decided:
    """`each_ns` has the time of every decision, in the order in which they were made."""

    scheduled: int
    seconds: float
    each_ns: tuple[int, ...]
    cpu_seconds: float


def measure(
    workload: str,
    size: Size,
    policy: Program | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Raises `PolicyRefusedError`. `progress` is called with the number of decided pods; its own
    time is not counted."""
    engine = world(workload, size, policy or default_program(), seed, threads)
    decided = decide(engine, [generated_cluster.uid(index) for index in range(size.pods)], progress)
    ordered = sorted(decided.each_ns)
    return Measured(
        workload,
        size,
        threads,
        decided.scheduled,
        decided.seconds,
        quantile(ordered, 50) / 1000,
        quantile(ordered, 99) / 1000,
        decided.cpu_seconds,
    )


def decide(engine: Engine, uids: Sequence[str], progress: Progress | None = None) -> Decided:
    """Decides these pods one after the other, in whatever cluster the engine holds."""
    spent_ns, spent_cpu_ns, scheduled = 0, 0, 0
    each_ns: list[int] = []
    with _collector_at_rest():
        done = 0
        while done < len(uids):
            batch = uids[done : done + BATCH_PODS]
            began_ns, began_cpu_ns = time.perf_counter_ns(), time.process_time_ns()
            decisions = engine.schedule(batch, _NOW_NS).decisions
            took_ns = time.perf_counter_ns() - began_ns
            spent_cpu_ns += time.process_time_ns() - began_cpu_ns
            spent_ns += took_ns
            scheduled += sum(decision.verdict == Verdict.PLACED for decision in decisions)
            each_ns += decision_times(decisions, took_ns)
            done += len(decisions)
            if progress is not None:
                progress(done, len(uids))
    seconds, cpu_seconds = spent_ns / NANOSECONDS, spent_cpu_ns / NANOSECONDS
    return Decided(scheduled, seconds, tuple(each_ns), cpu_seconds)


def decision_times(decisions: Sequence[Decision], took_ns: int) -> list[int]:
    """The time of each decision of a call that took this long."""
    stamped = [decision.took_ns for decision in decisions]
    share = max(0, took_ns - sum(stamped)) // max(1, len(stamped))
    return [stamp + share for stamp in stamped]


def quantile(ordered: Sequence[int], percent: int) -> int:
    """The nearest rank: a value that did occur."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def world(
    workload: str, size: Size, program: Program, seed: int = 0, threads: int | None = None
) -> Engine:
    """An engine with the cluster of a workload."""
    engine = loaded_engine(program, seed, threads)
    for body in bodies(workload, size):
        unreadable = engine.load_objects(body, workload)
        assert not unreadable, unreadable[:1]
    return engine


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Stops Python's garbage collector, whose time would count as the engine's."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
