"""What verbs read and write: the policies, snapshots and programs that arguments name; standard
output, files, and a progress bar on standard error.

Problems of an input are printed on standard error. Input that cannot be used at all ends the verb.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol, TypeVar

from kpolicy.cli.findings_text import print_findings
from kpolicy.cli.verb import CannotWorkError, PolicyErrorsError, columns_of_terminal
from kpolicy.diagnostics import did_you_mean
from kpolicy.offline.policy_files import POLICY_SUFFIXES, files_in, read_source
from kpolicy.policy.limits import DOCUMENT_BYTES_MAX
from kpolicy.policy.yaml.source import Source
from kpolicy.version import DOCUMENT_VERSION

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
    from kpolicy.plugins.loading import PluginClass
    from kpolicy.policy.assembly.assemble import Program

# Another release of Kubernetes is taken than the one that was meant.
_NOT_FOLLOWED: Final = "KP609"
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
    if not path.exists() and (near := did_you_mean(argument, shipped_names())):
        raise CannotWorkError(
            f"{argument} cannot be read: there is no such file and no shipped policy; {near}"
        )
    try:
        if path.is_dir():
            return [read_source(file, is_named=False) for file in _policy_files(path)]
        return [read_source(argument)]
    except OSError as error:
        raise CannotWorkError(f"{error.filename} cannot be read: {error.strerror}") from error


def all_sources(arguments: Sequence[str]) -> list[Source]:
    return [source for argument in arguments for source in policy_sources(argument)]


def note_terminal(what: str) -> None:
    """Says that standard input is read, where a person would only see a cursor."""
    if sys.stdin is not None and sys.stdin.isatty():
        print(f"reading {what} from the terminal; ctrl-D ends it", file=sys.stderr, flush=True)


def read_stdin() -> Source:
    note_terminal("a document")
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

    if STDOUT in arguments:
        note_terminal("a snapshot")
    with progress_bar("reading the snapshot") as progress:
        snapshot = Snapshot.load(arguments, progress=progress)
    for problem in snapshot.file_problems:
        if problem.is_of_whole_source and (problem.source in arguments or not snapshot.texts):
            raise CannotWorkError(f"{problem.code}: {problem}")
    return snapshot


def is_journal(arguments: Sequence[str]) -> bool:
    """Whether the first argument is a segment of a journal, or a folder of them."""
    from kpolicy.journal.segment_format import SUFFIX, opened
    from kpolicy.offline.snapshots.snapshot_problem import Problem

    path = Path(arguments[0])
    if path.is_dir():
        path = next(iter(sorted(path.glob(f"*{SUFFIX}"))), path)
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return not isinstance(opened(str(path), stream), Problem)


def load_program(
    args: argparse.Namespace,
    sources: Sequence[Source],
    *,
    every_pod: bool,
    beside: Sequence[Source] = (),
    cluster_version: str = "",
    release: str | None = None,
    plugins: Sequence[PluginClass] = (),
) -> Program:
    """The policy, compiled with the params, the release and the gates of the flags; `release`
    stands for that of the flags. Policies `beside` it may be extended, and may declare params that
    it does not have itself. Raises `PolicyErrorsError`."""
    from kpolicy.policy.authority import with_plugins
    from kpolicy.policy.compile import compile_policy

    compiled = compile_policy(
        sources,
        every_pod=every_pod or not sources,
        params=dict(args.param),
        library=beside,
        release=args.release if release is None else release,
        authority=with_plugins(plugin.name for plugin in plugins),
        cluster_version=cluster_version,
        feature_gates=args.feature_gates,
    )
    program = compiled.program
    if program is None:
        print_findings(compiled.diagnostics, sources)
        raise PolicyErrorsError
    if every_pod and len(program.profiles) != 1:
        names = ", ".join(program.scheduler_names)
        raise CannotWorkError(f"every pod needs a policy of one profile; this one has {names}")
    for finding in compiled.diagnostics:
        if finding.code == _NOT_FOLLOWED:
            print(f"note: {finding.message}; {finding.hint}", file=sys.stderr)
    if any(profile.extenders for profile in program.profiles):
        print("note: extenders of the policy are not asked offline", file=sys.stderr)
    return program


def load_plugins(args: argparse.Namespace) -> tuple[PluginClass, ...]:
    """The plugins of the flags."""
    if not args.plugin:
        return ()
    from kpolicy.plugins import loading

    found = loading.load_plugins(args.plugin, of_packages=False)
    if isinstance(found, tuple):
        return found
    raise CannotWorkError(str(found))


@contextmanager
def plugins_reported() -> Iterator[None]:
    """Reports a plugin that is a class but that cannot be made."""
    try:
        yield
    except ValueError as error:
        from kpolicy.offline.answers.plugged_decisions import PluginNotMadeError

        if isinstance(error, PluginNotMadeError):
            raise CannotWorkError(str(error)) from error
        raise


class _Asked(Protocol):
    @property
    def statistics(self) -> bytes: ...


_A = TypeVar("_A", bound=_Asked)


def ask_engine(
    args: argparse.Namespace,
    ask: Callable[[Snapshot, Program], _A],
    held: Snapshot | None = None,
    plugins: Sequence[PluginClass] = (),
) -> _A:
    """Loads the policy and the snapshot of `flags.DECISION` and hands them to `ask`, which puts
    both into an engine; `held` is a snapshot that is there already. Refuses a snapshot in which
    rules find nothing to read. `plugins` are those that the policy may name."""
    snapshot = held or load_snapshot(args.snapshot)
    snapshot.now_ns = snapshot.now_ns if args.now is None else args.now
    program = load_program(
        args,
        all_sources(args.policy),
        every_pod=args.every_pod,
        cluster_version=snapshot.cluster_version,
        plugins=plugins,
    )
    with refusals_reported():
        asked = ask(snapshot, program)
    print_problems(snapshot)
    sizes = json.loads(asked.statistics)
    if not (sizes["nodes"] or sizes["pods"] or sizes["objects"]):
        where = ", ".join(args.snapshot) or "the cluster"
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


STDOUT: Final = "-"
_BAR_DELAY_S: Final = 1.0


def is_color(choice: str = "auto") -> bool:
    """Whether standard output gets colours. `choice`: what `--color` says."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def write_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWorkError(f"{path} cannot be written: {error.strerror or error}") from error


def write(text: str, file: str) -> None:
    """Writes to `file`, or to standard output if it is empty."""
    if file:
        write_back(Path(file), text.encode())
        return
    sys.stdout.write(text)
    sys.stdout.flush()  # so that it comes before what standard error gets


def write_back(path: Path, text: bytes) -> None:
    with write_errors(path):
        path.write_bytes(text)


def write_document(kind: str, fields: Mapping[str, Any], file: str = "") -> None:
    """One JSON document: `version` and `kind` say which schema holds (`kpolicy schema --kind
    Output`)."""
    document = {"version": DOCUMENT_VERSION, "kind": kind, **fields}
    write(json.dumps(document, ensure_ascii=False, indent=2) + "\n", file)


def write_lines(lines: Iterable[Mapping[str, Any]], file: str = "") -> None:
    """JSON objects, one on each line."""
    write("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), file)


def write_list(
    kind: str, key: str, lines: Iterable[bytes | memoryview], rest: Callable[[], str] = str
) -> None:
    """A document with a long list, written as its items come; `rest`: further fields as JSON."""
    put = bytes_out()
    put(f'{{"version": {DOCUMENT_VERSION}, "kind": "{kind}", "{key}": ['.encode())
    for index, line in enumerate(lines):
        put(b",\n" if index else b"\n")
        put(line)
    put(f"\n]{rest()}}}\n".encode())
    sys.stdout.flush()


def bytes_out() -> Callable[[bytes | memoryview], object]:
    """Writes to standard output what is UTF-8 already: lines of an explanation have megabytes."""
    sys.stdout.flush()
    buffer: BinaryIO | None = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # text in memory
        return lambda text: sys.stdout.write(bytes(text).decode())
    return buffer.write


def text_width() -> int:
    """The columns of the terminal, or what COLUMNS says."""
    return columns_of_terminal(100)


def for_terminal(lines: Iterable[str]) -> list[str]:
    """Lines of text that are not wider than the terminal, or than COLUMNS; a pipe gets them as
    they are."""
    from kpolicy.offline.reports.columns import folded

    if not (sys.stdout.isatty() or os.environ.get("COLUMNS")):
        return list(lines)
    width = text_width()
    return [part for line in lines for part in folded(line, width)]


def difference(old: str, new: str, old_name: str, new_name: str) -> str:
    """A unified diff; empty if the texts are equal."""
    from difflib import unified_diff

    lines = unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), old_name, new_name
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def refuse_terminal(destination: str) -> None:
    if destination == STDOUT and sys.stdout.isatty():
        raise CannotWorkError("a snapshot is not for a terminal; `-o FILE`, or a pipe")


@contextmanager
def written(destination: str) -> Iterator[tuple[BinaryIO, Path | None]]:
    """The stream of a snapshot, and the folder of its file, for large temporary files."""
    from kpolicy.offline.snapshot_file.writer import replacing

    with write_errors(destination):
        if destination == STDOUT:
            yield sys.stdout.buffer, None
            sys.stdout.buffer.flush()
            return
        path = Path(destination)
        with replacing(path) as stream:
            yield stream, path.absolute().parent


class _Bar:
    """Appears after a delay, so that quick work shows no bar. Has no end until a total is known."""

    def __init__(self, title: str, delay_s: float) -> None:
        self._title = title
        self._lock = Lock()
        self._shown: tuple[Progress, TaskID] | None = None
        self._is_over = False
        self._timer = Timer(delay_s, self._show)
        self._timer.daemon = True
        self._timer.start()

    def __call__(self, done: int, total: int) -> None:
        with self._lock:
            if self._shown is not None:
                bar, task = self._shown
                bar.update(task, completed=done, total=total)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        with self._lock:
            if self._is_over:
                return
            bar = Progress(console=Console(stderr=True), transient=True)
            self._shown = bar, bar.add_task(self._title, total=None)
            bar.start()

    def stop(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._shown is not None:
                self._shown[0].stop()


@contextmanager
def progress_bar(
    title: str, delay_s: float = _BAR_DELAY_S
) -> Iterator[Callable[[int, int], None] | None]:
    """Gives a function that takes how much is done and how much there is, or None if standard error
    is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(title, delay_s)
    try:
        yield bar
    finally:
        bar.stop()
