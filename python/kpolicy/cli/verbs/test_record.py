"""`kpolicy test --record`: writes a case from a decision about a recorded cluster."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kpolicy.cli.input_output import (
    all_sources,
    load_program,
    load_snapshot,
    refusals_reported,
    write_back,
)
from kpolicy.cli.verb import FINE, CannotWorkError


def record(args: argparse.Namespace) -> int:
    """Appends a document to the file, after its test has passed; with --expect, it may fail."""
    if bool(args.snapshot) == args.live or not args.pod:
        raise CannotWorkError("--record needs --pod NS/NAME, and --snapshot FILE or --live")
    if "-" in (*args.snapshot, *args.policy):
        raise CannotWorkError("a test names its files, so none of them can be standard input")
    if not args.live:
        return _record(args, args.snapshot)
    snapshot = _recorded_now(args)
    try:
        return _record(args, [str(snapshot)])
    except CannotWorkError:
        snapshot.unlink()
        raise


def _record(args: argparse.Namespace, files: Sequence[str]) -> int:
    from kpolicy.offline.answers.pod_decisions import Explaining
    from kpolicy.offline.policy_tests.recorded_case import CaseInputs, recorded_case

    snapshot = load_snapshot(files)
    program = load_program(
        args,
        all_sources(args.policy),
        every_pod=True,
        cluster_version=snapshot.cluster_version,
    )
    with refusals_reported():
        work = Explaining(snapshot, program)
    explained = [json.loads(line) for line in work.lines_of([args.pod])]
    if not explained:
        raise CannotWorkError("\n".join(map(str, work.not_explained)))
    file = Path(args.record)
    inputs = CaseInputs(
        [_beside(file, policy) for policy in args.policy],
        [_beside(file, name) for name in files],
        params=dict(args.param),
    )
    text = recorded_case(explained[0], inputs, args.name, dict(args.expect))
    passes = _append(file, text, args)
    fails = "" if passes else "; the test fails until the policy decides as it expects"
    print(f"recorded {explained[0]['pod']} in {file}{fails}", file=sys.stderr)
    return FINE


def _recorded_now(args: argparse.Namespace) -> Path:
    """The file beside the test that has the cluster as it is."""
    from kpolicy.cli.verbs.snapshot import record_cluster
    from kpolicy.recorder.record import RECORDED

    file = Path(args.record)
    snapshot = file.with_name(f"{file.name.partition('.')[0]}.kpsnap")
    if snapshot.exists():
        raise CannotWorkError(f"{snapshot} is there already; give it with --snapshot")
    record_cluster(args, str(snapshot), list(RECORDED), skip_forbidden=True)
    return snapshot


def _beside(file: Path, name: str) -> str:
    """The path as the test file names it; the name of a shipped policy stays."""
    return os.path.relpath(name, file.parent) if Path(name).exists() else name


def _append(file: Path, text: str, args: argparse.Namespace) -> bool:
    """Writes the document if the file has no other of its name, and its test passes or expects
    what --expect says. Returns whether it passes."""
    from kpolicy.offline.policy_tests.session import Choice, Session
    from kpolicy.policy.yaml.source import Source

    choice = Choice(release=args.release, feature_gates=args.feature_gates)
    run = Session([Source(str(file), text)], choice).run()
    passes = bool(run.passed) and not run.failed
    of_tests = (found for _, test in run.tests() for found in test.diagnostics)
    diagnostics = (*run.all_diagnostics(), *of_tests)
    if diagnostics or not (passes or args.expect):
        why = "; ".join(found.message for found in diagnostics) or "its test fails"
        raise CannotWorkError(f"the case cannot be written: {why}")
    before = ""
    if file.exists():
        try:
            before = file.read_text("utf-8").rstrip("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise CannotWorkError(f"{file} cannot be read: {error}") from error
        name = next(line for line in text.splitlines() if line.startswith("  name: "))
        if name in before.splitlines():
            raise CannotWorkError(
                f"{file} has a document of this{name.replace('  name', ' name')} already; "
                "record into another file, or use --update"
            )
    write_back(file, (f"{before}\n---\n{text}" if before else text).encode())
    return passes
