"""Running a suite: worlds made, pods decided in order, expectations compared.

Owns the order of things, and what one test's program, profile, seed and time are. Every test has an
engine of its own, so that no result depends on another. Assumes inputs that are read. Must not do
I/O nor know how results are shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from time import perf_counter
from typing import Any

from kpolicy.diagnostics import Diagnostic, Severity, has_errors
from kpolicy.offline.limits import OBJECTS_MAX
from kpolicy.offline.policy_tests import coverage, fixture_objects
from kpolicy.offline.policy_tests.document_model import Replay, Step, Test, nanoseconds
from kpolicy.offline.policy_tests.expectations import asserts, compare
from kpolicy.offline.policy_tests.fixture_objects import patched
from kpolicy.offline.policy_tests.observe import Observation, Unobserved, World
from kpolicy.offline.policy_tests.observe import world as engine_world
from kpolicy.offline.policy_tests.replay import compare_replay, replay
from kpolicy.offline.policy_tests.results import Mismatch, SuiteResult, TestResult
from kpolicy.offline.policy_tests.rule_names import RuleNames, rule_names, unknown_names
from kpolicy.offline.policy_tests.suite_inputs import Inputs
from kpolicy.offline.policy_tests.suites import Suite, steps_of
from kpolicy.offline.reports import explanation_text
from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.offline.snapshots.pod_lookup import full_key, placed_pods, unknown
from kpolicy.offline.snapshots.snapshot import PolicyRefusedError, Snapshot
from kpolicy.policy.assembly.program import Program
from kpolicy.policy.assembly.rule_places import rule_parts
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.nearest import did_you_mean
from kpolicy.policy.yaml.nodes import Path, find


class _TooManyError(Exception):
    """A test's world is larger than it may be."""


@dataclass(slots=True)
class _Compiled:
    """A program, and what the tests saw of it."""

    program: Program | None
    rules: dict[str, RuleNames]
    diagnostics: tuple[Diagnostic, ...]
    tally: coverage.Tally = field(default_factory=coverage.Tally)


class SuiteRun:
    """One suite. `results` gives tests as they end; afterwards `result` sums up."""

    def __init__(self, suite: Suite, inputs: Inputs, params: Mapping[str, Any]) -> None:
        self._suite = suite
        self._inputs = inputs
        self._params = dict(params)
        self._compiled: dict[str, _Compiled] = {}
        self._came: list[TestResult] = []
        self._broken = has_errors(inputs.diagnostics)

    def results(self, chosen: Sequence[int]) -> Iterator[TestResult]:
        """The tests of these indices."""
        if self._broken or self._program({}).program is None:
            return
        for index in chosen:
            started = perf_counter()
            result = self._test(index, self._suite.model.tests[index])
            result = replace(result, seconds=perf_counter() - started)
            self._came.append(result)
            yield result

    def result(self) -> SuiteResult:
        said = [*self._inputs.diagnostics]
        for one in self._compiled.values():
            said += [told for told in one.diagnostics if told.severity is Severity.ERROR]
        return SuiteResult(
            self._suite.file,
            self._suite.name,
            tuple(self._came),
            tuple(dict.fromkeys(said)),
            self._coverage(),
        )

    def _program(self, params: Mapping[str, Any]) -> _Compiled:
        given = {**self._suite.model.params, **self._params, **params}
        key = json.dumps(given, sort_keys=True, default=str)
        if key not in self._compiled:
            compiled = compile_policy(
                self._inputs.policies, params=given, library=self._inputs.others
            )
            rules = rule_names(compiled.program) if compiled.program is not None else {}
            self._compiled[key] = _Compiled(compiled.program, rules, compiled.diagnostics)
        return self._compiled[key]

    def _coverage(self) -> tuple[coverage.PolicyCoverage, ...]:
        # A replay does not watch what each part of an expression gives.
        if all(test.replay is not None for test in self._suite.model.tests):
            return ()
        wanted = self._suite.model.coverage
        minimum = wanted.minimum
        if isinstance(minimum, str):
            minimum = float(minimum.removesuffix("%"))
        found = [
            item
            for one in self._compiled.values()
            if one.program is not None
            for item in coverage.items(rule_parts(self._inputs.policies, one.program), one.tally)
        ]
        return coverage.of_files(found, minimum=minimum, counts_branches=wanted.branches)

    def findings(self) -> Iterator[Diagnostic]:
        """What is wrong with the tests, without running one."""
        if self._broken or self._program({}).program is None:
            return
        for index, test in enumerate(self._suite.model.tests):
            yield from self._prepared(index, test)[0]

    def _prepared(self, index: int, test: Test) -> tuple[tuple[Diagnostic, ...], _Compiled, str]:
        """What is wrong with it, its program, and the profile that is tested."""
        suite, path = self._suite, ("tests", index)
        compiled = self._program(test.params)
        if index in suite.faults:
            return suite.faults[index], compiled, ""
        if not any(asserts(step.expect) for _, step in steps_of(test)):
            hint = "say in `expect` what must become of the pod"
            message = "this test asserts nothing"
            said = suite.remark("KP502", message, (*path, "name"), hint=hint)
            return (said,), compiled, ""
        if compiled.program is None:
            return compiled.diagnostics, compiled, ""
        profile, problem = self._profile(path, test, compiled)
        if problem is not None:
            return (problem,), compiled, profile
        names = compiled.rules[profile]
        return tuple(unknown_names(suite, index, test, names)), compiled, profile

    def _test(self, index: int, test: Test) -> TestResult:
        suite, path = self._suite, ("tests", index)
        result = TestResult(test.name, suite.place((*path, "name")))
        said, compiled, profile = self._prepared(index, test)
        if said or compiled.program is None:
            return replace(result, diagnostics=said)
        names = compiled.rules[profile]
        snapshot = self._snapshot(test)
        try:
            made, unread = self._world(snapshot, test, compiled.program, profile)
        except PolicyRefusedError as error:
            message = f"the engine does not take the policy: {error}"
            return _with(result, suite.remark("KP501", message, (*path, "name")))
        except _TooManyError:
            message = f"its world has more than {OBJECTS_MAX:,} objects"
            return _with(result, suite.remark("KP109", message, (*path, "name")))
        if unread:
            message = f"this cannot be read: {unread[0]}"
            return _with(result, suite.remark("KP113", message, (*path, "name")))
        if test.replay is not None:
            return self._replayed(path, test.replay, made, profile, result)
        return _Steps(suite, self._inputs, made, profile, names, compiled.tally).run(
            path, test, result
        )

    def _snapshot(self, test: Test) -> Snapshot | None:
        if test.replay is not None and test.replay.snapshot is not None:
            return self._inputs.replayed[test.replay.snapshot]
        return self._inputs.snapshot

    def _replayed(
        self, path: Path, wanted: Replay, made: World, profile: str, result: TestResult
    ) -> TestResult:
        suite, test = self._suite, self._suite.model.tests[int(path[1])]
        snapshot = self._snapshot(test)
        if snapshot is None:
            message = "there is no `snapshot` to replay"
            return _with(result, suite.remark("KP501", message, (*path, "replay"), at_key=True))
        got = replay(made.engine, snapshot, wanted, profile, made.now_ns)
        if not got.pods:
            told = f"the snapshot has no such pod of `{profile}`"
            hint = "`everyPod: true` takes those of other schedulers, `pods: all` those on nodes"
            at = (*path, "replay")
            return _with(result, suite.remark("KP501", told, at, hint=hint, at_key=True))
        mismatches = tuple(
            replace(one, place=suite.place((*path, "expect", one.what)))
            for one in compare_replay(test.expect, got, made.engine)
        )
        return replace(result, mismatches=mismatches, pods=len(got.pods), summary=got.summary())

    def _profile(
        self, path: Path, test: Test, compiled: _Compiled
    ) -> tuple[str, Diagnostic | None]:
        known = sorted(compiled.rules)
        at: Path = (*path, "profile")
        wanted = test.profile
        if wanted is None:
            at, wanted = ("profile",), self._suite.model.profile
        if wanted is None and len(known) == 1:
            return known[0], None
        listed = ", ".join(f"`{name}`" for name in known)
        if wanted is None:
            message = f"the policies serve {listed}: say which `profile` is tested"
            return "", self._suite.remark("KP501", message, (*path, "name"))
        if wanted not in known:
            hint = did_you_mean(wanted, known) or f"they serve {listed}"
            message = f"the policies have no profile `{wanted}`"
            return "", self._suite.remark("KP501", message, at, hint=hint)
        return wanted, None

    def _world(
        self, snapshot: Snapshot | None, test: Test, program: Program, profile: str
    ) -> tuple[World, list[str]]:
        model = self._suite.model
        seed = model.defaults.seed if test.seed is None else test.seed
        now = test.now or model.defaults.now
        now_ns = nanoseconds(now) if now else 0
        texts = snapshot.texts if snapshot is not None else ()
        items = list(islice(self._objects(test, profile), OBJECTS_MAX + 1))
        if len(items) > OBJECTS_MAX:
            raise _TooManyError
        made = engine_world(program, texts, items, seed=seed, now_ns=now_ns)
        return made, made.unreadable

    def _objects(self, test: Test, profile: str) -> Iterator[Json]:
        """A test's own list takes the place of the document's."""
        model = self._suite.model

        def listed(field: str) -> Sequence[Any]:
            own = getattr(test, field)
            return own if own is not None else getattr(model, field) or ()

        for entry in listed("namespaces"):
            yield fixture_objects.namespace(entry)
        for entry in listed("nodes"):
            yield fixture_objects.node(entry, model.fixtures)
        for position, entry in enumerate(listed("running"), start=1):
            yield from fixture_objects.running(
                entry, model.pod_fixtures, position=position, scheduler=profile
            )
        yield from listed("objects")


@dataclass(frozen=True, slots=True)
class _Steps:
    """The pods of one test, in one world."""

    suite: Suite
    inputs: Inputs
    world: World
    profile: str
    rules: RuleNames
    tally: coverage.Tally

    def run(self, path: Path, test: Test, result: TestResult) -> TestResult:
        mismatches: list[Mismatch] = []
        details: list[str] = []
        pods = 0
        for at, step in steps_of(test):
            here = (*path, *at)
            pod, problem = self._pod(here, step, pods + 1)
            if problem is not None:
                return _with(result, problem)
            observed = self.world.observe(pod)
            if isinstance(observed, Unobserved):
                where = (*here, "pod" if step.pod is not None else "podFrom")
                told = self.suite.remark("KP113", observed.message, where, hint=observed.hint)
                return _with(result, told)
            pods += 1
            self.tally.add(self.profile, observed.seen)
            compared = compare(step.expect, observed, self.rules, (*here, "expect"))
            found = [self._placed(one, here, at) for one in compared]
            if found:
                mismatches += found
                details += _details(observed, details)
        return replace(result, mismatches=tuple(mismatches), details=tuple(details), pods=pods)

    def _placed(self, mismatch: Mismatch, here: Path, at: Path) -> Mismatch:
        """With the place of the expectation, and of a sequence the number of the pod."""
        rewrite = mismatch.rewrite
        what = f"pod {int(at[1]) + 1}: {mismatch.what}" if at else mismatch.what
        if rewrite is None:
            return replace(mismatch, what=what, place=self.suite.place((*here, "expect")))
        written = find(self.suite.tree, rewrite.path)
        place = self.suite.place(rewrite.path)
        edit = replace(rewrite, span=written.span) if written is not None else None
        return replace(mismatch, what=what, place=place, rewrite=edit)

    def _pod(self, path: Path, step: Step, number: int) -> tuple[Json, Diagnostic | None]:
        if step.pod is not None:
            name = "pod" if number == 1 else f"pod-{number}"
            fixtures = self.suite.model.pod_fixtures
            item = fixture_objects.pod(step.pod, fixtures, name=name, scheduler=self.profile)
        else:
            found, problem = self._taken(path, step)
            if problem is not None:
                return {}, problem
            item = found
        item, failed, why = patched(item, step.patch)
        if failed is not None:
            return {}, self.suite.remark("KP113", why, (*path, "patch", failed))
        return item, None

    def _taken(self, path: Path, step: Step) -> tuple[Json, Diagnostic | None]:
        """A pod of the snapshot, taken away from where it is, to come again as pending."""
        assert step.pod_from is not None, "a step without a pod is left out when it is read"
        at = (*path, "podFrom", "snapshot")
        snapshot = self.inputs.snapshot
        if snapshot is None:
            message = "the document has no `snapshot` to take the pod from"
            return {}, self.suite.remark("KP501", message, at)
        key = full_key(step.pod_from.snapshot)
        found = placed_pods(snapshot, [key]).get(key)
        if found is None:
            told = unknown(snapshot, key)
            return {}, self.suite.remark("KP501", f"{key}: {told.message}", at, hint=told.hint)
        line = json.dumps({"type": "DELETED", "object": found}) + "\n"
        self.world.engine.watch("pods", line.encode(), self.world.now_ns)
        spec = {k: v for k, v in (found.get("spec") or {}).items() if k != "nodeName"}
        pending = {name: value for name, value in found.items() if name != "status"}
        return {**pending, "kind": "Pod", "spec": {**spec, "schedulerName": self.profile}}, None


def _with(result: TestResult, diagnostic: Diagnostic) -> TestResult:
    return replace(result, diagnostics=(*result.diagnostics, diagnostic))


def _details(observed: Observation, before: Sequence[str]) -> list[str]:
    lines = explanation_text.text(observed.explained)
    return ["", *lines] if before else lines
