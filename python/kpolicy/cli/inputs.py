"""Policy arguments: a file, a folder, `-`, or the name of a policy that is shipped, as sources.

Owns reading them. Assumes paths given by the user. Must not know what is in the files.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.flags import add_param_flag
from kpolicy.cli.verb import CannotWorkError
from kpolicy.policy.library import shipped_names, shipped_source
from kpolicy.policy.limits import DOCUMENT_BYTES_MAX
from kpolicy.policy.yaml.source import Source

if TYPE_CHECKING:
    from kpolicy.offline.snapshots.snapshot import PolicyRefusedError, Snapshot
    from kpolicy.policy.assembly.program import Program

_SUFFIXES: Final = (".yaml", ".yml", ".json", ".cfg")
# A folder with more policy files than this is not a folder of policies.
FILES_MAX: Final = 2_000


def policy_sources(argument: str) -> list[Source]:
    """The sources of one policy argument, in the order of names."""
    if argument == "-":
        return [Source("<stdin>", sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1))]
    path = Path(argument)
    if not path.exists() and argument in shipped_names():
        return [shipped_source(argument)]
    if path.is_dir():
        return [Source(str(file), _read(file), is_named=False) for file in _files(path)]
    return [Source(argument, _read(path))]


def _files(folder: Path) -> list[Path]:
    """Names that begin with a dot are a volume's own (`..data`), or hidden."""
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in _SUFFIXES
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.is_file()
    )
    if not found:
        raise CannotWorkError(f"there is no policy file in {folder}")
    if len(found) > FILES_MAX:
        raise CannotWorkError(f"{folder} has more than {FILES_MAX:,} policy files")
    return found


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(DOCUMENT_BYTES_MAX + 1)
    except OSError as error:
        raise CannotWorkError(f"{path} cannot be read: {error.strerror}") from error


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
    from kpolicy.cli.outputs import progress_bar
    from kpolicy.offline.snapshots.snapshot import Snapshot

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
    from kpolicy.cli.findings_text import say_findings
    from kpolicy.cli.inputs import policy_sources
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
