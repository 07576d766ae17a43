"""`python -m benches [boundary|workloads|tests|startup]` and `python -m benches peer`: the driver.

Owns the flags and the exit code. Assumes an optimised build of the engine (`make dev`). Must not
measure.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, Final

from benches import boundary, matrix, policy_tests, startup
from benches.peer import command as peer

_FAILED: Final = 1
_NAMES: Final = ("boundary", "workloads", "tests", "startup")


def parser() -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser(
        prog="python -m benches",
        description="Measure the boundary between Python and Rust, the engine on its workloads, "
        "tests of policies, and how long the command line takes to start. Without a name, all. "
        "`peer --help` is the comparison with kube-scheduler.",
        epilog="exit: 0 measured, 1 the boundary is crossed too often",
    )
    flags.add_argument("names", nargs="*", metavar="|".join(_NAMES), default=[])
    flags.add_argument("--full", action="store_true", help="all sizes, up to 100,000 nodes")
    flags.add_argument(
        "--workload", action="append", default=[], metavar="NAME", help="only these; repeatable"
    )
    flags.add_argument("--nodes", type=int, default=boundary.NODES, help="of boundary")
    flags.add_argument("--pods", type=int, default=boundary.PODS, help="of boundary")
    flags.add_argument("--output", "-o", choices=("table", "json"), default="table")
    return flags


def main(words: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if words is None else words
    if words[:1] == ["peer"]:  # which has flags of its own
        return peer.main(words[1:])
    flags = parser()
    arguments = flags.parse_args(words)
    names = arguments.names or list(_NAMES)
    unknown = sorted(set(names) - set(_NAMES))
    if unknown:
        flags.error(f"there is no benchmark `{unknown[0]}`")
    if not 0 < arguments.pods <= boundary.PODS_A_NODE_MAX * arguments.nodes:
        flags.error(f"from 1 to {boundary.PODS_A_NODE_MAX} pods a node, so that all find a place")
    found: dict[str, Any] = {}
    failures: list[str] = []
    for name in names:
        if name == "boundary":
            runs = boundary.measure(arguments.nodes, arguments.pods)
            found[name] = [run.line() for run in runs]
            failures = boundary.failures(runs)
            shown = boundary.table(runs)
        elif name == "tests":
            measured = policy_tests.measure()
            found[name] = measured.line()
            shown = policy_tests.table(measured)
        elif name == "startup":
            waited = startup.measure()
            found[name] = [one.line() for one in waited]
            shown = startup.table(waited)
        else:
            chosen = matrix.chosen(arguments.workload, is_full=arguments.full)
            rows = matrix.measure_all(chosen)
            found[name] = [row.line() for row in rows]
            shown = matrix.table(rows)
        if arguments.output == "table":
            print("\n".join([name, *(f"  {line}" for line in shown), ""]), flush=True)
    if arguments.output == "json":
        print(json.dumps(found))
    for failure in failures:
        print(f"boundary: {failure}", file=sys.stderr)
    return _FAILED if failures else 0


if __name__ == "__main__":
    sys.exit(main())
