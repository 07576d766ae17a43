"""`kpolicy bench`: how fast the engine decides, on a made-up world.

Owns the verb's flags and its exit code. The measuring is that of `kpolicy.offline.bench`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any, Final

from kpolicy.cli.flags import add_param_flag
from kpolicy.cli.inputs import add_output_flag, load_program, refused
from kpolicy.cli.verb import CannotWorkError

_EPILOG: Final = """\
Only the engine's cycle is timed: deciding and assuming pod after pod in queue order, all nodes
scored. p50 and p99 are of single decisions, by the engine's own stamps.

exit: 0 measured, 1 the policy has errors, 2 could not work
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    from kpolicy.offline.bench.workloads import WORKLOADS
    from kpolicy.offline.limits import BENCH_NODES_MAX, BENCH_PODS_MAX

    listed = "\n".join(f"  {name:<14} {one.about}" for name, one in WORKLOADS.items())
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "bench",
        help="measure how fast the engine decides",
        description="Measure how fast the engine decides on a world made up by rule: nodes of "
        "32 cpu, 128Gi and 110 pods in ten zones, pods of 50 apps.",
        epilog=f"workloads:\n{listed}\n\n{_EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--workload", "-w", required=True, metavar="NAME", help="see below")
    for flag, default, low, high, what in (
        ("--nodes", 5_000, 1, BENCH_NODES_MAX, "nodes"),
        ("--existing", 5_000, 0, BENCH_PODS_MAX, "pods that are on the nodes already, in turn"),
        ("--pods", 10_000, 1, BENCH_PODS_MAX, "pods to place"),
    ):
        parser.add_argument(
            flag,
            type=_within(low, high),
            default=default,
            metavar="N",
            help=f"{what} (default: {default:,})",
        )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="how ties fall (default: %(default)s)"
    )
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="FILE|DIR|-",
        help="a policy of one profile; repeatable (default: kube-scheduler-default)",
    )
    add_param_flag(parser)
    add_output_flag(parser)


def _within(low: int, high: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"from {low:,} to {high:,}")
        return value

    return number


def main(args: argparse.Namespace) -> int:
    from kpolicy.cli.outputs import progress_bar
    from kpolicy.offline.bench.generated_cluster import Size
    from kpolicy.offline.bench.measure import measure
    from kpolicy.offline.bench.workloads import WORKLOADS
    from kpolicy.offline.reports.decision_text import table
    from kpolicy.offline.snapshots.snapshot import PolicyRefusedError
    from kpolicy.policy.nearest import did_you_mean

    if args.workload not in WORKLOADS:
        hint = did_you_mean(args.workload, WORKLOADS) or f"one of {', '.join(WORKLOADS)}"
        raise CannotWorkError(f"there is no workload `{args.workload}`; {hint}")
    program = load_program(args.policy, every_pod=True, params=dict(args.param))
    if program is None:
        return 1
    size = Size(args.nodes, args.existing, args.pods)
    try:
        with progress_bar("deciding") as progress:
            measured = measure(args.workload, size, program, seed=args.seed, progress=progress)
    except PolicyRefusedError as error:
        raise refused(error) from error
    if args.output == "json":
        print(json.dumps(measured.line()))
    else:
        print("\n".join(table([measured])))
    return 0
