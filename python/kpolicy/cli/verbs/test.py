"""`kpolicy test`: whether policies decide as their tests say.

Owns the verb's flags, watching, writing what was got, and the exit code. Running is
`kpolicy.offline.policy_tests`, layouts are `render_tests*.py`.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.flags import add_outputs_flag, add_param_flag
from kpolicy.cli.verb import CannotWorkError
from kpolicy.offline.limits import WATCH_SECONDS

if TYPE_CHECKING:
    from kpolicy.offline.policy_tests.results import PolicyTestRun
    from kpolicy.offline.policy_tests.session import Session
    from kpolicy.policy.yaml.source import Source

_FORMATS: Final = ("text", "json", "junit", "github")
_EPILOG: Final = """\
Test files are documents of kind PolicyTest; of a folder, those named *.test.yaml. Paths in them are
from the file's own folder. `kpolicy schema --kind PolicyTest` prints what may be written.

exit: 0 all hold, 1 a test failed or coverage is too low, 2 could not work
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "test",
        help="run the tests of policies",
        description="Run tests of policies: pods, the cluster they come to, and what must become "
        "of them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="FILE|DIR|-", default=["."])
    parser.add_argument(
        "--run",
        default="",
        metavar="REGEX",
        type=_pattern,
        help="only tests whose name, as document/test, contains this",
    )
    parser.add_argument("--fail-fast", "-x", action="store_true", help="stop at the first failure")
    parser.add_argument(
        "--jobs", "-j", type=_jobs, default=1, metavar="N", help="processes (default: %(default)s)"
    )
    parser.add_argument(
        "--coverage-min",
        type=_percentage,
        default=None,
        metavar="PERCENT",
        help="fail below this coverage, whatever the documents ask for",
    )
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="FILE|DIR",
        help="test these policies instead of those that the documents name; repeatable",
    )
    add_param_flag(parser)
    parser.add_argument(
        "--update", action="store_true", help="write what was got in place of what was expected"
    )
    parser.add_argument("--watch", action="store_true", help="run again whenever a file changes")
    add_outputs_flag(parser, _FORMATS)


def _pattern(written: str) -> str:
    try:
        re.compile(written)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"no regular expression: {error}") from error
    return written


def _jobs(written: str) -> int:
    if not written.isdigit() or int(written) < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return int(written)


def _percentage(written: str) -> float:
    try:
        percentage = float(written.removesuffix("%"))
    except ValueError:
        percentage = -1.0
    if not 0 <= percentage <= 100:
        raise argparse.ArgumentTypeError("from 0 to 100")
    return percentage


def main(args: argparse.Namespace) -> int:
    if args.watch:
        return _watched(args)
    session = _session(args)
    run = _run(session)
    if args.update:
        if _updated(run):
            run = _run(_session(args))
        _say_what_is_left(run)
    _show(run, args.output or [("text", "")])
    return 0 if run.is_fine else 1


def _session(args: argparse.Namespace) -> Session:
    from kpolicy.cli.inputs import policy_sources
    from kpolicy.offline.policy_tests.session import Choice, Session

    policies = [source for path in args.policy for source in policy_sources(path)]
    choice = Choice(
        run=args.run,
        fail_fast=args.fail_fast,
        jobs=args.jobs,
        coverage_minimum=args.coverage_min,
        policies=tuple(policies) if args.policy else None,
        params=dict(args.param),
    )
    session = Session(_sources(args.paths), choice)
    chosen = sum(len(session.chosen(suite)) for suite in session.read.suites)
    if args.run and not chosen:
        raise CannotWorkError(f"no test has a name that contains `{args.run}`")
    return session


def _sources(paths: Sequence[str]) -> list[Source]:
    from kpolicy.offline.policy_tests.session import sources_of
    from kpolicy.policy.limits import DOCUMENT_BYTES_MAX
    from kpolicy.policy.yaml.source import Source

    sources: list[Source] = []
    for path in paths:
        if path == "-":
            text = sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1)
            sources.append(Source("<stdin>", text))
            continue
        try:
            found = sources_of([path])
        except OSError as error:
            raise CannotWorkError(f"{path} cannot be read: {error.strerror}") from error
        if not found:
            raise CannotWorkError(f"there is no test file (*.test.yaml) in {path}")
        sources += found
    return sources


def _run(session: Session) -> PolicyTestRun:
    from kpolicy.cli.outputs import progress_bar

    total = sum(len(session.chosen(suite)) for suite in session.read.suites)
    done = 0
    with progress_bar("running the tests") as progress:

        def told(*_: object) -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress(done, total)

        return session.run(told)


def _show(run: PolicyTestRun, outputs: Iterable[tuple[str, str]]) -> None:
    from kpolicy.cli import policy_test_text
    from kpolicy.cli.outputs import is_color, write

    for name, file in outputs:
        match name:
            case "json":
                text = policy_test_text.json_document(run)
            case "junit":
                text = policy_test_text.junit(run)
            case "github":
                text = policy_test_text.github(run)
            case _:
                text = policy_test_text.text(run, is_color=not file and is_color())
        write(text, file)


def _updated(run: PolicyTestRun) -> bool:
    """Writes the files; says how many values of each."""
    from kpolicy.offline.policy_tests.results import rewrites, updated

    found = rewrites(run.suites)
    for file, listed in found.items():
        path = Path(file)
        if not path.is_file():
            print(f"{file} is not a file, so nothing is written", file=sys.stderr)
            continue
        text, count = updated(run.texts[file].text, listed)
        write_back(path, text)
        print(f"{file}: {count} {'value' if count == 1 else 'values'} written", file=sys.stderr)
    return bool(found)


def _say_what_is_left(run: PolicyTestRun) -> None:
    left = sum(
        one.rewrite is None and not one.is_soft
        for suite in run.suites
        for test in suite.tests
        for one in test.mismatches
    )
    if left:
        what = "1 expectation is" if left == 1 else f"{left} expectations are"
        print(f"{what} left: a range, a pattern or an error is yours to change", file=sys.stderr)


def write_back(path: Path, text: str) -> None:
    """As it was: bytes that the text was decoded from, with their line ends."""
    try:
        path.write_bytes(text.encode("utf-8"))
    except OSError as error:
        raise CannotWorkError(f"{path} cannot be written: {error.strerror}") from error


def _watched(args: argparse.Namespace) -> int:
    """Until interrupted; what cannot work now may later."""
    from kpolicy.cli.verbs.test import changes

    files: list[str] = list(args.paths)
    for _ in changes(files):
        try:
            session = _session(args)
            files[:] = [*args.paths, *session.files]
            run = _run(session)
            if args.update and _updated(run):
                run = _run(_session(args))
            _show(run, args.output or [("text", "")])
        except CannotWorkError as failure:
            print(f"kpolicy: {failure}", file=sys.stderr)
        sys.stdout.flush()
    return 0


_Seen = dict[str, tuple[int, int, int]]


def changes(files: Sequence[str]) -> Iterator[None]:
    """Once at first, then whenever something of `files`, which may grow, is another; never ends."""
    seen = _look(files)
    while True:
        yield
        # What changed meanwhile is a change; what is known only now is not.
        seen = {**(now := _look(files)), **{name: seen[name] for name in seen if name in now}}
        while (now := _look(files)) == seen:
            time.sleep(WATCH_SECONDS)
        seen = now


def _look(files: Sequence[str]) -> _Seen:
    seen: _Seen = {}
    for name in files:
        path = Path(name)
        for one in [path, *(path.rglob("*.yaml") if path.is_dir() else ())]:
            try:
                status = one.stat()
            except OSError:
                continue
            seen[str(one)] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return seen
