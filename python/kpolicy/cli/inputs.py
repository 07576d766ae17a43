"""The inputs that arguments name: policies, snapshots and programs.

Problems of an input are printed on standard error. Input that cannot be used at all ends the verb.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from kpolicy.cli.findings_text import print_findings
from kpolicy.cli.outputs import progress_bar
from kpolicy.cli.verb import CannotWorkError, PolicyErrorsError
from kpolicy.offline.input_files import POLICY_SUFFIXES, files_in, read_source
from kpolicy.policy.limits import DOCUMENT_BYTES_MAX
from kpolicy.policy.yaml.source import Source

if TYPE_CHECKING:
    from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
    from kpolicy.policy.assembly.assemble import Program

# A folder with more policy files than this is not a folder of policies.
FILES_MAX: Final = 2_000


def policy_sources(argument: str) -> list[Source]:
    """The sources of a file, of a folder in the order of names, of `-`, or of a shipped policy."""
    from kpolicy.policy.compile import shipped_names, shipped_source

    if argument == "-":
        return [read_stdin()]
    path = Path(argument)
    if not path.exists() and argument in shipped_names():
        return [shipped_source(argument)]
    try:
        if path.is_dir():
            return [read_source(file, is_named=False) for file in _policy_files(path)]
        return [read_source(argument)]
    except OSError as error:
        raise CannotWorkError(f"{error.filename} cannot be read: {error.strerror}") from error


def all_sources(arguments: Sequence[str]) -> list[Source]:
    return [source for argument in arguments for source in policy_sources(argument)]


def read_stdin() -> Source:
    return Source("<stdin>", sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1))


def _policy_files(folder: Path) -> list[Path]:
    found = files_in(folder, POLICY_SUFFIXES)
    if not found:
        raise CannotWorkError(f"there is no policy file in {folder}")
    if len(found) > FILES_MAX:
        raise CannotWorkError(f"{folder} has more than {FILES_MAX:,} policy files")
    return found


def load_snapshot(arguments: Sequence[str]) -> Snapshot:
    """Raises `CannotWorkError` if an argument as a whole cannot be read."""
    from kpolicy.offline.snapshots.cluster_snapshot import Snapshot

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
) -> Program:
    """The compiled policy. Policies `beside` it may be extended, and may declare params that it
    does not have itself. Raises `PolicyErrorsError`."""
    from kpolicy.policy.compile import compile_policy

    sources = all_sources(arguments)
    compiled = compile_policy(
        sources, every_pod=every_pod or not sources, params=params, library=all_sources(beside)
    )
    program = compiled.program
    if program is None:
        print_findings(compiled.diagnostics, sources)
        raise PolicyErrorsError
    if every_pod and len(program.profiles) != 1:
        names = ", ".join(program.scheduler_names)
        raise CannotWorkError(f"every pod needs a policy of one profile; this one has {names}")
    if any(profile.extenders for profile in program.profiles):
        print("note: extenders of the policy are not asked offline", file=sys.stderr)
    return program


class _Asked(Protocol):
    @property
    def statistics(self) -> bytes: ...


_A = TypeVar("_A", bound=_Asked)


def ask_engine(args: argparse.Namespace, ask: Callable[[Snapshot, Program], _A]) -> _A:
    """Loads the policy and the snapshot of `flags.DECISION` and hands them to `ask`, which puts
    both into an engine. Refuses a snapshot in which rules find nothing to read."""
    program = load_program(args.policy, every_pod=args.every_pod, params=dict(args.param))
    snapshot = load_snapshot(args.snapshot)
    with refusals_reported():
        asked = ask(snapshot, program)
    print_problems(snapshot)
    held = json.loads(asked.statistics)
    if not (held["nodes"] or held["pods"] or held["objects"]):
        where = ", ".join(args.snapshot)
        raise CannotWorkError(
            f"there is no pod, no node and nothing else that a rule reads in {where}"
        )
    return asked


@contextmanager
def refusals_reported() -> Iterator[None]:
    """Reports a policy that compiles but that the engine does not accept."""
    from kpolicy.offline.snapshots.cluster_snapshot import PolicyRefusedError

    try:
        yield
    except PolicyRefusedError as error:
        lines = [
            f"  {refusal.code} {refusal.place}: {refusal.message}"
            + (f" ({refusal.hint})" if refusal.hint else "")
            for refusal in error.refusals
        ]
        message = "\n".join(["the engine does not take this policy:", *lines])
        raise CannotWorkError(message) from error


def print_problems(snapshot: Snapshot) -> None:
    """Prints what no answer takes into account. Call it once an engine has read the snapshot."""
    from kpolicy.offline.limits import PROBLEMS_SHOWN_MAX, SURVEY_BYTES_MAX

    problems = list(snapshot.problems)
    if snapshot.size_bytes <= SURVEY_BYTES_MAX:
        problems += snapshot.inventory.problems
    for problem in problems[:PROBLEMS_SHOWN_MAX]:
        print(f"warning: {problem}", file=sys.stderr)
    if len(problems) > PROBLEMS_SHOWN_MAX:
        more = len(problems) - PROBLEMS_SHOWN_MAX
        print(f"warning: and {more:,} further problems of the snapshot", file=sys.stderr)
