"""A replay: the pods of a recorded cluster placed again, and how well that went.

Owns which pods are taken, their order, and the figures. Pods that are on nodes are taken off before
the first is placed. What ended, is ending, or belongs to a node's own kubelet stays where it is.
Assumes an engine that holds the cluster. Must not compare.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Span
from kpolicy.engine import Decision, Engine, PodChange
from kpolicy.offline.decide.expression_values import given
from kpolicy.offline.limits import BATCH_PODS, PODS_NAMED_MAX
from kpolicy.offline.policy_tests.document_model import Expectation, Replay, ShareRange
from kpolicy.offline.policy_tests.matching import plain_number
from kpolicy.offline.policy_tests.results import Mismatch
from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.offline.snapshots.object_kinds import DEFAULT_SCHEDULER, key_of
from kpolicy.offline.snapshots.pod_lookup import key_of_pod, queue_order
from kpolicy.offline.snapshots.snapshot import Snapshot
from kpolicy.policy.cel import Environment, Type, compile_expression

_MIRROR: Final = "kubernetes.io/config.mirror"
_ENDED: Final = frozenset({"Succeeded", "Failed"})
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
    pods: tuple[ReplayedPod, ...] = field(default=())

    @property
    def placed(self) -> int:
        return sum(1 for one in self.pods if one.node)

    @property
    def recorded(self) -> int:
        """Pods that were on a node."""
        return sum(1 for one in self.pods if one.recorded)

    @property
    def changed(self) -> int:
        """Of those, how many are elsewhere now, or nowhere."""
        return sum(1 for one in self.pods if one.recorded and one.node != one.recorded)

    @property
    def p99_cycle_micros(self) -> float:
        """Filtering and scoring, of the slowest pod but one in a hundred."""
        ordered = sorted(one.cycle_ns for one in self.pods)
        if not ordered:
            return 0.0
        return ordered[min(len(ordered) - 1, int(len(ordered) * _QUANTILE))] / _NS_A_MICRO

    def summary(self) -> str:
        """As `kpolicy test` prints it."""
        placed, changed = percent(self.placed, len(self.pods)), percent(self.changed, self.recorded)
        slow = f"p99 {self.p99_cycle_micros / 1000:.1f} ms"
        return f"placed {placed:.1f} %, changed {changed:.1f} %, {slow}"


def percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


def replay(
    engine: Engine, snapshot: Snapshot, wanted: Replay, profile: str, now_ns: int
) -> Replayed:
    recorded: dict[str, str] = {}
    lines: list[str] = []
    for pod in _taken(snapshot, wanted, profile):
        spec = pod.get("spec") or {}
        recorded[key_of(pod)] = spec.get("nodeName") or ""
        if not spec.get("nodeName") and _scheduler(pod) == profile:
            continue
        lines += _lifted(pod, spec, profile)
        if len(lines) >= BATCH_PODS:
            engine.watch("pods", "".join(lines).encode(), now_ns)
            lines.clear()
    engine.watch("pods", "".join(lines).encode(), now_ns)
    pending = [one for one in engine.pending() if key_of_pod(one) in recorded]
    ordered = queue_order(pending) if wanted.order == "queue" else sorted(pending, key=_created)
    uids = [one.uid for one in ordered]
    pods: list[ReplayedPod] = []
    for start in range(0, len(uids), BATCH_PODS):
        batch = engine.schedule(uids[start : start + BATCH_PODS], now_ns)
        pods += [_replayed(one, recorded) for one in batch.decisions]
    return Replayed(tuple(pods))


def _taken(snapshot: Snapshot, wanted: Replay, profile: str) -> Iterator[Json]:
    for _, item in snapshot.objects():
        metadata, status = item.get("metadata"), item.get("status")
        if item.get("kind") != "Pod" or not isinstance(metadata, dict):
            continue
        has_ended = isinstance(status, dict) and status.get("phase") in _ENDED
        stays = metadata.get("deletionTimestamp") or _MIRROR in (metadata.get("annotations") or {})
        if has_ended or stays or not (wanted.every_pod or _scheduler(item) == profile):
            continue
        if wanted.pods == "all" or not (item.get("spec") or {}).get("nodeName"):
            yield item


def _scheduler(pod: Json) -> str:
    return str((pod.get("spec") or {}).get("schedulerName") or DEFAULT_SCHEDULER)


def _lifted(pod: Json, spec: Json, profile: str) -> list[str]:
    """Gone, and come again as pending."""
    without_node = {name: value for name, value in spec.items() if name != "nodeName"}
    pending = {name: value for name, value in pod.items() if name != "status"}
    pending["spec"] = {**without_node, "schedulerName": profile}
    events: tuple[tuple[str, Any], ...] = (("DELETED", pod), ("ADDED", pending))
    return [json.dumps({"type": kind, "object": item}) + "\n" for kind, item in events]


def _created(pod: PodChange) -> tuple[int, str, str]:
    return pod.created_ns, pod.namespace, pod.name


def _replayed(decision: Decision, recorded: dict[str, str]) -> ReplayedPod:
    key = f"{decision.namespace}/{decision.name}"
    return ReplayedPod(
        key,
        recorded[key],
        decision.node,
        decision.message,
        decision.score,
        decision.took_ns,
    )


# Texts are passed over; `decision.node` becomes `node` with as many blanks, so that places stay.
_TOKEN: Final = re.compile(
    r"""[rR]?(?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"|(?<![\w.])decision\s*\.\s*node(?!\w)"
)
_ENVIRONMENT: Final = Environment(
    roots=("pod", "node", "namespaceObject", "cluster"),
    inputs={"decision": Type("map", (Type("string"), Type("dyn")))},
)
_BOOL: Final = (Type("bool"),)


@dataclass(frozen=True, slots=True)
class Never:
    """`ir` is None where the expression has errors; spans are in its text."""

    ir: Mapping[str, Any] | None
    diagnostics: tuple[Diagnostic, ...]

    def is_true(
        self, engine: Engine, pod: str, node: str, decision: Mapping[str, Any]
    ) -> bool | str:
        """Or why it cannot be evaluated."""
        variables = {"decision": given(dict(decision))}
        request = {"ir": self.ir, "variables": variables, "pod": pod, "node": node, "trace": False}
        answer = json.loads(engine.evaluate(json.dumps(request).encode()))
        if "value" in answer:
            return answer["value"] is True
        told = answer.get("error") or answer["refused"]
        return str(told["message"])


def compiled(text: str) -> Never:
    found = compile_expression(_TOKEN.sub(_node, text), expects=_BOOL, environment=_ENVIRONMENT)
    whole = Span(0, len(text))
    said = tuple(
        Diagnostic(one.code, one.severity, one.message, one.hint, one.span or whole)
        for one in found.diagnostics
    )
    return Never(found.ir, said)


def _node(match: re.Match[str]) -> str:
    text = match[0]
    return "node".ljust(len(text)) if text.startswith("decision") else text


def compare_replay(expect: Expectation, got: Replayed, engine: Engine) -> Iterator[Mismatch]:
    """What does not hold."""
    if expect.placed is not None:
        yield from _share("placed", expect.placed, got.placed, len(got.pods))
    if expect.changed_from_recorded is not None:
        yield from _share(
            "changedFromRecorded", expect.changed_from_recorded, got.changed, got.recorded
        )
    slow = expect.p99_cycle_micros
    if slow is not None and got.p99_cycle_micros > slow.at_most:
        wanted = f"at most {plain_number(slow.at_most)}"
        have = f"{got.p99_cycle_micros:,.0f}"
        yield Mismatch("p99CycleMicros", wanted, have, is_soft=slow.soft)
    if expect.never is not None:
        yield from _never(expect.never, got, engine)


def _share(what: str, wanted: ShareRange, part: int, whole: int) -> Iterator[Mismatch]:
    bounds = (("at least", wanted.at_least, 1), ("at most", wanted.at_most, -1))
    for words, bound, sign in bounds:
        if bound is None:
            continue
        in_percent = isinstance(bound, str)
        have = percent(part, whole) if in_percent else float(part)
        limit = float(bound.removesuffix("%")) if isinstance(bound, str) else float(bound)
        if (have - limit) * sign < 0:
            shown = f"{limit:g} %" if in_percent else f"{limit:g} pods"
            got = f"{percent(part, whole):.1f} %: {part:,} of {whole:,} pods"
            yield Mismatch(what, f"{words} {shown}", got, is_soft=wanted.soft)


def _never(text: str, got: Replayed, engine: Engine) -> Iterator[Mismatch]:
    expression = compiled(text)
    broken: list[str] = []
    for one in got.pods:
        if not one.node:
            continue
        decision = {"score": one.score, "recordedNode": one.recorded}
        answer = expression.is_true(engine, one.pod, one.node, decision)
        if isinstance(answer, str):
            broken.append(f"{one.pod} on {one.node} ({answer})")
        elif answer:
            broken.append(f"{one.pod} on {one.node}")
    if broken:
        more = len(broken) - PODS_NAMED_MAX
        listed = ", ".join(broken[:PODS_NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")
        yield Mismatch("never", " ".join(text.split()), listed)
