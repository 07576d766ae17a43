"""`kpolicy test`: says whether policies decide as their tests say."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kpolicy.cli.input_output import (
    all_sources,
    is_color,
    load_plugins,
    plugins_reported,
    progress_bar,
    read_stdin,
    write,
    write_back,
)
from kpolicy.cli.verb import (
    CLUSTER,
    FINDINGS,
    FINE,
    FOLLOWED,
    PARAM,
    PLUGINS,
    CannotWorkError,
    Verb,
    argument,
    formats,
    named_value,
    repeatable,
    whole_number,
)

if TYPE_CHECKING:
    from kpolicy.offline.policy_tests.results import PolicyTestRun
    from kpolicy.offline.policy_tests.session import Session
    from kpolicy.policy.yaml.source import Source

_EPILOG: Final = """\
A test file has documents of kind PolicyTest. In a folder, the files *.test.yaml are read. Paths in
a test file are relative to it. `kpolicy schema --kind PolicyTest` prints the fields of a test.

With --cross-check, cel-python also evaluates the rules, on the first 16 nodes of each test. A known
difference is printed with the clause of the CEL specification that decides it. An unknown
difference fails the test.

With --record, the decision of --policy about a pod of a snapshot becomes a test: `kpolicy test
--record web.test.yaml --snapshot cluster.kpsnap --pod shop/web-0 --policy gpu-pools`. The pod is
decided as if it were pending. The document is added to the file, after its test has passed. With
--expect, the test says what should have been decided instead, and fails until the policy does so.

exit: 0 all tests passed, 1 a test failed or coverage is too low, 2 could not work
"""


def _pattern(written: str) -> str:
    try:
        re.compile(written)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"not a regular expression: {error}") from error
    return written


def _percentage(written: str) -> float:
    try:
        percentage = float(written.removesuffix("%"))
    except ValueError:
        percentage = -1.0
    if not 0 <= percentage <= 100:
        raise argparse.ArgumentTypeError("from 0 to 100")
    return percentage


def _main(args: argparse.Namespace) -> int:
    if args.record:
        from kpolicy.cli.verbs.test_record import record

        return record(args)
    if args.snapshot or args.live or args.pod or args.name or args.expect:
        raise CannotWorkError("--snapshot, --live, --pod, --name, --expect go with --record FILE")
    if args.watch:
        return _watch(args)
    run = _run(args, _session(args))
    if args.update:
        _print_unchanged(run)
    _print(args, run)
    return FINE if run.is_fine else FINDINGS


def _session(args: argparse.Namespace) -> Session:
    from kpolicy.offline.policy_tests.session import Choice, Session

    choice = Choice(
        run=args.run_pattern,
        fail_fast=args.fail_fast,
        jobs=args.jobs,
        coverage_minimum=args.coverage_min,
        policies=tuple(all_sources(args.policy)) if args.policy else None,
        params=dict(args.param),
        cross_check=args.cross_check,
        release=args.release,
        feature_gates=args.feature_gates,
        plugins=load_plugins(args),
    )
    session = Session([source for path in args.paths for source in _sources(path)], choice)
    if args.run_pattern and not session.chosen_count:
        raise CannotWorkError(f"no test has a name that contains `{args.run_pattern}`")
    return session


def _sources(path: str) -> Sequence[Source]:
    from kpolicy.offline.policy_tests.session import sources_of

    if path == "-":
        return [read_stdin()]
    try:
        found = sources_of([path])
    except OSError as error:
        raise CannotWorkError(f"{path} cannot be read: {error.strerror}") from error
    if not found:
        raise CannotWorkError(f"there is no test file (*.test.yaml) in {path}")
    return found


def _run(args: argparse.Namespace, session: Session) -> PolicyTestRun:
    """Runs the tests, and again if `--update` wrote a file."""
    run = _run_once(session)
    return _run_once(_session(args)) if args.update and _update(run) else run


def _run_once(session: Session) -> PolicyTestRun:
    done = 0
    with progress_bar("running the tests") as progress:

        def count(*_: object) -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress(done, session.chosen_count)

        with plugins_reported():
            return session.run(count)


def _print(args: argparse.Namespace, run: PolicyTestRun) -> None:
    from kpolicy.cli import policy_test_text

    for name, file in args.output or [("text", "")]:
        if name == "text":
            text = policy_test_text.text(run, is_color=not file and is_color(args.color))
        elif name == "junit":
            # XML of the standard library loads an HTTP client.
            from kpolicy.cli.policy_test_junit import junit

            text = junit(run)
        else:
            text = policy_test_text.DOCUMENTS[name](run)
        write(text, file)


def _update(run: PolicyTestRun) -> bool:
    """Writes the observed values, says how many each file got, and returns whether there were
    any."""
    from kpolicy.offline.policy_tests.results import rewrites, updated

    found = rewrites(run.suites)
    for file, edits in found.items():
        path = Path(file)
        if not path.is_file():
            print(f"{file} is not a file, so nothing is written", file=sys.stderr)
            continue
        text, count = updated(run.texts[file].text, edits)
        write_back(path, text.encode())
        print(f"{file}: {count} {'value' if count == 1 else 'values'} written", file=sys.stderr)
    return bool(found)


def _print_unchanged(run: PolicyTestRun) -> None:
    """Says how many failed expectations `--update` cannot rewrite."""
    count = sum(
        mismatch.rewrite is None and not mismatch.is_soft
        for _, test in run.tests()
        for mismatch in test.mismatches
    )
    if count:
        what = "1 expectation is" if count == 1 else f"{count} expectations are"
        print(f"{what} left: a range, a pattern or an error is yours to change", file=sys.stderr)


def _watch(args: argparse.Namespace) -> int:
    """Runs the tests again whenever a file changes, until interrupted."""
    files: list[str] = list(args.paths)
    for _ in changes(files):
        try:
            session = _session(args)
            files[:] = [*args.paths, *session.files]
            _print(args, _run(args, session))
        except CannotWorkError as failure:
            print(f"kpolicy: {failure}", file=sys.stderr)
        sys.stdout.flush()
    return FINE


def changes(files: Sequence[str]) -> Iterator[None]:
    """Yields once, then whenever one of `files`, which may grow, has changed. Never ends."""
    from kpolicy.offline.limits import WATCH_SECONDS

    seen = _file_states(files)
    while True:
        yield
        # A file that changed during the run counts as changed, a file that is new in the list not.
        now = _file_states(files)
        seen = now | {name: seen[name] for name in seen if name in now}
        while (now := _file_states(files)) == seen:
            time.sleep(WATCH_SECONDS)
        seen = now


def _file_states(files: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """Time, size and inode of each file. A mounted volume replaces files, so the inode counts."""
    states = {}
    for name in files:
        path = Path(name)
        for file in [path, *(path.rglob("*.yaml") if path.is_dir() else ())]:
            try:
                status = file.stat()
            except OSError:
                continue
            states[str(file)] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return states


TEST: Final = Verb(
    "test",
    "Run tests of policies: a test has a cluster, pods, and what is expected for each pod.",
    _main,
    (
        argument("paths", nargs="*", metavar="FILE|DIR|-", default=["."]),
        argument(
            "--run",
            dest="run_pattern",
            default="",
            metavar="REGEX",
            type=_pattern,
            help="run only tests whose name (DOCUMENT/TEST) matches",
        ),
        argument("--fail-fast", "-x", action="store_true", help="stop at the first failure"),
        argument(
            "--jobs",
            "-j",
            type=whole_number(1),
            default=1,
            metavar="N",
            help="how many processes run the tests (default: %(default)s)",
        ),
        argument(
            "--coverage-min",
            type=_percentage,
            metavar="PERCENT",
            help="fail if the coverage is lower, whatever the documents require",
        ),
        repeatable(
            "--policy",
            metavar="FILE|DIR",
            help="test this policy instead of those that the documents name; repeatable",
        ),
        PARAM,
        *FOLLOWED,
        PLUGINS,
        argument(
            "--update",
            action="store_true",
            help="replace expectations that failed by the actual results",
        ),
        argument(
            "--record",
            default="",
            metavar="FILE",
            help="run no test: write one to FILE, of the decision about --pod",
        ),
        repeatable(
            "--snapshot",
            "-s",
            metavar="FILE|DIR",
            help="for --record: a recorded cluster; repeatable",
        ),
        argument(
            "--live",
            action="store_true",
            help="for --record: record the cluster of kubectl's flags first, in a file beside FILE",
        ),
        *CLUSTER,
        argument("--pod", default="", metavar="NS/NAME", help="for --record: the pod to decide"),
        argument("--name", default="", metavar="TEXT", help="for --record: the name of the test"),
        repeatable(
            "--expect",
            metavar="FIELD=JSON",
            type=named_value,
            help="for --record: what should have been decided, as a field of `expect`, such as "
            "node=worker-1; the test need not pass yet; repeatable",
        ),
        argument(
            "--cross-check",
            action="store_true",
            help="compare the rules with the results of cel-python",
        ),
        argument("--watch", action="store_true", help="run again whenever a file changes"),
        formats("text", "json", "jsonl", "junit", "github"),
    ),
    _EPILOG,
)
