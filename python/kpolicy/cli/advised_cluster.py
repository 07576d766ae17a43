"""The cluster about which `kpolicy why` asks: a snapshot, or a moment of a journal."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kpolicy.cli.input_output import (
    all_sources,
    is_journal,
    load_program,
    load_snapshot,
    print_problems,
    progress_bar,
    refusals_reported,
)
from kpolicy.cli.verb import CannotWorkError
from kpolicy.quick_dataclass import dataclass

if TYPE_CHECKING:
    from kpolicy.engine import Engine
    from kpolicy.offline.answers.advice import Scope, Sums
    from kpolicy.offline.answers.pod_decisions import Explaining
    from kpolicy.offline.answers.why import Why
    from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
    from kpolicy.policy.assembly.assemble import Program


@dataclass(frozen=True, slots=True)
class AdvisedCluster:
    """`judge` says who judged; `work` is None where nobody has the objects themselves."""

    engine: Engine
    now_ns: int
    judge: str
    work: Explaining | None

    @property
    def snapshot(self) -> Snapshot | None:
        return None if self.work is None else self.work.snapshot

    def why(self, key: str) -> Why:
        """Raises `CannotWorkError` where the pod is not there, or the policy does not serve it."""
        from kpolicy.offline.answers.advice import advice_in, request_on
        from kpolicy.offline.answers.why import Why, needs

        advice = advice_in(self.engine.advise(request_on(key), self.now_ns))
        pod = self._pod(key, advice)
        explanation = self._explanation(key)
        asked = needs(self.work.snapshot, pod, explanation) if self.work is not None else ()
        return Why(pod, explanation, self.judge, asked, advice=advice)

    def sums(self, scope: Scope) -> Sums:
        from kpolicy.offline.answers.advice import sums

        found = sums(scope, self.engine.advise(scope.request(), self.now_ns).splitlines())
        return replace(found, judge=self.judge)

    def schedulers(self, namespace: str) -> Counter[str]:
        """How many pending pods of the namespace name each scheduler."""
        pending = (pod for pod in self.engine.pending() if pod.namespace == namespace)
        return Counter(pod.scheduler_name for pod in pending)

    def _explanation(self, key: str) -> dict[str, Any]:
        if self.work is not None:
            lines = list(self.work.lines_of([key]))
            refused = "\n".join(map(str, self.work.not_explained))
        else:
            request = json.dumps({"pods": [key]}).encode()
            lines = self.engine.explain(request, self.now_ns).splitlines()
            refused = f"{key}: the policy does not serve its scheduler"
        if not lines:
            raise CannotWorkError(refused)
        explanation: dict[str, Any] = json.loads(lines[0])
        return explanation

    def _pod(self, key: str, advice: dict[str, Any]) -> dict[str, Any]:
        from kpolicy.offline.snapshots.cluster_snapshot import pods_by_key, unknown_pod
        from kpolicy.offline.snapshots.snapshot_problem import UNKNOWN_POD

        if self.work is not None:
            pods = pods_by_key(self.work.snapshot, [key])
            if key not in pods:
                raise CannotWorkError(f"{UNKNOWN_POD}: {unknown_pod(self.work.snapshot, key)}")
            return pods[key]
        # A journal has changes of pods; this is what the answer needs of one.
        namespace, _, name = key.partition("/")
        pending = {f"{pod.namespace}/{pod.name}": pod for pod in self.engine.pending()}
        if key not in pending and "situation" not in advice:
            raise CannotWorkError(f"{UNKNOWN_POD}: there was no pod {key} at that time")
        spec: dict[str, Any] = {}
        if key in pending:
            spec["schedulerName"] = pending[key].scheduler_name
        elif advice.get("node"):
            spec["nodeName"] = advice["node"]
        return {"kind": "Pod", "metadata": {"namespace": namespace, "name": name}, "spec": spec}


def recorded_cluster(args: argparse.Namespace) -> AdvisedCluster:
    """Of --snapshot, at --at of a journal."""
    if is_journal(args.snapshot):
        return _of_journal(args)
    if args.at is not None:
        raise CannotWorkError("--at needs a journal as --snapshot: a snapshot is of one moment")
    snapshot = load_snapshot(args.snapshot)
    program = _program(args, snapshot.cluster_version)
    return of_snapshot(snapshot, program, judged_by(program.policies))


def of_snapshot(snapshot: Snapshot, program: Program, judge: str) -> AdvisedCluster:
    from kpolicy.offline.answers.pod_decisions import Explaining

    with refusals_reported():
        work = Explaining(snapshot, program)
    print_problems(snapshot)
    return AdvisedCluster(work.engine, work.now_ns, judge, work)


def _of_journal(args: argparse.Namespace) -> AdvisedCluster:
    from kpolicy.offline.journal_replay.engine_moment import engine_at
    from kpolicy.offline.journal_replay.journal_input import read_journal
    from kpolicy.offline.snapshots.snapshot_problem import Problem

    journal = read_journal(args.snapshot)
    if not journal.epochs:
        raise CannotWorkError("\n".join(f"{each.code}: {each}" for each in journal.problems))
    for problem in journal.problems:
        print(f"warning: {problem.code}: {problem}", file=sys.stderr)
    with progress_bar("making decisions again") as progress:
        counted = None if progress is None else lambda decisions: progress(decisions, 0)
        moment = engine_at(journal, args.at, counted)
    if isinstance(moment, Problem):
        raise CannotWorkError(f"{moment.code}: {moment}")
    judge = "the policy that decided then"
    if args.policy or not moment.engine.program_hash():
        versions = (epoch.header.cluster_version for epoch in journal.epochs)
        program = _program(args, next(filter(None, versions), ""))
        refusals = moment.engine.load(program.bytes)
        if refusals:
            raise CannotWorkError(f"the engine does not take this policy: {refusals[0].message}")
        if missing := moment.engine.stale():
            names = ", ".join(missing)
            raise CannotWorkError(
                f"the journal does not have what this policy reads of {names} by API path"
            )
        judge = judged_by(program.policies)
    return AdvisedCluster(moment.engine, moment.at_ns, judge, None)


def _program(args: argparse.Namespace, cluster_version: str) -> Program:
    sources = all_sources(args.policy)
    return load_program(args, sources, every_pod=False, cluster_version=cluster_version)


def judged_by(policies: tuple[str, ...] | list[str]) -> str:
    """A policy that stands on others has their names behind its own."""
    first, *others = policies
    below = f" (on {', '.join(others)})" if others else ""
    return f"the policy {first}{below}, here"
