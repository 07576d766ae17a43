"""A replay: the pods of a recorded cluster placed again, and what a test expects of that.

Pods are taken off their nodes before the first is placed. Pods that have ended, are being deleted
or are static stay where they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.engine import Engine, PodChange
from kpolicy.offline.answers.expression_values import exact_of
from kpolicy.offline.answers.pod_decisions import decide
from kpolicy.offline.limits import BATCH_PODS, PODS_NAMED_MAX
from kpolicy.offline.policy_tests.document_model import Expectation, Replay, ShareRange
from kpolicy.offline.policy_tests.expectations import plain_number
from kpolicy.offline.policy_tests.observe import SmallCluster
from kpolicy.offline.policy_tests.results import Mismatch
from kpolicy.offline.snapshots.cluster_snapshot import (
    Snapshot,
    as_pending,
    has_ended,
    key_of_pod,
    node_of,
    pods_of,
    queue_order,
    scheduler_of,
    watch_lines,
)
from kpolicy.offline.snapshots.json_objects import Json, key_of, mapping_at
from kpolicy.policy.cel import Environment, Type, compile_expression
from kpolicy.quick_dataclass import dataclass

_MIRROR: Final = "kubernetes.io/config.mirror"
_QUANTILE: Final = 0.99
_NS_A_MICRO: Final = 1000


@dataclass(frozen=True, slots=True)
class ReplayedPod:
    """`recorded` is the node it was on, empty if it was pending; `node` where it is now."""

    pod: str
    recorded: str
    node: str
    message: str
    score: int
    cycle_ns: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """All pods of a replay, and its figures."""

    pods: tuple[ReplayedPod, ...] = ()
    now_ns: int = 0

    @property
    def placed(self) -> int:
        return sum(bool(pod.node) for pod in self.pods)

    @property
    def recorded(self) -> int:
        """Pods that were on a node."""
        return sum(bool(pod.recorded) for pod in self.pods)

    @property
    def changed(self) -> int:
        """Pods that were on a node and are now on another one, or on none."""
        return sum(bool(pod.recorded) and pod.node != pod.recorded for pod in self.pods)

    @property
    def p99_cycle_micros(self) -> float:
        """Time of filtering and scoring: 99 of 100 pods took no longer."""
        ordered = sorted(pod.cycle_ns for pod in self.pods) or [0]
        return ordered[min(len(ordered) - 1, int(len(ordered) * _QUANTILE))] / _NS_A_MICRO

    def summary(self) -> str:
        """The text that `kpolicy test` prints."""
        placed, changed = percent(self.placed, len(self.pods)), percent(self.changed, self.recorded)
        slow = f"p99 {self.p99_cycle_micros / 1000:.1f} ms"
        return f"placed {placed:.1f} %, changed {changed:.1f} %, {slow}"


def percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


def replay(cluster: SmallCluster, snapshot: Snapshot, wanted: Replay, profile: str) -> Replayed:
    """Places the wanted pods in a cluster that holds the snapshot."""
    engine, now_ns = cluster.engine, cluster.now_ns
    recorded: dict[str, str] = {}
    events: list[tuple[str, Json]] = []
    for pod in _wanted_pods(snapshot, wanted, profile):
        if cluster.plugged is not None:
            cluster.plugged.see([as_pending(pod, profile)])
        recorded[key_of(pod)] = node_of(pod)
        if node_of(pod) or scheduler_of(pod) != profile:
            events += (("DELETED", pod), ("ADDED", as_pending(pod, profile)))
        if len(events) >= BATCH_PODS:
            engine.watch("pods", watch_lines(*events), now_ns)
            events.clear()
    engine.watch("pods", watch_lines(*events), now_ns)
    pending = [pod for pod in engine.pending() if key_of_pod(pod) in recorded]
    ordered = queue_order(pending) if wanted.order == "queue" else sorted(pending, key=_created)
    decisions = (
        decide(engine, ordered, now_ns=now_ns)
        if cluster.plugged is None
        else cluster.plugged.decide(ordered)
    )
    decided = ((f"{d.namespace}/{d.name}", d) for d in decisions)
    return Replayed(
        tuple(
            ReplayedPod(key, recorded[key], of.node, of.message, of.score, of.took_ns)
            for key, of in decided
        ),
        now_ns,
    )


def _wanted_pods(snapshot: Snapshot, wanted: Replay, profile: str) -> Iterator[Json]:
    for pod in pods_of(snapshot):
        metadata = pod["metadata"]
        is_static = _MIRROR in mapping_at(metadata, "annotations")
        stays = has_ended(pod) or metadata.get("deletionTimestamp") or is_static
        is_served = wanted.every_pod or scheduler_of(pod) == profile
        if is_served and not stays and (wanted.pods == "all" or not node_of(pod)):
            yield pod


def _created(pod: PodChange) -> tuple[int, str, str]:
    return pod.created_ns, pod.namespace, pod.name


def compare_replay(expect: Expectation, got: Replayed, engine: Engine) -> Iterator[Mismatch]:
    """The mismatches. The engine holds the placed pods."""
    shares = (
        ("placed", expect.placed, got.placed, len(got.pods)),
        ("changedFromRecorded", expect.changed_from_recorded, got.changed, got.recorded),
    )
    for what, wanted, part, whole in shares:
        if wanted is not None:
            yield from _share(what, wanted, part, whole)
    slow, micros = expect.p99_cycle_micros, got.p99_cycle_micros
    if slow is not None and micros > slow.at_most:
        most = f"at most {plain_number(slow.at_most)}"
        yield Mismatch("p99CycleMicros", most, f"{micros:,.0f}", is_soft=slow.soft)
    if expect.never is not None:
        yield from _violations(expect.never, got, engine)


def _share(what: str, wanted: ShareRange, part: int, whole: int) -> Iterator[Mismatch]:
    for words, bound, sign in (("at least", wanted.at_least, 1), ("at most", wanted.at_most, -1)):
        if bound is None:
            continue
        is_percent = isinstance(bound, str)
        limit = float(bound.removesuffix("%") if isinstance(bound, str) else bound)
        if ((percent(part, whole) if is_percent else part) - limit) * sign < 0:
            shown = f"{words} {limit:g} {'%' if is_percent else 'pods'}"
            got = f"{percent(part, whole):.1f} %: {part:,} of {whole:,} pods"
            yield Mismatch(what, shown, got, is_soft=wanted.soft)


def _violations(text: str, got: Replayed, engine: Engine) -> Iterator[Mismatch]:
    expression = compile_never(text)
    found: list[str] = []
    for pod in got.pods:
        if not pod.node:
            continue
        decision = {"score": pod.score, "recordedNode": pod.recorded}
        answer = expression.is_true(engine, pod.pod, pod.node, decision, got.now_ns)
        if answer:
            error = f" ({answer})" if isinstance(answer, str) else ""
            found.append(f"{pod.pod} on {pod.node}{error}")
    if found:
        more = len(found) - PODS_NAMED_MAX
        names = ", ".join(found[:PODS_NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")
        yield Mismatch("never", " ".join(text.split()), names)


# Skips string literals. `decision.node` becomes `node` and blanks, so that places stay the same.
_TOKEN: Final = re.compile(
    r"""[rR]?(?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"|(?<![\w.])decision\s*\.\s*node(?!\w)"
)
_ENVIRONMENT: Final = Environment(
    roots=("pod", "node", "namespaceObject", "cluster", "now"),
    inputs={"decision": Type("map", (Type("string"), Type("dyn")))},
)


@dataclass(frozen=True, slots=True)
class Never:
    """An expression that must not be true for any placed pod. It can read what rules read, and
    `decision`, whose `node` is the chosen node. `ir` is None if the expression has errors; spans
    are in its text."""

    ir: Mapping[str, Any] | None
    diagnostics: tuple[Diagnostic, ...]

    def is_true(
        self, engine: Engine, pod: str, node: str, decision: Mapping[str, Any], now_ns: int
    ) -> bool | str:
        """The value, or why there is none. The engine holds the pod on its node."""
        variables = {"decision": exact_of(dict(decision))}
        request = {"ir": self.ir, "variables": variables, "pod": pod, "node": node, "trace": False}
        answer = json.loads(engine.evaluate(json.dumps(request).encode(), now_ns))
        if "value" in answer:
            return answer["value"] is True
        return str((answer.get("error") or answer["refused"])["message"])


def compile_never(text: str) -> Never:
    written = _TOKEN.sub(_without_decision, text)
    found = compile_expression(written, expects=(Type("bool"),), environment=_ENVIRONMENT)
    whole = Span(0, len(text))
    diagnostics = tuple(
        Diagnostic(
            finding.code, finding.severity, finding.message, finding.hint, finding.span or whole
        )
        for finding in found.diagnostics
    )
    return Never(found.ir, diagnostics)


def _without_decision(match: re.Match[str]) -> str:
    text = match[0]
    return "node".ljust(len(text)) if text.startswith("decision") else text
