"""Runs a suite: makes the cluster of each test, has its pods decided in order, and compares.

Every test has an engine of its own, so no result depends on another test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import chain, islice
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from kpolicy.diagnostics import Diagnostic, Severity, did_you_mean, has_errors
from kpolicy.offline.limits import OBJECTS_MAX
from kpolicy.offline.policy_tests import coverage, fixture_objects
from kpolicy.offline.policy_tests.document_model import Test, nanoseconds
from kpolicy.offline.policy_tests.expectations import RuleNames, asserts, rule_names
from kpolicy.offline.policy_tests.observe import (
    CrossChecks,
    SmallCluster,
    small_cluster,
)
from kpolicy.offline.policy_tests.replay import compare_replay, replay
from kpolicy.offline.policy_tests.results import SuiteResult, TestResult
from kpolicy.offline.policy_tests.steps_run import Steps, Subject
from kpolicy.offline.policy_tests.suites import (
    Inputs,
    Suite,
    steps_of,
    unknown_names,
)
from kpolicy.offline.snapshots.cluster_snapshot import (
    PolicyRefusedError,
    Snapshot,
    pods_of,
)
from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.assembly.rule_places import rule_parts
from kpolicy.policy.authority import with_plugins
from kpolicy.policy.compile import Examined, examine
from kpolicy.policy.yaml.nodes import Path
from kpolicy.quick_dataclass import dataclass

if TYPE_CHECKING:
    from kpolicy.plugins.loading import PluginClass


@dataclass(frozen=True, slots=True)
class Terms:
    """How every test of a suite is decided: whether cel-python evaluates the rules too, by which
    release and gates, and which plugins are asked."""

    is_cross_checked: bool = False
    release: str = ""
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    plugins: tuple[PluginClass, ...] = ()


_USUAL: Final = Terms()


@dataclass(slots=True)
class _Compiled:
    """A program, and what the tests saw of it."""

    program: Program | None
    rules: dict[str, RuleNames]
    diagnostics: tuple[Diagnostic, ...]
    examined: Examined
    tally: coverage.Tally = field(default_factory=coverage.Tally)


class SuiteRun:
    """One suite. `results` yields tests as they end; then `result` sums up."""

    def __init__(
        self,
        suite: Suite,
        inputs: Inputs,
        params: Mapping[str, Any],
        terms: Terms = _USUAL,
    ) -> None:
        self._suite = suite
        self._inputs = inputs
        self._params = dict(params)
        self._terms = terms
        self._compiled: dict[str, _Compiled] = {}
        self._results: list[TestResult] = []

    def results(self, chosen: Sequence[int]) -> Iterator[TestResult]:
        """The tests of these indices."""
        for index in chosen if self._can_run() else ():
            started = perf_counter()
            result = self._test(index, self._suite.model.tests[index])
            self._results.append(replace(result, seconds=perf_counter() - started))
            yield self._results[-1]

    def result(self) -> SuiteResult:
        errors = (
            finding
            for compiled in self._compiled.values()
            for finding in compiled.diagnostics
            if finding.severity is Severity.ERROR
        )
        return SuiteResult(
            self._suite.file,
            self._suite.name,
            tuple(self._results),
            tuple(dict.fromkeys((*self._inputs.diagnostics, *errors))),
            self._coverage(),
        )

    def findings(self) -> Iterator[Diagnostic]:
        """The mistakes in the tests that are found without running them."""
        for index, test in enumerate(self._suite.model.tests if self._can_run() else ()):
            subject = self._subject(index, test)
            if not isinstance(subject, Subject):
                yield from subject

    def _can_run(self) -> bool:
        return (
            not has_errors(self._inputs.diagnostics)
            and self._compile({}, self._inputs.snapshot).program is not None
        )

    def _compile(self, params: Mapping[str, Any], snapshot: Snapshot | None) -> _Compiled:
        """The policies as the release of the snapshot decides, unless something else is said."""
        version = snapshot.cluster_version if snapshot is not None else ""
        values = {**self._suite.model.params, **self._params, **params}
        key = json.dumps([version, values], sort_keys=True, default=str)
        if key not in self._compiled:
            examined = examine(
                self._inputs.policies,
                params=values,
                release=self._terms.release,
                library=self._inputs.others,
                authority=with_plugins(plugin.name for plugin in self._terms.plugins),
                cluster_version=version,
                feature_gates=self._terms.feature_gates,
            )
            compiled = examined.compiled()
            rules = rule_names(compiled.program) if compiled.program is not None else {}
            diagnostics = compiled.diagnostics
            self._compiled[key] = _Compiled(compiled.program, rules, diagnostics, examined)
        return self._compiled[key]

    def _coverage(self) -> tuple[coverage.PolicyCoverage, ...]:
        # A replay does not record the value of each part of an expression.
        if all(test.replay is not None for test in self._suite.model.tests):
            return ()
        wanted = self._suite.model.coverage
        minimum = wanted.minimum
        found = (
            item
            for compiled in self._compiled.values()
            if compiled.program is not None
            for item in coverage.items(
                rule_parts(self._inputs.policies, compiled.program), compiled.tally
            )
        )
        return coverage.of_files(
            found,
            minimum=float(minimum.removesuffix("%")) if isinstance(minimum, str) else minimum,
            counts_branches=wanted.branches,
        )

    def _subject(self, index: int, test: Test) -> Subject | tuple[Diagnostic, ...]:
        """The subject of the test, or the mistake in it."""
        suite, path = self._suite, ("tests", index)
        compiled = self._compile(test.params, self._snapshot(test))
        if index in suite.faults:
            return suite.faults[index]
        expectations = [step.expect for _, step in steps_of(test)]
        if not any(map(asserts, [*expectations, test.expect])):
            hint = "say in `expect` what must become of the pod"
            message = "this test asserts nothing"
            return (suite.remark("KP502", message, (*path, "name"), hint=hint),)
        if compiled.program is None:
            return compiled.diagnostics
        profile = self._profile(path, test, sorted(compiled.rules))
        if isinstance(profile, Diagnostic):
            return (profile,)
        rules = compiled.rules[profile]
        unknown = tuple(unknown_names(suite, index, test, rules))
        checks = CrossChecks(compiled.examined, profile) if self._terms.is_cross_checked else None
        return unknown or Subject(compiled.program, profile, rules, compiled.tally, checks)

    def _profile(self, path: Path, test: Test, known: Sequence[str]) -> str | Diagnostic:
        at: Path = (*path, "profile") if test.profile is not None else ("profile",)
        wanted = test.profile if test.profile is not None else self._suite.model.profile
        served = ", ".join(f"`{name}`" for name in known)
        if wanted is None and len(known) != 1:
            message = f"the policies serve {served}: say which `profile` is tested"
            return self._suite.remark("KP501", message, (*path, "name"))
        if wanted is not None and wanted not in known:
            hint = did_you_mean(wanted, known) or f"they serve {served}"
            message = f"the policies have no profile `{wanted}`"
            return self._suite.remark("KP501", message, at, hint=hint)
        return known[0] if wanted is None else wanted

    def _test(self, index: int, test: Test) -> TestResult:
        suite, path = self._suite, ("tests", index)
        result = TestResult(test.name, suite.place((*path, "name")))
        subject = self._subject(index, test)
        if not isinstance(subject, Subject):
            return replace(result, diagnostics=subject)
        cluster = self._cluster(test, subject)
        if not isinstance(cluster, SmallCluster):
            code, message = cluster
            return replace(result, diagnostics=(suite.remark(code, message, (*path, "name")),))
        with self._plugged(cluster, test, subject):
            if test.replay is not None:
                return self._replay(path, test, cluster, subject.profile, result)
            return Steps(suite, self._inputs, cluster, subject).run(path, test, result)

    @contextmanager
    def _plugged(self, cluster: SmallCluster, test: Test, subject: Subject) -> Iterator[None]:
        """Inside, the plugins are asked, if there are any."""
        if not self._terms.plugins:
            yield
            return
        # Few runs have plugins.
        from kpolicy.offline.answers.plugged_decisions import plugged_decisions  # noqa: PLC0415

        snapshot = self._snapshot(test)
        recorded = pods_of(snapshot) if snapshot is not None else ()
        items = chain(recorded, self._objects(test, subject.profile))
        with plugged_decisions(
            cluster.engine, subject.program, self._terms.plugins, items, now_ns=cluster.now_ns
        ) as cluster.plugged:
            yield

    def _snapshot(self, test: Test) -> Snapshot | None:
        if test.replay is not None and test.replay.snapshot is not None:
            return self._inputs.replayed[test.replay.snapshot]
        return self._inputs.snapshot

    def _cluster(self, test: Test, subject: Subject) -> SmallCluster | tuple[str, str]:
        """The cluster of a test, or the code and the message of what is wrong with it."""
        defaults, snapshot = self._suite.model.defaults, self._snapshot(test)
        now = test.now or defaults.now
        recorded_ns = snapshot.now_ns if snapshot is not None else None
        items = list(islice(self._objects(test, subject.profile), OBJECTS_MAX + 1))
        if len(items) > OBJECTS_MAX:
            return "KP109", f"its world has more than {OBJECTS_MAX:,} objects"
        try:
            cluster = small_cluster(
                subject.program,
                snapshot.texts if snapshot is not None else (),
                items,
                seed=defaults.seed if test.seed is None else test.seed,
                now_ns=nanoseconds(now) if now else recorded_ns or 0,
            )
        except PolicyRefusedError as error:
            return "KP501", f"the engine does not take the policy: {error}"
        if cluster.unreadable:
            return "KP113", f"this cannot be read: {cluster.unreadable[0]}"
        return cluster

    def _objects(self, test: Test, profile: str) -> Iterator[Json]:
        """The written objects. A list in the test replaces the list of the document."""
        model = self._suite.model

        def listed(field: str) -> Sequence[Any]:
            own = getattr(test, field)
            return own if own is not None else getattr(model, field) or ()

        yield from map(fixture_objects.namespace, listed("namespaces"))
        for entry in listed("nodes"):
            yield fixture_objects.node(entry, model.fixtures)
        for position, entry in enumerate(listed("running"), start=1):
            yield from fixture_objects.running(
                entry, model.pod_fixtures, position=position, scheduler=profile
            )
        yield from listed("objects")

    def _replay(
        self, path: Path, test: Test, cluster: SmallCluster, profile: str, result: TestResult
    ) -> TestResult:
        suite, message, hint = self._suite, "there is no `snapshot` to replay", ""
        snapshot = self._snapshot(test)
        if snapshot is not None and test.replay is not None:
            got = replay(cluster, snapshot, test.replay, profile)
            if got.pods:
                mismatches = tuple(
                    replace(mismatch, place=suite.place((*path, "expect", mismatch.what)))
                    for mismatch in compare_replay(test.expect, got, cluster.engine)
                )
                return replace(
                    result, mismatches=mismatches, pods=len(got.pods), summary=got.summary()
                )
            message = f"the snapshot has no such pod of `{profile}`"
            hint = "`everyPod: true` takes those of other schedulers, `pods: all` those on nodes"
        finding = suite.remark("KP501", message, (*path, "replay"), hint=hint, at_key=True)
        return replace(result, diagnostics=(finding,))
