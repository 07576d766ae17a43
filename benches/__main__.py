"""`python -m benches [NAME…]` runs benchmarks by name, on an optimised engine (`make release`).

`peer`, `cluster`, `churn` and `failover` have flags of their own. The modules of the benchmarks do
the measuring.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from benches import (
    advice,
    boundary,
    cold,
    devices,
    explaining,
    expressions,
    footprint,
    journal,
    loading,
    matrix,
    offline,
    plot,
    plot_threads,
    policy_tests,
    sizes,
    startup,
    threads,
    wakes,
)
from benches.churn import command as churn
from benches.cluster import command as cluster
from benches.failover import command as failover
from benches.fill import command as fill
from benches.peer import command as peer
from benches.shares import command as shares

_FAILED: Final = 1

# What a benchmark found, what it shows, and what is wrong.
Outcome = tuple[Any, list[str], list[str]]


def _boundary(arguments: argparse.Namespace) -> Outcome:
    runs = boundary.measure(arguments.nodes, arguments.pods)
    return [run.line() for run in runs], boundary.table(runs), boundary.failures(runs)


def _workloads(arguments: argparse.Namespace) -> Outcome:
    rows = matrix.measure_all(matrix.chosen(arguments.workload, is_full=arguments.full))
    return [row.line() for row in rows], matrix.table(rows), []


def _cold(arguments: argparse.Namespace) -> Outcome:
    costs = cold.measure(arguments.workload)
    return costs.line(), cold.table(costs), []


def _threads(arguments: argparse.Namespace) -> Outcome:
    compared = threads.measure(arguments.workload)
    return [each.line() for each in compared], threads.table(compared), []


def _tests(_: argparse.Namespace) -> Outcome:
    measured = policy_tests.measure()
    return measured.line(), policy_tests.table(measured), []


def _startup(_: argparse.Namespace) -> Outcome:
    waited = startup.measure()
    return [wait.line() for wait in waited], startup.table(waited), []


def _expressions(_: argparse.Namespace) -> Outcome:
    costs = expressions.measure()
    return [cost.line() for cost in costs], expressions.table(costs), []


def _explain(arguments: argparse.Namespace) -> Outcome:
    asked = explaining.measure(arguments.nodes)
    return [answer.line() for answer in asked], explaining.table(asked), explaining.failures(asked)


def _advice(arguments: argparse.Namespace) -> Outcome:
    advised = advice.measure(arguments.nodes)
    return [each.line() for each in advised], advice.table(advised), advice.failures(advised)


def _offline(_: argparse.Namespace) -> Outcome:
    costs = offline.measure()
    return [cost.line() for cost in costs], offline.table(costs), []


def _wakes(_: argparse.Namespace) -> Outcome:
    rows = wakes.measure()
    return [row.line() for row in rows], wakes.table(rows), []


def _sizes(_: argparse.Namespace) -> Outcome:
    measured = sizes.measure()
    return [asdict(need) for need in measured], sizes.table(measured), []


def _memory(_: argparse.Namespace) -> Outcome:
    figures = footprint.measure()
    return figures, footprint.table(figures), []


def _load(_: argparse.Namespace) -> Outcome:
    figures = loading.measure()
    return figures, loading.table(figures), []


def _journal(arguments: argparse.Namespace) -> Outcome:
    figures = journal.measure(arguments.nodes, arguments.pods)
    return figures.line(), journal.table(figures), journal.failures(figures)


def _devices(_: argparse.Namespace) -> Outcome:
    played = devices.measure()
    lines = [each.line() for each in played]
    return lines, devices.table(played), devices.failures(played)


def _plot(arguments: argparse.Namespace) -> Outcome:
    if arguments.measure:
        plot.save(plot.measure())
    data = plot.saved()
    written = plot.draw(plot.picture(data))
    return data, [f"wrote {path}" for path in written], []


def _plot_threads(arguments: argparse.Namespace) -> Outcome:
    if arguments.measure:
        plot.save(plot_threads.measure(), plot_threads.DATA)
    data = plot.saved(plot_threads.DATA)
    written = plot.draw(plot_threads.picture(data), plot_threads.PICTURE)
    return data, [f"wrote {path}" for path in written], []


BENCHMARKS: Final[Mapping[str, Callable[[argparse.Namespace], Outcome]]] = {
    "boundary": _boundary,
    "workloads": _workloads,
    "cold": _cold,
    "threads": _threads,
    "tests": _tests,
    "startup": _startup,
    "expressions": _expressions,
    "explain": _explain,
    "advice": _advice,
    "offline": _offline,
    "wakes": _wakes,
    "devices": _devices,
    "memory": _memory,
    "sizes": _sizes,
    "load": _load,
    "journal": _journal,
    "plot": _plot,
    "plot-threads": _plot_threads,
}
# With flags of their own.
_COMMANDS: Final[Mapping[str, Callable[[Sequence[str]], int]]] = {
    "peer": peer.main,
    "cluster": cluster.main,
    "churn": churn.main,
    "failover": failover.main,
    "fill": fill.main,
    "shares": shares.main,
}
_USUAL: Final = ("boundary", "workloads", "tests", "startup")


def parser() -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser(
        prog="python -m benches",
        description="Measure the boundary between Python and Rust, the engine on its workloads, "
        "decisions about pods that all differ (cold), two threads of the engine against one, tests "
        "of policies, how long the command line takes to start, expressions, what /debug/explain "
        "holds up, advice on pods that fit nowhere (advice), explain, diff and plan of a whole "
        "snapshot (offline), useless wakes of parked pods, devices that best fit strands, and "
        "first fit, memory (also by size), loading, and the journal; plot cost by nodes, and by "
        "threads. "
        "Without a name: boundary, workloads, tests and startup. `peer --help` is the comparison "
        "with kube-scheduler's cycle, `cluster --help` that of both as processes on a real API "
        "server; `churn --help` and `failover --help` are memory and promises of seconds there; "
        "`shares --help` is the shares of tenants over a simulated week; `fill --help` is how much "
        "of the GPUs of a trace policies allocate.",
        epilog="exit: 0 measured, 1 the boundary is crossed too often, the loop is held up for "
        "too long, advice takes too long, or best fit strands too many devices",
    )
    flags.add_argument("names", nargs="*", metavar="|".join(BENCHMARKS), default=[])
    flags.add_argument("--full", action="store_true", help="all sizes, up to 100,000 nodes")
    flags.add_argument(
        "--workload", action="append", default=[], metavar="NAME", help="only these; repeatable"
    )
    flags.add_argument(
        "--nodes", type=int, default=boundary.NODES, help="of boundary, explain, advice and journal"
    )
    flags.add_argument("--pods", type=int, default=boundary.PODS, help="of boundary, journal")
    flags.add_argument(
        "--measure",
        action="store_true",
        help="plot, plot-threads: measure anew, and keep what was found",
    )
    flags.add_argument("--output", "-o", choices=("table", "json"), default="table")
    return flags


def main(words: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if words is None else words
    if words and words[0] in _COMMANDS:
        return _COMMANDS[words[0]](words[1:])
    flags = parser()
    arguments = flags.parse_args(words)
    names = arguments.names or _USUAL
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        flags.error(f"there is no benchmark `{unknown[0]}`")
    if not 0 < arguments.pods <= boundary.PODS_A_NODE_MAX * arguments.nodes:
        flags.error(f"from 1 to {boundary.PODS_A_NODE_MAX} pods a node, so that all find a place")
    found: dict[str, Any] = {}
    failures: list[str] = []
    for name in names:
        found[name], shown, wrong = BENCHMARKS[name](arguments)
        failures += [f"{name}: {failure}" for failure in wrong]
        if arguments.output == "table":
            print("\n".join([name, *(f"  {line}" for line in shown), ""]), flush=True)
    if arguments.output == "json":
        print(json.dumps(found))
    for failure in failures:
        print(failure, file=sys.stderr)
    return _FAILED if failures else 0


if __name__ == "__main__":
    sys.exit(main())
