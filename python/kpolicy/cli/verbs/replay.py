"""`kpolicy replay`: makes the decisions of a journal again, or shows what another policy would have
decided.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.findings_text import printable
from kpolicy.cli.input_output import (
    all_sources,
    load_program,
    progress_bar,
    refusals_reported,
    text_width,
    write_document,
    write_lines,
)
from kpolicy.cli.verb import (
    FINDINGS,
    FINE,
    FOLLOWED,
    OUTPUT_LINES,
    PARAM,
    CannotWorkError,
    Verb,
    argument,
    every_pod,
    moment,
    repeatable,
)

if TYPE_CHECKING:
    from kpolicy.engine import Engine
    from kpolicy.offline.journal_replay.journal_input import JournalInput

_EPILOG: Final = """\
Without --policy, makes every recorded call again, with the policies and the seed that decided, and
compares the decisions byte for byte. With --policy, says what that policy would have decided about
each pod, in the cluster as it was then; the recorded choices are taken over.

--at stops at a time. With --pod, the pod is explained as it was decided then.

exit: 0 the same decisions, 1 other decisions, or a gap or damage in the journal, 2 could not work
"""


def _replay(args: argparse.Namespace) -> int:
    from kpolicy.offline.journal_replay.journal_input import read_journal

    if args.pod and args.policy:
        raise CannotWorkError("--pod explains what was decided; it does not go with --policy")
    if option := _option_without_policy(args):
        raise CannotWorkError(f"{option} needs --policy: it says how that policy decides")
    journal = read_journal(args.journal)
    if not journal.epochs:
        raise CannotWorkError("\n".join(f"{each.code}: {each}" for each in journal.problems))
    for problem in journal.problems:
        print(f"warning: {problem.code}: {problem}", file=sys.stderr)
    replay = _with_other_policy if args.policy else _as_it_was
    return replay(args, journal) or (FINDINGS if journal.problems else FINE)


def _option_without_policy(args: argparse.Namespace) -> str:
    """The first option that needs --policy, where that is not there."""
    options = {
        "--release": args.release,
        "--feature-gates": args.feature_gates,
        "--param": args.param,
        "--every-pod": args.every_pod,
    }
    return "" if args.policy else next((name for name, value in options.items() if value), "")


def _as_it_was(args: argparse.Namespace, journal: JournalInput) -> int:
    from kpolicy.offline.journal_replay.whole_journal import replay
    from kpolicy.offline.reports.replay_text import same_text
    from kpolicy.offline.snapshots.snapshot_problem import BEFORE_JOURNAL

    _check_version(journal)
    with progress_bar("making decisions again") as progress:
        made = replay(journal, until_ns=args.at, progress=_counted(progress))
    if made.engine is None:
        raise CannotWorkError(f"{BEFORE_JOURNAL}: the journal begins after this time")
    if args.pod:
        return _explain(args, made.engine, made.epochs[-1].to_ns)
    differences = made.differences()
    if args.output == "json":
        write_document("replay", {"differences": differences, **made.line()})
    elif args.output == "jsonl":
        write_lines([*differences, made.line()])
    else:
        print("\n".join(map(printable, same_text(made.epochs))))
    return FINE if made.is_whole and not made.different else FINDINGS


def _counted(progress: Callable[[int, int], None] | None) -> Callable[[int], None] | None:
    """How many there will be is not known."""
    return None if progress is None else lambda decisions: progress(decisions, 0)


def _check_version(journal: JournalInput) -> None:
    from kpolicy.version import VERSION

    others = {epoch.header.kpolicy for epoch in journal.epochs} - {VERSION}
    if others:
        print(
            f"note: recorded by kpolicy {', '.join(sorted(others))}; this is {VERSION}, which may "
            "decide otherwise",
            file=sys.stderr,
        )


def _explain(args: argparse.Namespace, engine: Engine, at_ns: int) -> int:
    from kpolicy.offline.reports import explanation_text
    from kpolicy.offline.snapshots.cluster_snapshot import full_key

    keys = [full_key(pod) for pod in args.pod]
    answer = engine.explain(json.dumps({"pods": keys}).encode(), at_ns)
    explained: list[dict[str, Any]] = [json.loads(line) for line in answer.splitlines()]
    unknown = set(keys) - {each["pod"] for each in explained}
    if unknown:
        names = ", ".join(sorted(unknown))
        raise CannotWorkError(f"there was no such pod at that time: {names}")
    if args.output == "json":
        write_document("explain", {"explanations": explained})
    elif args.output == "jsonl":
        write_lines(explained)
    else:
        texts = (explanation_text.text(each, args.top, text_width()) for each in explained)
        print("\n\n".join("\n".join(map(printable, lines)) for lines in texts))
    return FINE


def _with_other_policy(args: argparse.Namespace, journal: JournalInput) -> int:
    from kpolicy.offline.journal_replay.whole_journal import replay_with
    from kpolicy.offline.reports.replay_text import compared_text

    versions = (epoch.header.cluster_version for epoch in journal.epochs)
    program = load_program(
        args,
        all_sources(args.policy),
        every_pod=args.every_pod,
        cluster_version=next(filter(None, versions), ""),
    )
    with refusals_reported(), progress_bar("deciding with the policy") as progress:
        found = replay_with(journal, program, until_ns=args.at, progress=_counted(progress))
    differences = [each.line() for each in found.differences]
    if args.output == "json":
        write_document("replay", {"differences": differences, **found.line()})
    elif args.output == "jsonl":
        write_lines([*differences, found.line()])
    else:
        print("\n".join(map(printable, compared_text(found))))
    return FINDINGS if found.different or found.problems else FINE


REPLAY: Final = Verb(
    "replay",
    "Make the decisions of a journal again: with the policy that decided, or with another one.",
    _replay,
    (
        argument(
            "journal",
            nargs="+",
            metavar="DIR|FILE",
            help="the folder that `kpolicy run --journal` or `kpolicy snapshot record --follow` "
            "wrote, or some of its segments",
        ),
        repeatable(
            "--policy",
            metavar="FILE|DIR|-",
            help="what this policy would have decided; repeatable",
        ),
        every_pod("the policy's one profile"),
        argument("--at", type=moment, metavar="TIME", help="only what was decided by this time"),
        repeatable(
            "--pod",
            metavar="NS/NAME",
            help="explain this pod as of --at, or of the end; repeatable",
        ),
        argument(
            "--top",
            type=int,
            default=5,
            metavar="N",
            help="how many nodes a table of scores shows (default: %(default)s)",
        ),
        PARAM,
        *FOLLOWED,
        OUTPUT_LINES,
    ),
    _EPILOG,
)
