"""`kpolicy simulate`: where all pending pods of a snapshot would go, one after the other.

Owns the verb's flags and its exit code. The placing is that of `kpolicy.offline.decide.simulate`.
"""

from __future__ import annotations

import argparse
import json
from typing import Any, Final

from kpolicy.cli.inputs import (
    add_output_flag,
    add_policy_flags,
    add_snapshot_flag,
    load_program,
    load_snapshot,
    refuse_empty,
    refused,
    say_problems,
)

_EPILOG: Final = """\
In queue order: priority, creation, name. Every pod sees those placed before it; nothing is evicted.

exit: 0 simulated, whatever became of the pods; 1 the policy has errors; 2 could not work
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "simulate",
        help="place all pending pods of a snapshot",
        description="Place all pending pods of a snapshot that the policy serves, and sum up.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_snapshot_flag(parser)
    add_policy_flags(parser)
    add_output_flag(parser)


def main(args: argparse.Namespace) -> int:
    from kpolicy.cli.outputs import progress_bar
    from kpolicy.offline.decide.simulate import Simulating
    from kpolicy.offline.reports.decision_text import pods_text, simulation_text
    from kpolicy.offline.snapshots.snapshot import PolicyRefusedError

    program = load_program(args.policy, every_pod=args.every_pod, params=dict(args.param))
    if program is None:
        return 1
    snapshot = load_snapshot(args.snapshot)
    try:
        work = Simulating(snapshot, program, seed=args.seed)
    except PolicyRefusedError as error:
        raise refused(error) from error
    say_problems(snapshot)
    refuse_empty(work.statistics, args.snapshot)
    with progress_bar("placing pods") as progress:
        if args.output == "json":
            for pod in work.pods(progress):
                print(json.dumps(pod.line(), ensure_ascii=False))
            print(json.dumps(work.summary().line(), ensure_ascii=False))
            return 0
        pods = list(work.pods(progress))
        summary = work.summary()
    for line in [*pods_text(pods), "", *simulation_text(summary)][not pods :]:
        print(line)
    return 0
