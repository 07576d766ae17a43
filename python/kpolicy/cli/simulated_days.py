"""`kpolicy simulate --scenario`, and the inputs that it has in common with `kpolicy sweep`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpolicy.cli.findings_text import print_findings, printable
from kpolicy.cli.input_output import (
    STDOUT,
    all_sources,
    is_journal,
    load_program,
    progress_bar,
    read_stdin,
    refusals_reported,
    write_document,
    write_errors,
    write_lines,
)
from kpolicy.cli.page_files import write_days_page
from kpolicy.cli.verb import FINE, CannotWorkError

if TYPE_CHECKING:
    from kpolicy.diagnostics import Diagnostic
    from kpolicy.offline.days.course import Course
    from kpolicy.offline.days.journal_course import JournalCourse
    from kpolicy.offline.days.read_scenario import ScenarioFile
    from kpolicy.offline.days.scenario_course import Inputs
    from kpolicy.policy.yaml.source import Source


@dataclass(frozen=True, slots=True)
class ScenarioInput:
    """A scenario with the files that it names; values may be set in it."""

    source: Source
    file: ScenarioFile
    inputs: Inputs

    @property
    def cluster_version(self) -> str:
        return self.inputs.snapshot.cluster_version if self.inputs.snapshot else ""

    def course(self, values: Mapping[str, str]) -> Course:
        from kpolicy.diagnostics import Diagnostic
        from kpolicy.offline.days.read_scenario import with_values
        from kpolicy.offline.days.scenario_course import course_of

        model = with_values(self.file, values) if values else self.file.model
        found = model if isinstance(model, Diagnostic) else course_of(self.file, model, self.inputs)
        if isinstance(found, Diagnostic):
            raise self.refused(found, values)
        return found

    def refused(self, finding: Diagnostic, values: Mapping[str, str]) -> CannotWorkError:
        if finding.place is None or values:
            hint = f"; {finding.hint}" if finding.hint else ""
            return CannotWorkError(f"{finding.code}: {finding.message}{hint}")
        print_findings([finding], [self.source])
        return CannotWorkError(f"{self.source.name} cannot be simulated")


@dataclass(frozen=True, slots=True)
class JournalDays:
    found: JournalCourse

    @property
    def cluster_version(self) -> str:
        return self.found.cluster_version

    def course(self, values: Mapping[str, str]) -> Course:
        if values:
            raise CannotWorkError("a journal has no values that can be set")
        return self.found


def load_days(argument: str) -> ScenarioInput | JournalDays:
    """The scenario of a file or of `-`, or a journal."""
    if argument != STDOUT and Path(argument).exists() and is_journal([argument]):
        return _load_journal(argument)
    from kpolicy.diagnostics import Diagnostic
    from kpolicy.offline.days.read_scenario import read_scenario
    from kpolicy.offline.days.scenario_course import read_inputs
    from kpolicy.offline.policy_files import read_source

    try:
        source = read_stdin() if argument == STDOUT else read_source(argument)
    except OSError as error:
        what = "is a folder without a journal" if Path(argument).is_dir() else error.strerror
        raise CannotWorkError(f"{argument} cannot be read: {what}") from error
    read = read_scenario(source)
    if read.diagnostics:
        print_findings(read.diagnostics, [source])
    if read.file is None:
        raise CannotWorkError(f"{source.name} is no scenario that can be simulated")
    with progress_bar("reading the files of the scenario"):
        inputs = read_inputs(read.file)
    if isinstance(inputs, Diagnostic):
        place = "" if inputs.place is None else f"{inputs.place}: "
        hint = f"; {inputs.hint}" if inputs.hint else ""
        raise CannotWorkError(f"{place}{inputs.code}: {inputs.message}{hint}")
    if inputs.snapshot is not None:
        for problem in inputs.snapshot.problems:
            print(f"warning: {problem}", file=sys.stderr)
    return ScenarioInput(source, read.file, inputs)


def _load_journal(argument: str) -> JournalDays:
    from kpolicy.offline.days.journal_course import read_course
    from kpolicy.offline.journal_replay.journal_input import read_journal
    from kpolicy.offline.snapshots.snapshot_problem import Problem

    with progress_bar("reading the journal"):
        found = read_course(read_journal([argument]))
    if isinstance(found, Problem):
        raise CannotWorkError(f"{found.code}: {found}")
    for problem in found.problems:
        print(f"warning: {problem.code}: {problem}", file=sys.stderr)
    return JournalDays(found)


def simulate_days(args: argparse.Namespace) -> int:
    from kpolicy.offline.days.virtual_days import run_days
    from kpolicy.offline.reports.days_text import days_text, samples_csv

    if args.snapshot:
        raise CannotWorkError("--scenario and --snapshot are two beginnings; give one")
    if args.plugin or args.now is not None:
        raise CannotWorkError("--plugin and --now do not go with --scenario")
    days = load_days(args.scenario)
    course = days.course({})
    program = load_program(
        args,
        all_sources(args.policy),
        every_pod=args.every_pod,
        cluster_version=days.cluster_version,
    )
    with refusals_reported(), progress_bar("simulating days") as progress:
        result = run_days(course, program, seed=args.seed, progress=progress)
    for problem in result.problems:
        print(f"warning: {problem}", file=sys.stderr)
    if args.csv:
        write_whole(args.csv, samples_csv(result.samples))
    samples: list[dict[str, Any]] = [sample.line() for sample in result.samples]
    if args.output == "json":
        write_document("days", {"samples": samples, "summary": result.summary()})
    elif args.output == "jsonl":
        write_lines([*samples, {"summary": result.summary()}])
    else:
        print("\n".join(map(printable, days_text(result))))
    if args.html is not None:
        write_days_page(args, {"samples": samples, "summary": result.summary()})
    return FINE


def write_whole(file: str, text: str) -> None:
    """Replaces the file in one step, so that nobody finds half of it."""
    from kpolicy.offline.snapshot_file.writer import replacing

    with write_errors(file), replacing(Path(file)) as stream:
        stream.write(text.encode())
