"""`run_tests`: runs the tests of files or sources, in one process or several.

The results of a suite do not depend on each other.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpolicy.diagnostics import Diagnostic
from kpolicy.offline.limits import JOBS_MAX, TESTS_A_JOB_MIN
from kpolicy.offline.policy_files import files_in, read_source
from kpolicy.offline.policy_tests.coverage import merged
from kpolicy.offline.policy_tests.results import PolicyTestRun, SuiteResult, TestResult
from kpolicy.offline.policy_tests.suite_run import SuiteRun, Terms
from kpolicy.offline.policy_tests.suites import (
    TEST_SUFFIXES,
    Inputs,
    ReadSuites,
    Suite,
    holds_only_tests,
    holds_tests,
    load_inputs,
    read_suites,
)
from kpolicy.policy.yaml.source import Source, SourceText
from kpolicy.quick_dataclass import dataclass

if TYPE_CHECKING:
    from kpolicy.plugins.loading import PluginClass

# Is called with each test when it ends.
Listener = Callable[[Suite, TestResult], None]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which tests run, and how. `run` is a regular expression for `document/test`; `policies`
    replace those that the documents name."""

    run: str = ""
    fail_fast: bool = False
    jobs: int = 1
    coverage_minimum: float | None = None
    policies: tuple[Source, ...] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    # Whether cel-python evaluates the rules too, and the two are compared.
    cross_check: bool = False
    # Whose decisions are tested, where it is not what the policies or the snapshot say.
    release: str = ""
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    # Are asked about the pods of tests.
    plugins: tuple[PluginClass, ...] = ()


def run_tests(
    tests: Iterable[str | Path | Source] | str | Path | Source,
    *,
    run: str = "",
    fail_fast: bool = False,
    jobs: int = 1,
    coverage_minimum: float | None = None,
    policies: Sequence[Source] | None = None,
    params: Mapping[str, Any] | None = None,
    cross_check: bool = False,
    release: str = "",
    feature_gates: Mapping[str, bool] | None = None,
) -> PolicyTestRun:
    """Run the tests of files and folders (`*.test.yaml` of a folder), or of sources.

    `run` is a regular expression for the names of tests (`document/test`); `policies` are tested
    instead of those that the documents name; with `cross_check`, cel-python evaluates the rules
    too; `release` and `feature_gates` are those of `compile_policy`. Raises `OSError` for a file
    that cannot be read."""
    listed = [tests] if isinstance(tests, (str, Path, Source)) else list(tests)
    chosen = tuple(policies) if policies is not None else None
    choice = Choice(
        run,
        fail_fast,
        jobs,
        coverage_minimum,
        chosen,
        params or {},
        cross_check,
        release,
        feature_gates or {},
    )
    return Session(sources_of(listed), choice).run()


def sources_of(tests: Iterable[str | Path | Source]) -> list[Source]:
    """Sources of test files, those of a folder in the order of names."""
    sources: list[Source] = []
    for test in tests:
        if isinstance(test, Source):
            sources.append(test)
        else:
            path = Path(test)
            files = files_in(path, TEST_SUFFIXES) if path.is_dir() else [path]
            sources += map(read_source, files)
    return sources


class Session:
    """A run over some sources. `files` are all files that were read for it."""

    def __init__(self, sources: Sequence[Source], choice: Choice) -> None:
        self.choice = choice
        self.read: ReadSuites = read_suites(sources)
        self._pattern = re.compile(choice.run)
        self._inputs = [load_inputs(suite, choice.policies) for suite in self.read.suites]
        if choice.params:
            every = tuple({source for inputs in self._inputs for source in inputs.policies})
            self._inputs = [replace(inputs, others=every) for inputs in self._inputs]
        read = (file for inputs in self._inputs for file in inputs.files)
        self.files = tuple(dict.fromkeys([*(source.name for source in sources), *read]))

    def run(self, listener: Listener = lambda *_: None) -> PolicyTestRun:
        suites = self._suite_results(listener)
        found = (policy for suite in suites for policy in suite.coverage)
        coverage = merged(found, self.choice.coverage_minimum)
        ran = sum(len(suite.tests) for suite in suites)
        left_out = sum(len(suite.model.tests) for suite in self.read.suites) - ran
        if left_out:
            coverage = tuple(replace(policy, minimum=None) for policy in coverage)
        policies = (source for inputs in self._inputs for source in inputs.policies)
        texts = {text.name: text for text in self.read.texts}
        texts |= {source.name: SourceText(source.name, source.decoded) for source in policies}
        return PolicyTestRun(tuple(suites), self.read.diagnostics, coverage, texts, left_out)

    def _shares(self) -> list[_Share]:
        """The chosen tests of each suite, in shares for the processes. A suite without any test has
        one share; a suite without a chosen test has none."""
        shares = []
        for index, suite in enumerate(self.read.suites):
            chosen = self.chosen(suite)
            size = max(TESTS_A_JOB_MIN, -(-len(chosen) // max(1, self.choice.jobs)))
            parts = [chosen[at : at + size] for at in range(0, len(chosen), size)]
            parts = parts or ([] if suite.model.tests else [[]])
            inputs = self._inputs[index]
            shares += [_Share(suite, inputs, self.choice, tuple(part)) for part in parts]
        return shares

    def chosen(self, suite: Suite) -> list[int]:
        return [
            index
            for index, test in enumerate(suite.model.tests)
            if self._pattern.search(f"{suite.name}/{test.name}")
        ]

    @property
    def chosen_count(self) -> int:
        return sum(len(self.chosen(suite)) for suite in self.read.suites)

    def _suite_results(self, listener: Listener) -> list[SuiteResult]:
        shares = self._shares()
        if min(self.choice.jobs, JOBS_MAX, len(shares)) > 1:
            return _join(self._in_processes(shares, listener))
        results = []
        for share in shares:
            results.append((share, share.run(listener)))
            if self.choice.fail_fast and results[-1][1].has_failed:
                break
        return _join(results)

    def _in_processes(
        self, shares: Sequence[_Share], listener: Listener
    ) -> list[tuple[_Share, SuiteResult]]:
        """In the order of the shares. After a failure, some shares may have no result."""
        # One process, the default, does not need them.
        from concurrent.futures import (  # noqa: PLC0415
            FIRST_COMPLETED,
            ProcessPoolExecutor,
            wait,
        )
        from multiprocessing import get_context  # noqa: PLC0415

        done: dict[int, SuiteResult] = {}
        processes = min(self.choice.jobs, JOBS_MAX, len(shares))
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            with _without_ctrl_c():
                waiting = {pool.submit(share.run): at for at, share in enumerate(shares)}
            try:
                while waiting:
                    ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in ended:
                        position = waiting.pop(future)
                        done[position] = future.result()
                        for test in done[position].tests:
                            listener(shares[position].suite, test)
                    if self.choice.fail_fast and any(done[at].has_failed for at in done):
                        break
            finally:  # after a failure, and after ctrl-C
                pool.shutdown(cancel_futures=True)
        return [(shares[at], done[at]) for at in sorted(done)]


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Processes that are started here never get ctrl-C, of which each would print a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True, slots=True)
class _Share:
    """Some tests of a suite, by their indices."""

    suite: Suite
    inputs: Inputs
    choice: Choice
    chosen: tuple[int, ...]

    def run(self, listener: Listener = lambda *_: None) -> SuiteResult:
        choice = self.choice
        work = SuiteRun(
            self.suite,
            self.inputs,
            choice.params,
            Terms(choice.cross_check, choice.release, choice.feature_gates, choice.plugins),
        )
        for result in work.results(self.chosen):
            listener(self.suite, result)
            if self.choice.fail_fast and not result.has_passed:
                break
        return work.result()


def _join(results: Iterable[tuple[_Share, SuiteResult]]) -> list[SuiteResult]:
    """Makes one result of the shares of a suite."""
    joined: dict[int, SuiteResult] = {}
    for share, result in results:
        known = joined.get(id(share.suite))
        joined[id(share.suite)] = result if known is None else known.joined(result)
    return list(joined.values())


@dataclass(frozen=True, slots=True)
class CheckedTests:
    """`others` are the sources that hold something besides tests."""

    diagnostics: tuple[Diagnostic, ...]
    others: tuple[Source, ...]


def check_tests(sources: Sequence[Source], params: Mapping[str, Any]) -> CheckedTests:
    """Finds what is wrong with every PolicyTest of the sources, without running a test."""
    read = read_suites([source for source in sources if holds_tests(source)])
    findings = list(read.diagnostics)
    for suite in read.suites:
        work = SuiteRun(suite, replace(load_inputs(suite), others=tuple(sources)), params)
        findings += [*work.findings(), *work.result().diagnostics]
    others = tuple(source for source in sources if not holds_only_tests(source))
    return CheckedTests(tuple(dict.fromkeys(findings)), others)
