"""`run_tests`: from paths or sources to results, in one process or several.

Owns which tests are chosen, when to stop, and how work is shared. Assumes that a suite's results do
not depend on each other. Must not know how results are shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from kpolicy.diagnostics import Diagnostic
from kpolicy.offline.limits import JOBS_MAX, TESTS_A_JOB_MIN
from kpolicy.offline.policy_tests.coverage import merged
from kpolicy.offline.policy_tests.results import PolicyTestRun, SuiteResult, TestResult
from kpolicy.offline.policy_tests.suite_inputs import TEST_SUFFIXES, Inputs, load_inputs
from kpolicy.offline.policy_tests.suite_run import SuiteRun
from kpolicy.offline.policy_tests.suites import (
    ReadSuites,
    Suite,
    holds_only_tests,
    holds_tests,
    read_suites,
)
from kpolicy.policy.limits import DOCUMENT_BYTES_MAX
from kpolicy.policy.yaml.source import Source, SourceText

# Called with each test as it ends.
Listener = Callable[[Suite, TestResult], None]


@dataclass(frozen=True, slots=True)
class Choice:
    """`run` is searched for in `document/test`; `policies` come instead of those of documents."""

    run: str = ""
    fail_fast: bool = False
    jobs: int = 1
    coverage_minimum: float | None = None
    policies: tuple[Source, ...] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


def run_tests(
    tests: Iterable[str | Path | Source] | str | Path | Source,
    *,
    run: str = "",
    fail_fast: bool = False,
    jobs: int = 1,
    coverage_minimum: float | None = None,
    policies: Sequence[Source] | None = None,
    params: Mapping[str, Any] | None = None,
) -> PolicyTestRun:
    """Run the tests of files and folders (`*.test.yaml` of a folder), or of sources.

    `run` is a regular expression for the names of tests (`document/test`); `policies` are tested
    instead of those that the documents name. Raises `OSError` for a file that cannot be read."""
    listed = [tests] if isinstance(tests, (str, Path, Source)) else list(tests)
    chosen = tuple(policies) if policies is not None else None
    choice = Choice(run, fail_fast, jobs, coverage_minimum, chosen, params or {})
    return Session(sources_of(listed), choice).run()


def sources_of(listed: Iterable[str | Path | Source]) -> list[Source]:
    """Sources of test files, those of a folder in the order of names."""
    sources: list[Source] = []
    for one in listed:
        if isinstance(one, Source):
            sources.append(one)
            continue
        path = Path(one)
        sources += [
            Source(str(file), _read(file)) for file in (files_of(path) if path.is_dir() else [path])
        ]
    return sources


def files_of(folder: Path) -> list[Path]:
    """Names that begin with a dot are hidden."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.name.endswith(TEST_SUFFIXES)
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.is_file()
    )


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(DOCUMENT_BYTES_MAX + 1)


class Session:
    """One run over some sources; `files` are all that was read for it."""

    def __init__(self, sources: Sequence[Source], choice: Choice) -> None:
        self.choice = choice
        self.read: ReadSuites = read_suites(sources)
        self._pattern = re.compile(choice.run)
        self._inputs = [load_inputs(suite, choice.policies) for suite in self.read.suites]
        if choice.params:
            every = tuple({one for inputs in self._inputs for one in inputs.policies})
            self._inputs = [replace(one, others=every) for one in self._inputs]
        own = [source.name for source in sources]
        self.files = tuple(
            dict.fromkeys([*own, *(file for one in self._inputs for file in one.files)])
        )

    def run(self, listener: Listener | None = None) -> PolicyTestRun:
        is_shared = min(self.choice.jobs, JOBS_MAX) > 1 and len(self._tasks()) > 1
        suites = self._in_processes(listener) if is_shared else self._here(listener)
        united = merged(
            (one for suite in suites for one in suite.coverage), self.choice.coverage_minimum
        )
        ran = sum(len(suite.tests) for suite in suites)
        left_out = sum(len(suite.model.tests) for suite in self.read.suites) - ran
        if left_out:
            united = tuple(replace(one, minimum=None) for one in united)
        texts = {text.name: text for text in self.read.texts} | self._policy_texts()
        return PolicyTestRun(tuple(suites), self.read.diagnostics, united, texts, left_out)

    def _policy_texts(self) -> dict[str, SourceText]:
        sources = {source.name: source.text for one in self._inputs for source in one.policies}
        return {
            name: SourceText(
                name, text if isinstance(text, str) else text.decode("utf-8", "replace")
            )
            for name, text in sources.items()
        }

    def _concerns(self, suite: Suite) -> bool:
        """Documents of which no test is chosen are passed over."""
        return bool(self.chosen(suite)) or not suite.model.tests

    def chosen(self, suite: Suite) -> list[int]:
        return [
            index
            for index, test in enumerate(suite.model.tests)
            if self._pattern.search(f"{suite.name}/{test.name}")
        ]

    @property
    def chosen_count(self) -> int:
        return sum(len(self.chosen(suite)) for suite in self.read.suites)

    def _here(self, listener: Listener | None) -> list[SuiteResult]:
        results: list[SuiteResult] = []
        for suite, inputs in zip(self.read.suites, self._inputs, strict=True):
            if not self._concerns(suite):
                continue
            work = SuiteRun(suite, inputs, self.choice.params)
            has_failed = False
            for result in work.results(self.chosen(suite)):
                if listener is not None:
                    listener(suite, result)
                has_failed = not result.has_passed
                if has_failed and self.choice.fail_fast:
                    break
            results.append(work.result())
            if has_failed and self.choice.fail_fast:
                break
        return results

    def _tasks(self) -> list[tuple[int, list[int]]]:
        """Shares of suites: by index of the suite, the indices of tests."""
        tasks = []
        for index, suite in enumerate(self.read.suites):
            if not self._concerns(suite):
                continue
            chosen = self.chosen(suite)
            size = max(TESTS_A_JOB_MIN, -(-len(chosen) // max(1, self.choice.jobs)))
            shares = [chosen[at : at + size] for at in range(0, len(chosen), size)]
            tasks += [(index, share) for share in shares or [[]]]
        return tasks

    def _in_processes(self, listener: Listener | None) -> list[SuiteResult]:
        tasks = self._tasks()
        done: dict[int, SuiteResult] = {}
        with ProcessPoolExecutor(
            min(self.choice.jobs, JOBS_MAX, len(tasks)), mp_context=get_context("spawn")
        ) as pool:
            waiting: dict[Future[SuiteResult], int] = {}
            for position, (index, share) in enumerate(tasks):
                suite, inputs = self.read.suites[index], self._inputs[index]
                work = pool.submit(_share, suite, inputs, self.choice, share)
                waiting[work] = position
            while waiting:
                ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
                has_failed = False
                for work in ended:
                    position = waiting.pop(work)
                    done[position] = work.result()
                    has_failed |= self._told(tasks[position][0], done[position], listener)
                if has_failed and self.choice.fail_fast:
                    pool.shutdown(cancel_futures=True)
                    break
        return self._joined(tasks, done)

    def _told(self, index: int, result: SuiteResult, listener: Listener | None) -> bool:
        for test in result.tests:
            if listener is not None:
                listener(self.read.suites[index], test)
        return any(not test.has_passed for test in result.tests)

    def _joined(
        self, tasks: Sequence[tuple[int, list[int]]], done: Mapping[int, SuiteResult]
    ) -> list[SuiteResult]:
        """Shares of one suite become one result, in the order of the file."""
        joined: dict[int, SuiteResult] = {}
        for position, (index, _) in enumerate(tasks):
            share = done.get(position)
            if share is None:
                continue
            known = joined.get(index)
            if known is None:
                joined[index] = share
                continue
            joined[index] = replace(
                known,
                tests=(*known.tests, *share.tests),
                diagnostics=tuple(dict.fromkeys((*known.diagnostics, *share.diagnostics))),
                coverage=merged((*known.coverage, *share.coverage)),
            )
        return [result for _, result in sorted(joined.items())]


def _share(suite: Suite, inputs: Inputs, choice: Choice, chosen: list[int]) -> SuiteResult:
    work = SuiteRun(suite, inputs, choice.params)
    for result in work.results(chosen):
        if choice.fail_fast and not result.has_passed:
            break
    return work.result()


@dataclass(frozen=True, slots=True)
class CheckedTests:
    """`others` are the sources that hold something besides tests."""

    diagnostics: tuple[Diagnostic, ...]
    texts: tuple[SourceText, ...]
    others: tuple[Source, ...]


def check_tests(sources: Sequence[Source], params: Mapping[str, Any]) -> CheckedTests:
    """Of every PolicyTest among the sources."""
    read = read_suites([source for source in sources if holds_tests(source)])
    said = list(read.diagnostics)
    for suite in read.suites:
        inputs = replace(load_inputs(suite), others=tuple(sources))
        work = SuiteRun(suite, inputs, params)
        said += work.findings()
        said += work.result().diagnostics
    others = tuple(source for source in sources if not holds_only_tests(source))
    return CheckedTests(tuple(dict.fromkeys(said)), read.texts, others)
