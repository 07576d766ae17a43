"""Two threads of the engine against one: cold and warm decisions, a preemption storm, and loading a
file. Runs with one thread and with two alternate.

Where other work keeps the processors busy, two threads wait for each other. So the time that the
busiest thread ran is compared too: it is what the work would take if both processors were free.

Beside each ratio is the machine's own limit: how much more two processes with one thread each do at
once than one of them alone. It is less than two where both wait for the same memory.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from benches import recorded
from benches.at_once import PROCESSES, at_once
from kpolicy.cli.input_output import progress_bar
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.bench.generated_cluster import Size
from kpolicy.offline.bench.measure import decide, world
from kpolicy.offline.bench.workloads import UNIQUE
from kpolicy.offline.reports.columns import columns
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot, default_program, loaded_engine

COLD: Final = Size(20_000, 20_000, 1_000)
WARM: Final = Size(20_000, 20_000, 20_000)
STORM: Final = Size(5_000, 5_000, 1_000)
FILE: Final = Size(5_000, 150_000, 0)
RUNS: Final = 3
THREADS: Final = (1, 2)
_NANOSECONDS: Final = 1e9


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds of one run: on the clock, and how long the thread that calls the engine ran, or
    another of the engine's threads if that ran longer."""

    clock: float
    ran: float


# Gives what is timed, for so many threads.
Prepare = Callable[[int], Callable[[], Time]]


@dataclass(frozen=True, slots=True)
class Compared:
    """The least of several runs, by number of threads."""

    what: str
    by_threads: dict[int, Time]
    # Of one thread in each of two processes at the same time: of the one that took longer.
    at_once: Time

    def ratio(self, of: Callable[[Time], float]) -> float:
        """How many times faster the most threads are than the fewest."""
        few, many = min(self.by_threads), max(self.by_threads)
        return of(self.by_threads[few]) / of(self.by_threads[many])

    def limit(self, of: Callable[[Time], float]) -> float:
        """How many times as much the processes do in the same time as one of them does alone."""
        return PROCESSES * of(self.by_threads[min(self.by_threads)]) / of(self.at_once)

    def line(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "seconds": {str(count): round(each.clock, 4) for count, each in self._each()},
            "ran": {str(count): round(each.ran, 4) for count, each in self._each()},
            "ratio": round(self.ratio(_clock), 2),
            "ranRatio": round(self.ratio(_ran), 2),
            "limit": round(self.limit(_clock), 2),
            "ranLimit": round(self.limit(_ran), 2),
        }

    def _each(self) -> list[tuple[int, Time]]:
        return sorted(self.by_threads.items())


def _clock(time: Time) -> float:
    return time.clock


def _ran(time: Time) -> float:
    return time.ran


def measure(workloads: Sequence[str] = (), runs: int = RUNS) -> list[Compared]:
    works: list[tuple[str, Prepare]] = []
    for name in workloads or (*UNIQUE, "basic", "preemption"):
        size = COLD if name in UNIQUE else STORM if name == "preemption" else WARM
        works.append((f"{name}, {size.nodes:,} nodes", partial(_deciding, name, size)))
    with tempfile.TemporaryDirectory(prefix="kpolicy-bench-") as folder:
        if not workloads:
            path = Path(folder) / "snapshot.json"
            with path.open("w", encoding="utf-8") as file:
                file.writelines(recorded.kubectl_list(FILE))
            works.append((f"loading a file of {FILE.existing:,} pods", partial(_loading, path)))
        with progress_bar("measuring") as progress:
            compared = []
            for what, work in works:
                compared.append(_compare(what, work, runs))
                if progress is not None:
                    progress(len(compared), len(works))
    return compared


def _compare(what: str, prepare: Prepare, runs: int) -> Compared:
    times: dict[int, list[Time]] = {count: [] for count in THREADS}
    for _ in range(runs):
        for count in THREADS:
            times[count].append(prepare(count)())
    pairs = [
        Time(max(map(_clock, pair)), max(map(_ran, pair)))
        for pair in at_once(partial(prepare, min(THREADS)), runs)
    ]
    return Compared(what, {count: _least(found) for count, found in times.items()}, _least(pairs))


def _least(times: Sequence[Time]) -> Time:
    return Time(min(map(_clock, times)), min(map(_ran, times)))


def _deciding(workload: str, size: Size, threads: int) -> Callable[[], Time]:
    uids = [generated_cluster.uid(index) for index in range(size.pods)]
    engine = world(workload, size, default_program(), threads=threads)

    def work() -> Time:
        before = _ran_ns()
        decided = decide(engine, uids)
        others = _ran_since(before)
        # Of the process, only while it decided.
        caller = decided.cpu_seconds - sum(others)
        return Time(decided.seconds, max(caller, *others, 0.0))

    return work


def _loading(path: Path, threads: int) -> Callable[[], Time]:
    snapshot = Snapshot.load(path)
    engine = loaded_engine(default_program(), threads=threads)

    def work() -> Time:
        before, began_ns, ran_ns = _ran_ns(), time.perf_counter_ns(), time.thread_time_ns()
        for text in snapshot.texts:
            unreadable = engine.load_objects(text.body, text.source)
            assert not unreadable, unreadable[:1]
        seconds = (time.perf_counter_ns() - began_ns) / _NANOSECONDS
        caller = (time.thread_time_ns() - ran_ns) / _NANOSECONDS
        return Time(seconds, max(caller, *_ran_since(before), 0.0))

    return work


def _ran_since(before: dict[str, int]) -> list[float]:
    """Seconds of each of the engine's other threads."""
    now = _ran_ns().items()
    return [(ran_ns - before.get(task, 0)) / _NANOSECONDS for task, ran_ns in now]


def _ran_ns() -> dict[str, int]:
    """How long each of the engine's other threads has run so far, where the system says so."""
    ran = {}
    for task in Path("/proc/self/task").glob("*"):
        # A thread of an engine that was dropped may end meanwhile.
        with suppress(FileNotFoundError, ProcessLookupError):
            if (task / "comm").read_text().startswith("kpolicy-"):
                ran[task.name] = int((task / "schedstat").read_text().split()[0])
    return ran


def table(compared: Sequence[Compared]) -> list[str]:
    of_both = ["1: s", "2: s", "ratio", "limit", "1: ran", "2: ran", "ratio", "limit"]
    rows = [["two threads against one", *of_both]]
    for each in compared:
        cells = [each.what]
        for of in (_clock, _ran):
            cells += [f"{of(each.by_threads[count]):.3f}" for count in THREADS]
            cells += [f"{each.ratio(of):.2f}", f"{each.limit(of):.2f}"]
        rows.append(cells)
    note = "limit: two processes with one thread each, at once, against one of them"
    return [*columns(rows, right=range(1, len(rows[0]))), note]
