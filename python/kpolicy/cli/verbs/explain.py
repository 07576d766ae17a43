"""`kpolicy explain`: says why a pod would, or would not, be placed, and by which rule."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kpolicy.cli.flags import DECISION, OUTPUT, whole_number
from kpolicy.cli.inputs import ask_engine
from kpolicy.cli.verb import CannotWorkError, Verb, argument, repeatable

if TYPE_CHECKING:
    from kpolicy.offline.answers.explain import Explaining

# With more pods than this, and without --pod, each pod gets one line.
_PODS_IN_FULL_MAX: Final = 20
_EPILOG: Final = """\
Without --pod, every pending pod that the policy serves. A pod that is on a node is judged as if it
were not there. Every pod is judged by itself; `kpolicy simulate` places them one after the other.

exit: 0 explained, 1 the policy has errors, 2 could not work
"""


def _main(args: argparse.Namespace) -> int:
    from kpolicy.offline.answers.explain import Explaining

    work = ask_engine(args, lambda held, program: Explaining(held, program, seed=args.seed))
    lines = work.lines_of(args.pod) if args.pod else work.lines()
    if args.output == "json":
        for line in lines:
            sys.stdout.write(line.decode() + "\n")
    else:
        in_full = bool(args.pod) or len(work.pending()) <= _PODS_IN_FULL_MAX
        _print(lines, args.top, in_full=in_full)
    if not args.pod:
        _print_unserved(work)
    if work.not_explained:
        raise CannotWorkError("\n".join(map(str, work.not_explained)))
    return 0


def _print(lines: Iterable[bytes], top: int, *, in_full: bool) -> None:
    from kpolicy.offline.reports import explanation_text

    for position, line in enumerate(lines):
        explained = json.loads(line)
        if in_full:
            print("\n".join(["", *explanation_text.text(explained, top)][position == 0 :]))
        else:
            print(explanation_text.verdict(explained))
    if not in_full:
        print("`--pod NS/NAME` says everything of one pod", file=sys.stderr)


def _print_unserved(work: Explaining) -> None:
    unserved = Counter(pod.scheduler_name for pod in work.not_served())
    if not work.pending() and not unserved:
        print("no pod is pending; `--pod NS/NAME` explains one that is placed", file=sys.stderr)
    if unserved:
        counts = ", ".join(f"{count:,} of {name}" for name, count in sorted(unserved.items()))
        print(
            f"pending pods of schedulers that the policy does not serve: {counts}; "
            "`--every-pod` judges them too",
            file=sys.stderr,
        )


VERB: Final = Verb(
    "explain",
    "Say of pods of a snapshot which nodes they fit, what rejects the others, and how each rule "
    "scores.",
    _main,
    (
        *DECISION,
        repeatable(
            "--pod", metavar="NS/NAME", help="a pod; repeatable (without a namespace: default)"
        ),
        argument(
            "--top",
            type=whole_number(1),
            default=5,
            metavar="N",
            help="scored nodes shown in a table (default: %(default)s)",
        ),
        OUTPUT,
    ),
    _EPILOG,
)
