"""Arguments of the verbs that ask a snapshot: the snapshot, and the policy.

Owns those flags, and what is said of problems on standard error. Assumes that a snapshot's problems
are values. Must not know what a verb asks.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.failure import CannotWorkError
from kpolicy.cli.param_flag import add_param_flag

if TYPE_CHECKING:
    from kpolicy.offline.snapshot import PolicyRefusedError, Snapshot
    from kpolicy.policy.assembly.program import Program

FORMATS: Final = ("table", "json")
SNAPSHOT_HELP: Final = (
    "what `kpolicy snapshot record` wrote, or objects as `kubectl get … -o json` or `-o yaml` "
    "prints them: files, folders, or - for stdin; gzip is read too"
)


def add_snapshot_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--snapshot",
        "-s",
        action="extend",
        nargs="+",
        required=True,
        metavar="FILE|DIR|-",
        help=SNAPSHOT_HELP,
    )


def add_policy_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="FILE|DIR|-",
        help="a policy, a kube-scheduler configuration, or a folder of them; repeatable "
        "(default: kube-scheduler-default, for every pending pod)",
    )
    add_deciding_flags(parser, "the policy's one profile")
    add_param_flag(parser)


def add_deciding_flags(parser: argparse.ArgumentParser, profile: str) -> None:
    """How a program decides beyond what it says. `profile`: whose may serve every pod."""
    parser.add_argument(
        "--every-pod",
        action="store_true",
        help=f"{profile} serves all pods, whatever scheduler they name",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="how ties fall (default: %(default)s)"
    )


def add_output_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", "-o", choices=FORMATS, default="table", help="(default: %(default)s)"
    )


def load_snapshot(arguments: Sequence[str]) -> Snapshot:
    """Says what could not be read, and ends if that is an argument as a whole."""
    from kpolicy.cli.progress import progress_bar
    from kpolicy.offline.snapshot import Snapshot

    with progress_bar("reading the snapshot") as progress:
        snapshot = Snapshot.load(arguments, progress=progress)
    for problem in snapshot.file_problems:
        if problem.is_of_whole_source and (problem.source in arguments or not snapshot.texts):
            raise CannotWorkError(f"{problem.code}: {problem}")
    return snapshot


def load_program(
    arguments: Sequence[str],
    *,
    every_pod: bool,
    params: Mapping[str, Any] | None = None,
    beside: Sequence[str] = (),
) -> Program | None:
    """The program, or None when the policy has errors, which are said on standard error. Policies
    `beside` it may be extended, and declare params that this one does not have."""
    from kpolicy.cli.inputs import policy_sources
    from kpolicy.cli.render import say_findings
    from kpolicy.policy.compile import compile_policy

    sources = [source for argument in arguments for source in policy_sources(argument)]
    library = [source for argument in beside for source in policy_sources(argument)]
    compiled = compile_policy(
        sources, every_pod=every_pod or not sources, params=params, library=library
    )
    if compiled.program is None:
        say_findings(compiled.diagnostics, sources)
        return None
    if every_pod and len(compiled.program.profiles) != 1:
        names = ", ".join(compiled.program.scheduler_names)
        raise CannotWorkError(f"every pod needs a policy of one profile; this one has {names}")
    if any(profile.extenders for profile in compiled.program.profiles):
        print("note: extenders of the policy are not asked offline", file=sys.stderr)
    return compiled.program


def refused(error: PolicyRefusedError) -> CannotWorkError:
    """A policy that compiles and that the engine does not take."""
    lines = [
        f"  {one.code} {one.place}: {one.message}" + (f" ({one.hint})" if one.hint else "")
        for one in error.refusals
    ]
    return CannotWorkError("\n".join(["the engine does not take this policy:", *lines]))


def say_problems(snapshot: Snapshot) -> None:
    """What is left out of every answer, on standard error; call it once an engine has read all."""
    from kpolicy.offline.limits import PROBLEMS_SHOWN_MAX, SURVEY_BYTES_MAX

    problems = list(snapshot.problems)
    if snapshot.size_bytes <= SURVEY_BYTES_MAX:
        problems += snapshot.inventory.problems
    for problem in problems[:PROBLEMS_SHOWN_MAX]:
        print(f"warning: {problem}", file=sys.stderr)
    if len(problems) > PROBLEMS_SHOWN_MAX:
        more = len(problems) - PROBLEMS_SHOWN_MAX
        print(f"warning: and {more:,} further problems of the snapshot", file=sys.stderr)


def refuse_empty(statistics: bytes, arguments: Sequence[str]) -> None:
    """Nothing that a rule reads is most likely a wrong file."""
    held = json.loads(statistics)
    if not (held["nodes"] or held["pods"] or held["objects"]):
        raise CannotWorkError(
            f"there is no pod, no node and nothing else that a rule reads in {', '.join(arguments)}"
        )
