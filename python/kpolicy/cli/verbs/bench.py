"""`kpolicy bench`: measures how fast the engine decides, on a generated cluster."""

from __future__ import annotations

import argparse
import json
from typing import Final

from kpolicy.cli.flags import OUTPUT, PARAM, SEED, whole_number
from kpolicy.cli.inputs import load_program, refusals_reported
from kpolicy.cli.outputs import progress_bar
from kpolicy.cli.verb import CannotWorkError, Verb, argument, repeatable
from kpolicy.offline.bench.workloads import WORKLOADS
from kpolicy.offline.limits import BENCH_NODES_MAX, BENCH_PODS_MAX

_LISTED: Final = "\n".join(f"  {name:<14} {one.about}" for name, one in WORKLOADS.items())
_EPILOG: Final = f"""\
workloads:
{_LISTED}

Only the engine's cycle is timed: deciding and assuming pod after pod in queue order, all nodes
scored. p50 and p99 are of single decisions, by the engine's own stamps.

exit: 0 measured, 1 the policy has errors, 2 could not work
"""


def _main(args: argparse.Namespace) -> int:
    from kpolicy.offline.bench.generated_cluster import Size
    from kpolicy.offline.bench.measure import measure
    from kpolicy.offline.reports.decision_text import table
    from kpolicy.policy.nearest import did_you_mean

    if args.workload not in WORKLOADS:
        hint = did_you_mean(args.workload, WORKLOADS) or f"one of {', '.join(WORKLOADS)}"
        raise CannotWorkError(f"there is no workload `{args.workload}`; {hint}")
    program = load_program(args.policy, every_pod=True, params=dict(args.param))
    size = Size(args.nodes, args.existing, args.pods)
    with refusals_reported(), progress_bar("deciding") as progress:
        measured = measure(args.workload, size, program, seed=args.seed, progress=progress)
    print(json.dumps(measured.line()) if args.output == "json" else "\n".join(table([measured])))
    return 0


VERB: Final = Verb(
    "bench",
    "Measure how fast the engine decides on a generated cluster: nodes of 32 cpu, 128Gi and 110 "
    "pods in ten zones, pods of 50 apps.",
    _main,
    (
        argument("--workload", "-w", required=True, metavar="NAME", help="see below"),
        *(
            argument(
                flag,
                type=whole_number(low, high),
                default=default,
                metavar="N",
                help=f"{what} (default: {default:,})",
            )
            for flag, default, low, high, what in (
                ("--nodes", 5_000, 1, BENCH_NODES_MAX, "nodes"),
                ("--existing", 5_000, 0, BENCH_PODS_MAX, "pods that are on the nodes already"),
                ("--pods", 10_000, 1, BENCH_PODS_MAX, "pods to place"),
            )
        ),
        SEED,
        repeatable(
            "--policy",
            metavar="FILE|DIR|-",
            help="a policy of one profile; repeatable (default: kube-scheduler-default)",
        ),
        PARAM,
        OUTPUT,
    ),
    _EPILOG,
)
