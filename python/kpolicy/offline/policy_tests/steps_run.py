"""Runs the pods of one test in one cluster: one after the other, or, where their order is expected,
as the policy orders pods that wait together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from kpolicy.diagnostics import Diagnostic
from kpolicy.engine import PodChange
from kpolicy.offline.policy_tests import coverage, fixture_objects
from kpolicy.offline.policy_tests.document_model import Step, Test
from kpolicy.offline.policy_tests.expectations import RuleNames, compare, compare_order
from kpolicy.offline.policy_tests.fixture_objects import patched
from kpolicy.offline.policy_tests.observe import (
    CrossChecks,
    Observation,
    SmallCluster,
    Unobserved,
)
from kpolicy.offline.policy_tests.results import Mismatch, TestResult
from kpolicy.offline.policy_tests.suites import Inputs, Suite, steps_of
from kpolicy.offline.reports import explanation_text
from kpolicy.offline.snapshots.cluster_snapshot import (
    as_pending,
    full_key,
    pods_by_key,
    unknown_pod,
    watch_lines,
)
from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.yaml.nodes import Path, find
from kpolicy.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Subject:
    """The profile of a program that a test is about."""

    program: Program
    profile: str
    rules: RuleNames
    tally: coverage.Tally
    cross_checks: CrossChecks | None


_Observed: TypeAlias = Observation | Unobserved | Diagnostic


@dataclass(frozen=True, slots=True)
class Steps:
    """The pods of one test, in one cluster. `tried`: what came of them, in the order in which they
    were tried."""

    suite: Suite
    inputs: Inputs
    cluster: SmallCluster
    subject: Subject
    tried: list[Observation] = field(default_factory=list)

    def run(self, path: Path, test: Test, result: TestResult) -> TestResult:
        mismatches: list[Mismatch] = []
        details: list[str] = []
        for at, step, observed in self._observed(path, test):
            here = (*path, *at)
            if isinstance(observed, Unobserved):
                where = (*here, "pod" if step.pod is not None else "podFrom")
                text, hint = observed.message, observed.hint
                finding = self.suite.remark("KP113", text, where, hint=hint)
                return replace(result, diagnostics=(finding,))
            if isinstance(observed, Diagnostic):
                return replace(result, diagnostics=(observed,))
            self.subject.tally.add(self.subject.profile, observed.seen)
            compared = compare(step.expect, observed, self.subject.rules, (*here, "expect"))
            found = [self._placed(mismatch, here, at) for mismatch in compared]
            if found:
                mismatches += found
                lines = explanation_text.text(observed.explained)
                details += ["", *lines] if details else lines
            self.tried.append(observed)
        if test.expect.order is not None:
            tried = [each.pod for each in self.tried if not each.held_by]
            held = [each.pod for each in self.tried if each.held_by]
            wrong = compare_order(test.expect.order, tried, held, (*path, "expect"))
            mismatches += [self._placed(mismatch, path, ()) for mismatch in wrong]
        checks = self.subject.cross_checks
        place = self.suite.place((*path, "name"))
        unknown = () if checks is None else checks.unknown.values()
        mismatches += [replace(mismatch, place=place) for mismatch in unknown]
        return replace(
            result,
            mismatches=tuple(mismatches),
            details=tuple(details),
            pods=len(self.tried),
            cross_checked=None if checks is None else checks.result(),
        )

    def _observed(self, path: Path, test: Test) -> Iterator[tuple[Path, Step, _Observed]]:
        """The pods in the order in which they are tried, and what came of each."""
        if test.expect.order is not None:
            yield from self._in_turn(path, test)
            return
        for number, (at, step) in enumerate(steps_of(test), start=1):
            pod = self._pod((*path, *at), step, number)
            yield (
                at,
                step,
                pod
                if isinstance(pod, Diagnostic)
                else self.cluster.observe(pod, self._cross_check),
            )

    def _in_turn(self, path: Path, test: Test) -> Iterator[tuple[Path, Step, _Observed]]:
        """Pods that wait together."""
        steps: dict[str, tuple[Path, Step]] = {}
        waiting: list[PodChange] = []
        for number, (at, step) in enumerate(steps_of(test), start=1):
            pod = self._pod((*path, *at), step, number)
            admitted = pod if isinstance(pod, Diagnostic) else self.cluster.admit(pod)
            if not isinstance(admitted, PodChange):
                yield at, step, admitted
                return
            steps[admitted.uid] = at, step
            waiting.append(admitted)
        for pod_change, held in self.cluster.in_turn(waiting):
            at, step = steps[pod_change.uid]
            yield at, step, self.cluster.tried(pod_change, held, self._cross_check)

    def _cross_check(self, pod: str, nodes: Sequence[str]) -> None:
        if self.subject.cross_checks is not None:
            self.subject.cross_checks.compare(self.cluster, pod, nodes)

    def _placed(self, mismatch: Mismatch, here: Path, at: Path) -> Mismatch:
        """The mismatch with its place and, in a sequence, with the number of the pod."""
        rewrite = mismatch.rewrite
        what = f"pod {int(at[1]) + 1}: {mismatch.what}" if at else mismatch.what
        if rewrite is None:
            return replace(mismatch, what=what, place=self.suite.place((*here, "expect")))
        written = find(self.suite.tree, rewrite.path)
        place = self.suite.place(rewrite.path)
        edit = replace(rewrite, span=written.span) if written is not None else None
        return replace(mismatch, what=what, place=place, rewrite=edit)

    def _pod(self, path: Path, step: Step, number: int) -> Json | Diagnostic:
        if step.pod is not None:
            name = "pod" if number == 1 else f"pod-{number}"
            fixtures = self.suite.model.pod_fixtures
            item: Json | Diagnostic = fixture_objects.pod(
                step.pod, fixtures, name=name, scheduler=self.subject.profile
            )
        else:
            item = self._pod_of_snapshot(path, step)
        if isinstance(item, Diagnostic):
            return item
        item, failed, why = patched(item, step.patch)
        return item if failed is None else self.suite.remark("KP113", why, (*path, "patch", failed))

    def _pod_of_snapshot(self, path: Path, step: Step) -> Json | Diagnostic:
        """A pod of the snapshot as pending. The engine no longer holds it."""
        assert step.pod_from is not None, "a step without a pod is left out when it is read"
        at = (*path, "podFrom", "snapshot")
        snapshot = self.inputs.snapshot
        if snapshot is None:
            message = "the document has no `snapshot` to take the pod from"
            return self.suite.remark("KP501", message, at)
        key = full_key(step.pod_from.snapshot)
        pod = pods_by_key(snapshot, [key]).get(key)
        if pod is None:
            unknown = unknown_pod(snapshot, key)
            return self.suite.remark("KP501", f"{key}: {unknown.message}", at, hint=unknown.hint)
        self.cluster.engine.watch("pods", watch_lines(("DELETED", pod)), self.cluster.now_ns)
        return {**as_pending(pod, self.subject.profile), "kind": "Pod"}
