"""Two threads of the engine against one: cold and warm decisions, a preemption storm, and loading a
file. All runs alternate.

Where other work keeps the processors busy, two threads wait for each other. So the time that the
busiest thread ran is compared too: it is what the work would take if both processors were free.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benches import recorded
from kpolicy.cli.input_output import progress_bar
from kpolicy.engine import Engine
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


@dataclass(frozen=True, slots=True)
class Compared:
    """The least of several runs, by number of threads."""

    what: str
    by_threads: dict[int, Time]

    def ratio(self, of: Callable[[Time], float]) -> float:
        """How many times faster the most threads are than the fewest."""
        few, many = min(self.by_threads), max(self.by_threads)
        return of(self.by_threads[few]) / of(self.by_threads[many])

    def line(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "seconds": {str(count): round(each.clock, 4) for count, each in self._each()},
            "ran": {str(count): round(each.ran, 4) for count, each in self._each()},
            "ratio": round(self.ratio(lambda each: each.clock), 2),
            "ranRatio": round(self.ratio(lambda each: each.ran), 2),
        }

    def _each(self) -> list[tuple[int, Time]]:
        return sorted(self.by_threads.items())


def measure(workloads: Sequence[str] = (), runs: int = RUNS) -> list[Compared]:
    works: list[tuple[str, Callable[[int], Time]]] = []
    for name in workloads or (*UNIQUE, "basic", "preemption"):
        size = COLD if name in UNIQUE else STORM if name == "preemption" else WARM
        works.append((f"{name}, {size.nodes:,} nodes", _deciding(name, size)))
    with tempfile.TemporaryDirectory(prefix="kpolicy-bench-") as folder:
        if not workloads:
            path = Path(folder) / "snapshot.json"
            with path.open("w", encoding="utf-8") as file:
                file.writelines(recorded.kubectl_list(FILE))
            works.append((f"loading a file of {FILE.existing:,} pods", _loading(path)))
        with progress_bar("measuring") as progress:
            compared = []
            for what, work in works:
                compared.append(_compare(what, work, runs))
                if progress is not None:
                    progress(len(compared), len(works))
    return compared


def _compare(what: str, work: Callable[[int], Time], runs: int) -> Compared:
    times: dict[int, list[Time]] = {count: [] for count in THREADS}
    for _ in range(runs):
        for count in THREADS:
            times[count].append(work(count))
    least = {
        count: Time(min(each.clock for each in found), min(each.ran for each in found))
        for count, found in times.items()
    }
    return Compared(what, least)


def _deciding(workload: str, size: Size) -> Callable[[int], Time]:
    uids = [generated_cluster.uid(index) for index in range(size.pods)]

    def work(threads: int) -> Time:
        engine = world(workload, size, default_program(), threads=threads)
        return _timed(lambda: decide(engine, uids).seconds)

    return work


def _loading(path: Path) -> Callable[[int], Time]:
    snapshot = Snapshot.load(path)

    def work(threads: int) -> Time:
        engine = loaded_engine(default_program(), threads=threads)
        return _timed(lambda: _read(snapshot, engine))

    return work


def _read(snapshot: Snapshot, engine: Engine) -> float:
    began_ns = time.perf_counter_ns()
    for text in snapshot.texts:
        unreadable = engine.load_objects(text.body, text.source)
        assert not unreadable, unreadable[:1]
    return (time.perf_counter_ns() - began_ns) / _NANOSECONDS


def _timed(work: Callable[[], float]) -> Time:
    before, began_ns = _ran_ns(), time.thread_time_ns()
    seconds = work()
    caller_ns = time.thread_time_ns() - began_ns
    busiest_ns = max((ran - before.get(task, 0) for task, ran in _ran_ns().items()), default=0)
    return Time(seconds, max(caller_ns, busiest_ns) / _NANOSECONDS)


def _ran_ns() -> dict[str, int]:
    """How long each of the engine's threads has run, where the system tells."""
    ran = {}
    for task in Path("/proc/self/task").glob("*"):
        # A thread of an engine that was dropped may end meanwhile.
        with suppress(FileNotFoundError, ProcessLookupError):
            if (task / "comm").read_text().startswith("kpolicy-"):
                ran[task.name] = int((task / "schedstat").read_text().split()[0])
    return ran


def table(compared: Sequence[Compared]) -> list[str]:
    heading = ["two threads against one", "1: s", "2: s", "ratio", "1: ran", "2: ran", "ratio"]
    rows = [heading]
    for each in compared:
        single, double = each.by_threads[THREADS[0]], each.by_threads[THREADS[1]]
        clock = [
            f"{single.clock:.3f}",
            f"{double.clock:.3f}",
            f"{each.ratio(lambda t: t.clock):.2f}",
        ]
        ran = [f"{single.ran:.3f}", f"{double.ran:.3f}", f"{each.ratio(lambda t: t.ran):.2f}"]
        rows.append([each.what, *clock, *ran])
    return columns(rows, right=range(1, len(heading)))
