"""`kpolicy plan`: what a new policy changes over snapshots and journals, for its reviewers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.findings_text import printable
from kpolicy.cli.input_output import (
    load_snapshot,
    print_problems,
    progress_bar,
    refusals_reported,
    write,
    write_document,
    write_lines,
)
from kpolicy.cli.page_files import write_plan_page
from kpolicy.cli.two_policies import NAMES_MATCHED, OLD_AND_NEW, TwoPolicies
from kpolicy.cli.verb import (
    BOTH_RELEASES,
    FEATURE_GATES,
    FINDINGS,
    FINE,
    HTML,
    NOW,
    PARAM,
    SEED,
    SNAPSHOT_HELP,
    CannotWorkError,
    Verb,
    argument,
    every_pod,
    formats,
    repeatable,
)

if TYPE_CHECKING:
    from kpolicy.offline.journal_replay.journal_input import JournalInput
    from kpolicy.offline.plan.plan_model import InputPlan, Plan
    from kpolicy.offline.plan.snapshot_plan import PlanOptions
    from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
    from kpolicy.offline.snapshots.snapshot_problem import Problem
    from kpolicy.policy.assembly.assemble import Program

_EPILOG: Final = """\
Over a snapshot, each policy places the pending pods one after the other; with --all-pods also those
that are on nodes. Over a journal, each policy is asked about every recorded decision, in the
cluster as it was then. A node with the same score as the one that the old policy took is no change.

Figures for --fail-on: placed, parked, moved, evicted (pods that change), movedIndirectly, pods,
old.placed, new.parked, …, nodes, nodesInUse.new, fullness['cpu'].new, fragmentation['cpu'].new,
skew['topology.kubernetes.io/zone'].new, the columns (cost.new > 1.05 * cost.old), and classes
(classes.exists(c, c.namespace == 'prod' && c.parked > 0)). before, old and new are there for each.

exit: 0 planned, 1 a --fail-on is true, or a journal has a gap or damage, 2 could not work (also if
a policy has errors)
"""


def _plan(args: argparse.Namespace) -> int:
    from kpolicy.offline.plan.plan_model import Plan

    if not args.snapshot and not args.journal:
        raise CannotWorkError("--snapshot FILE or --journal DIR is needed, or several of them")
    policies = TwoPolicies.of(args)
    options = _options(args)
    programs = _Programs(policies)
    made = [
        *(_of_snapshot(args, each, programs, options) for each in args.snapshot),
        *(_of_journal(args, each, programs) for each in args.journal),
    ]
    # Those of an unknown time come last.
    made.sort(key=lambda each: (each.from_ns is None, each.from_ns or 0))
    old, new = policies.titles
    found = _with_thresholds(Plan(old, new, tuple(made), programs.releases), args.fail_on)
    for problem in found.problems:
        print(f"warning: {problem.code}: {problem}", file=sys.stderr)
    _print(args, found)
    if args.html is not None:
        write_plan_page(args, found.line())
    return FINDINGS if found.is_failed or found.problems else FINE


def _options(args: argparse.Namespace) -> PlanOptions:
    """What is wrong with flags is said before anything is decided."""
    from kpolicy.offline.plan.node_columns import Column, read_column
    from kpolicy.offline.plan.snapshot_plan import PlanOptions
    from kpolicy.offline.plan.thresholds import FIGURES, misspelt

    columns: list[Column] = []
    for written in args.column:
        column = read_column(written, FIGURES)
        if not isinstance(column, Column):
            raise _refused(column)
        columns.append(column)
    if columns and not args.snapshot:
        raise CannotWorkError("--column is about nodes of a snapshot; give --snapshot FILE too")
    for problem in misspelt(args.fail_on, [column.name for column in columns]):
        raise _refused(problem)
    return PlanOptions(tuple(args.by_label), tuple(columns), args.all_pods, args.seed)


def _refused(problem: Problem) -> CannotWorkError:
    return CannotWorkError(f"{problem.code}: {problem}")


class _Programs:
    """Compiles the policies once for each version of a cluster."""

    def __init__(self, policies: TwoPolicies) -> None:
        self._policies = policies
        self._made: dict[str, tuple[Program, Program]] = {}

    def __call__(self, cluster_version: str) -> tuple[Program, Program]:
        if cluster_version not in self._made:
            self._made[cluster_version] = self._policies.programs(cluster_version)
        return self._made[cluster_version]

    @property
    def releases(self) -> tuple[str, str]:
        old, new = next(iter(self._made.values()))
        return old.followed.release, new.followed.release


def _of_snapshot(
    args: argparse.Namespace, argument: str, programs: _Programs, options: PlanOptions
) -> InputPlan:
    from kpolicy.offline.plan.plan_model import InputPlan
    from kpolicy.offline.plan.snapshot_plan import snapshot_plan

    snapshot = _snapshot(args, argument)
    old, new = programs(snapshot.cluster_version)
    with refusals_reported(), progress_bar(f"deciding in {argument}") as progress:
        made = snapshot_plan(snapshot, old, new, name=argument, options=options, progress=progress)
    print_problems(snapshot)
    if not isinstance(made, InputPlan):
        raise _refused(made)
    if not made.counts.pods:
        print(
            f"note: {argument}: neither policy serves a pod that is pending; --all-pods places "
            "those on nodes again, --every-pod includes the pods of other schedulers",
            file=sys.stderr,
        )
    return made


def _snapshot(args: argparse.Namespace, argument: str) -> Snapshot:
    snapshot = load_snapshot([argument])
    snapshot.now_ns = snapshot.now_ns if args.now is None else args.now
    return snapshot


def _of_journal(args: argparse.Namespace, argument: str, programs: _Programs) -> InputPlan:
    from kpolicy.offline.plan.journal_plan import journal_plan

    journal = _journal(argument)
    versions = (epoch.header.cluster_version for epoch in journal.epochs)
    old, new = programs(next(filter(None, versions), ""))
    with refusals_reported(), progress_bar(f"deciding in {argument}") as progress:
        return journal_plan(
            journal, old, new, name=argument, labels=args.by_label, progress=_counted(progress)
        )


def _journal(argument: str) -> JournalInput:
    from kpolicy.offline.journal_replay.journal_input import read_journal

    if not Path(argument).exists():
        raise CannotWorkError(f"NotReadable: {argument}: there is no such file or folder")
    journal = read_journal([argument])
    if not journal.epochs:
        raise CannotWorkError("\n".join(f"{each.code}: {each}" for each in journal.problems))
    return journal


def _counted(progress: Callable[[int, int], None] | None) -> Callable[[int], None] | None:
    """How many there will be is not known."""
    return None if progress is None else lambda decisions: progress(decisions, 0)


def _with_thresholds(plan: Plan, expressions: list[str]) -> Plan:
    from dataclasses import replace

    from kpolicy.offline.plan.plan_model import Threshold
    from kpolicy.offline.plan.thresholds import judged

    thresholds = []
    for threshold in judged(plan, expressions):
        if not isinstance(threshold, Threshold):
            raise _refused(threshold)
        thresholds.append(threshold)
    return replace(plan, thresholds=tuple(thresholds))


def _print(args: argparse.Namespace, plan: Plan) -> None:
    from kpolicy.offline.reports.plan_markdown import plan_markdown
    from kpolicy.offline.reports.plan_text import plan_text

    for name, file in args.output or [("text", "")]:
        if name == "json":
            write_document("plan", plan.line(), file)
        elif name == "jsonl":
            write_lines(_lines(plan), file)
        elif name == "markdown":
            write(plan_markdown(plan), file)
        else:
            write("".join(f"{printable(line)}\n" for line in plan_text(plan)), file)


def _lines(plan: Plan) -> Iterator[dict[str, Any]]:
    """The pods that change; the last line has the rest."""
    rest = plan.line()
    for each in rest["inputs"]:
        yield from ({"input": each["name"], **change} for change in each.pop("changes"))
    yield rest


PLAN: Final = Verb(
    "plan",
    "Show what a new policy changes over snapshots and journals: which pods are placed, parked, "
    "moved and evicted, how nodes fill, and what that costs.",
    _plan,
    (
        *OLD_AND_NEW,
        repeatable(
            "--snapshot",
            "-s",
            metavar="FILE|DIR|-",
            help=f"{SNAPSHOT_HELP}; a folder is one cluster; repeatable, each is a cluster of its "
            "own",
        ),
        repeatable(
            "--journal",
            metavar="DIR|FILE",
            help="a journal that `kpolicy run --journal` or `kpolicy snapshot record --follow` "
            "wrote; repeatable",
        ),
        NOW,
        PARAM,
        argument(
            "--all-pods",
            action="store_true",
            help="take the served pods off the nodes of snapshots, but those of DaemonSets, and "
            "place all of them again",
        ),
        every_pod("each policy's one profile"),
        NAMES_MATCHED,
        repeatable(
            "--by-label",
            metavar="KEY",
            help="count pods by this label of their nodes; repeatable (default: zone, rack, and "
            "labels of spot capacity that nodes have)",
        ),
        repeatable(
            "--column",
            metavar="NAME=label:KEY|annotation:KEY|FILE",
            help="a number that nodes have, such as cost or power, added up over the nodes in use; "
            "a FILE has lines NODE,VALUE; repeatable",
        ),
        repeatable(
            "--fail-on",
            metavar="EXPR",
            help="exit with 1 if this is true of the figures of the plan, such as 'parked > 0'; "
            "repeatable",
        ),
        BOTH_RELEASES,
        FEATURE_GATES,
        SEED,
        HTML,
        formats("text", "markdown", "json", "jsonl"),
    ),
    _EPILOG,
)
