"""`kpolicy explain`: why a pod would, or would not, be placed, and by which rule.

Owns the verb's flags, its notes and its exit code. The answers are those of
`kpolicy.offline.decide.explain`, the layout that of `kpolicy.offline.reports`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

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
from kpolicy.cli.verb import CannotWorkError

if TYPE_CHECKING:
    from kpolicy.offline.decide.explain import Explaining

# With more pods than this and none asked for by name, a line each.
_PODS_IN_FULL_MAX: Final = 20
_EPILOG: Final = """\
Without --pod, every pending pod that the policy serves. A pod that is on a node is judged as if it
were not there. Every pod is judged by itself; `kpolicy simulate` places them one after the other.

exit: 0 explained, 1 the policy has errors, 2 could not work
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "explain",
        help="say why a pod is, or is not, placed",
        description="Say of pods of a snapshot which nodes they fit, what rejects the others, "
        "and how each rule scores.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_snapshot_flag(parser)
    add_policy_flags(parser)
    parser.add_argument(
        "--pod",
        action="append",
        default=[],
        metavar="NS/NAME",
        help="a pod; repeatable (without a namespace: default)",
    )
    parser.add_argument(
        "--top",
        type=_positive,
        default=5,
        metavar="N",
        help="scored nodes shown in a table (default: %(default)s)",
    )
    add_output_flag(parser)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


_positive.__name__ = "number"


def main(args: argparse.Namespace) -> int:
    from kpolicy.offline.decide.explain import Explaining
    from kpolicy.offline.snapshots.snapshot import PolicyRefusedError

    program = load_program(args.policy, every_pod=args.every_pod, params=dict(args.param))
    if program is None:
        return 1
    snapshot = load_snapshot(args.snapshot)
    try:
        work = Explaining(snapshot, program, seed=args.seed)
    except PolicyRefusedError as error:
        raise refused(error) from error
    say_problems(snapshot)
    refuse_empty(work.statistics, args.snapshot)
    lines = work.lines_of(args.pod) if args.pod else work.lines()
    if args.output == "json":
        for line in lines:
            sys.stdout.write(line.decode() + "\n")
    else:
        in_full = bool(args.pod) or len(work.pending()) <= _PODS_IN_FULL_MAX
        _write(lines, args.top, in_full=in_full)
    if not args.pod:
        _say_who_was_left(work)
    if work.not_explained:
        raise CannotWorkError("\n".join(map(str, work.not_explained)))
    return 0


def _write(lines: Iterable[bytes], top: int, *, in_full: bool) -> None:
    from kpolicy.offline.reports import explanation_text

    for position, line in enumerate(lines):
        explained = json.loads(line)
        if not in_full:
            print(explanation_text.verdict(explained))
            continue
        print("\n".join(["", *explanation_text.text(explained, top)][position == 0 :]))
    if not in_full:
        print("`--pod NS/NAME` says everything of one pod", file=sys.stderr)


def _say_who_was_left(work: Explaining) -> None:
    left = Counter(pod.scheduler_name for pod in work.not_served())
    if not work.pending() and not left:
        print("no pod is pending; `--pod NS/NAME` explains one that is placed", file=sys.stderr)
    if left:
        of = ", ".join(f"{count:,} of {name}" for name, count in sorted(left.items()))
        print(
            f"pending pods of schedulers that the policy does not serve: {of}; "
            "`--every-pod` judges them too",
            file=sys.stderr,
        )
