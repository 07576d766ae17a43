"""`kpolicy diff`: what a new policy would decide otherwise than the old one.

Owns the verb's flags and its exit code. The comparing is that of `kpolicy.offline.decide.diff`.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Final

from kpolicy.cli.flags import add_param_flag
from kpolicy.cli.inputs import (
    SNAPSHOT_HELP,
    add_deciding_flags,
    add_output_flag,
    load_program,
    load_snapshot,
    refused,
    say_problems,
)
from kpolicy.cli.verb import CannotWorkError

_EPILOG: Final = """\
Pending pods are placed one after the other under each policy, as `kpolicy simulate` does; nothing
is evicted. With --all-pods, every pod on a node is judged again as well, by itself, as if it were
not there. The first differences say which rule made them.

exit: 0 nothing differs, 1 something does, 2 could not work (also: a policy has errors)
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "diff",
        help="compare what two policies decide",
        description="Say which pods of a snapshot a new policy would place otherwise, and why.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    what = "a policy, a folder of them, or the name of one that comes with kpolicy"
    parser.add_argument("old", metavar="OLD", help=what)
    parser.add_argument("new", metavar="NEW", help=what)
    parser.add_argument(
        "--snapshot",
        "-s",
        action="append",
        required=True,
        metavar="FILE|DIR|-",
        help=f"{SNAPSHOT_HELP}; repeatable",
    )
    add_param_flag(parser)
    parser.add_argument("--all-pods", action="store_true", help="judge pods on nodes again too")
    add_deciding_flags(parser, "each policy's one profile")
    add_output_flag(parser)


def main(args: argparse.Namespace) -> int:
    from kpolicy.cli.outputs import progress_bar
    from kpolicy.offline.decide.diff import diff
    from kpolicy.offline.reports.decision_text import diff_text, difference_text
    from kpolicy.offline.snapshots.snapshot import PolicyRefusedError

    params = dict(args.param)
    old = load_program([args.old], every_pod=args.every_pod, params=params, beside=[args.new])
    new = load_program([args.new], every_pod=args.every_pod, params=params, beside=[args.old])
    if old is None or new is None:
        raise CannotWorkError("a policy with errors decides nothing")
    snapshot = load_snapshot(args.snapshot)
    try:
        with progress_bar("deciding twice") as progress:
            found = diff(
                snapshot, old, new, all_pods=args.all_pods, seed=args.seed, progress=progress
            )
    except PolicyRefusedError as error:
        raise refused(error) from error
    say_problems(snapshot)
    if args.output == "json":
        lines = [*(one.line() for one in found.differences), found.line()]
        sys.stdout.write("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    else:
        for one in found.differences:
            print("\n".join(difference_text(one)))
        print("\n".join(["", *diff_text(found)][not found.differences :]))
    if not found.pods:
        print("no pod of the snapshot is served by either policy", file=sys.stderr)
    return 1 if found.differences else 0
