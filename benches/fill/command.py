"""`python -m benches fill`: fills the cluster of a trace under each policy, and prints a table."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benches.fill import authors
from kpolicy.offline.fill import Recipe, Trace
from kpolicy.offline.fill.openb import DEFAULT_PODS, OPENB, trace_at
from kpolicy.offline.fill.synthetic import write_synthetic
from kpolicy.offline.policy_files import read_source
from kpolicy.offline.reports.columns import columns
from kpolicy.offline.snapshots.snapshot_problem import Problem
from kpolicy.offline.sweeps.cell_runner import run_cells
from kpolicy.offline.sweeps.days_cells import Sweep, Variant, cells_of
from kpolicy.offline.sweeps.trace_cells import SHOWN, TraceWork, allocation, fragmentation
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import compile_policy, shipped_names, shipped_source

POLICIES: Final = Path(__file__).parent / "policies"
# In the order in which the paper has them.
SIX: Final = tuple(authors.THEIRS)
SYNTHETIC: Final = "synthetic"
FRAGMENTS_AT: Final = (80, 90, 100)
_BAD_INPUT: Final = 2


def program_of(policy: str) -> Program:
    """By the name of a shipped policy or of one of this comparison, or by its file."""
    ours = POLICIES / f"{policy}.yaml"
    if policy in shipped_names():
        source = shipped_source(policy)
    else:
        source = read_source(ours if ours.is_file() else policy)
    compiled = compile_policy([source])
    if compiled.program is None:
        raise ValueError("; ".join(str(finding.message) for finding in compiled.diagnostics))
    return compiled.program


def seeds_of(text: str) -> range:
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def table(found: Sweep, trace: Trace, folder: Path) -> list[str]:
    head = ["policy", "allocated at 100 %", "allocated at 130 %", "authors", "difference"]
    head += [f"fragments at {percent} %" for percent in FRAGMENTS_AT]
    rows = []
    for variant, spreads in found.spreads():
        theirs = authors.allocated(folder, trace.name, variant.policy, 100)
        ours = spreads[allocation(100)]
        rows.append(
            [
                variant.policy,
                f"{100 * ours.mean:.2f} ± {100 * ours.deviation:.2f}",
                f"{100 * spreads[allocation(130)].mean:.2f}",
                f"{theirs:.2f}" if theirs else "-",
                f"{100 * ours.mean - theirs:+.2f}" if theirs else "-",
                *(f"{100 * spreads[fragmentation(at)].mean:.2f}" for at in FRAGMENTS_AT),
            ]
        )
    gpus = trace.capacity_milli // 1000
    note = f"in percent of {gpus} GPUs; {len(trace.nodes)} nodes, {len(trace.pods)} pods"
    return [*columns([head, *rows]), note]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benches fill",
        description="Fill the cluster of a trace with its pods under each policy, and show how "
        "much of its GPUs is allocated, and how much is a fragment.",
        epilog="exit: 0 filled, 2 the trace or a policy cannot be read",
    )
    parser.add_argument(
        "--trace",
        default=SYNTHETIC,
        metavar=f"{OPENB}FOLDER|{SYNTHETIC}",
        help="the folder of openb, or a small made-up trace (default)",
    )
    parser.add_argument("--variant", default=DEFAULT_PODS, help="openb_pod_list_VARIANT.csv")
    parser.add_argument(
        "--policy", action="append", default=[], metavar="NAME|FILE", help="default: all six"
    )
    parser.add_argument("--seeds", type=seeds_of, default=range(1, 4), metavar="FIRST..LAST")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--nodes-in-order", action="store_true", help="keep the names that nodes have in the trace"
    )
    parser.add_argument("--output", "-o", choices=("table", "json"), default="table")
    flags = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as made_up:
        written = flags.trace
        if written == SYNTHETIC:
            write_synthetic(Path(made_up))
            written = f"{OPENB}{made_up}"
        trace = trace_at(written, flags.variant)
    if isinstance(trace, Problem):
        print(f"{trace.code}: {trace}", file=sys.stderr)
        return _BAD_INPUT
    folder = Path(written.removeprefix(OPENB))
    recipe = Recipe(mixes_nodes=not flags.nodes_in_order)
    try:
        programs = {policy: program_of(policy) for policy in flags.policy or SIX}
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return _BAD_INPUT
    variants = tuple(Variant(name, (), 0, program) for name, program in programs.items())
    work = TraceWork(trace, variants, recipe)
    cells = cells_of(variants, flags.seeds)
    began = time.monotonic()
    results = run_cells(work, cells, jobs=flags.jobs)
    found = Sweep(variants, cells, tuple(results), SHOWN)
    if flags.output == "json":
        print(json.dumps(found.summary()))
    else:
        print("\n".join(table(found, trace, folder)))
    print(f"{len(cells)} runs in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 0
