"""`kpolicy diff`: says what a new policy would decide otherwise than the old one."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Final

from kpolicy.cli.flags import OUTPUT, PARAM, SEED, SNAPSHOT_HELP, every_pod
from kpolicy.cli.inputs import load_program, load_snapshot, print_problems, refusals_reported
from kpolicy.cli.outputs import progress_bar
from kpolicy.cli.verb import FINDINGS, FINE, CannotWorkError, PolicyErrorsError, Verb, argument

if TYPE_CHECKING:
    from kpolicy.policy.assembly.program import Program

_EPILOG: Final = """\
Pending pods are placed one after the other under each policy, as `kpolicy simulate` does; nothing
is evicted. With --all-pods, every pod on a node is judged again as well, by itself, as if it were
not there. The first differences say which rule made them.

exit: 0 nothing differs, 1 something does, 2 could not work (also: a policy has errors)
"""


def _main(args: argparse.Namespace) -> int:
    from kpolicy.offline.answers.diff import diff
    from kpolicy.offline.reports.decision_text import diff_text, difference_text

    old, new = _program(args, args.old, args.new), _program(args, args.new, args.old)
    if old is None or new is None:
        raise CannotWorkError("a policy with errors decides nothing")
    snapshot = load_snapshot(args.snapshot)
    with refusals_reported(), progress_bar("deciding twice") as progress:
        found = diff(snapshot, old, new, all_pods=args.all_pods, seed=args.seed, progress=progress)
    print_problems(snapshot)
    if args.output == "json":
        lines = [*(difference.line() for difference in found.differences), found.line()]
        sys.stdout.write("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    else:
        texts = [line for difference in found.differences for line in difference_text(difference)]
        print("\n".join([*texts, *([""] if texts else []), *diff_text(found)]))
    if not found.pods:
        print("no pod of the snapshot is served by either policy", file=sys.stderr)
    return FINDINGS if found.differences else FINE


def _program(args: argparse.Namespace, policy: str, beside: str) -> Program | None:
    params = dict(args.param)
    try:
        return load_program([policy], every_pod=args.every_pod, params=params, beside=[beside])
    except PolicyErrorsError:
        return None


_POLICY: Final = "a policy, a folder of them, or the name of one that comes with kpolicy"
VERB: Final = Verb(
    "diff",
    "Say which pods of a snapshot a new policy would place otherwise, and why.",
    _main,
    (
        argument("old", metavar="OLD", help=_POLICY),
        argument("new", metavar="NEW", help=_POLICY),
        argument(
            "--snapshot",
            "-s",
            action="append",
            required=True,
            metavar="FILE|DIR|-",
            help=f"{SNAPSHOT_HELP}; repeatable",
        ),
        PARAM,
        argument("--all-pods", action="store_true", help="judge pods on nodes again too"),
        every_pod("each policy's one profile"),
        SEED,
        OUTPUT,
    ),
    _EPILOG,
)
