"""What rules decide on a recorded cluster: which rules never differ, and how large scores get.

The engine is asked with programs of these rules alone, so that no rule hides another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.offline.answers.pod_decisions import Explaining
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot, has_ended, pods_of, scheduler_of
from kpolicy.offline.snapshots.json_objects import Json, key_of, mapping_at, name_of
from kpolicy.policy.assembly.assemble import Entries, Program, encode
from kpolicy.policy.assembly.expressions import ExpressionSets
from kpolicy.policy.assembly.resolve import AppliedRule
from kpolicy.policy.compile import EVERY_POD
from kpolicy.policy.yaml.nodes import Path

# Pods times nodes that are asked about: a second or two, whatever the snapshot.
JUDGEMENTS_MAX: Final = 100_000


@dataclass(slots=True)
class Verdicts:
    """The verdicts of one predicate, over pods and nodes."""

    passed: int = 0
    rejected: int = 0
    erred: int = 0
    why: str = ""


@dataclass(slots=True)
class Scores:
    """The scores of one priority. `pods` are those that were scored on two nodes or more."""

    low: float = 0
    high: float = 0
    count: int = 0
    pods: int = 0
    differs: bool = False

    def take(self, values: Sequence[float]) -> None:
        if not values:
            return
        low, high = min(values), max(values)
        self.low = min(self.low, low) if self.count else low
        self.high = max(self.high, high) if self.count else high
        self.count += len(values)
        self.pods += len(values) > 1
        self.differs |= low != high


@dataclass(slots=True)
class Judged:
    """By policy and path of the rule. `pods` were asked about, on each of `nodes`."""

    pods: int = 0
    nodes: int = 0
    verdicts: dict[tuple[str, Path], Verdicts] = field(default_factory=dict)
    scores: dict[tuple[str, Path], Scores] = field(default_factory=dict)


def judged(
    snapshot: Snapshot,
    rules: Mapping[str, Sequence[AppliedRule]],
    policies: Sequence[str],
    expressions: ExpressionSets,
    nodes: int,
) -> Judged:
    """`rules` are by scheduler name, all of them expressions that are sound."""
    found = Judged(nodes=nodes)
    if not nodes:
        return found
    maker = Entries({name: index for index, name in enumerate(policies)}, expressions)
    chosen = pods_by_profile(snapshot, frozenset(rules), max(1, JUDGEMENTS_MAX // nodes))
    asked: set[str] = set()
    for scheduler_name, applied in rules.items():
        keys = chosen.get(scheduler_name) or chosen.get("", [])
        asked.update(keys)
        if not keys:
            continue
        filters = {_name(at): rule for at, rule in enumerate(applied) if _filters(rule)}
        scores = {_name(at): rule for at, rule in enumerate(applied) if _scores(rule)}
        if filters:
            entries = [_asking(maker.filter(rule), name) for name, rule in filters.items()]
            for line in _explained(snapshot, _program(policies, filters=entries), keys):
                _take_verdicts(found, line, filters)
        if scores:
            entries = [_asking(maker.score(rule), name) for name, rule in scores.items()]
            for line in _explained(snapshot, _program(policies, scores=entries), keys):
                _take_scores(found, line, scores)
    found.pods = len(asked)
    return found


def _filters(rule: AppliedRule) -> bool:
    return rule.written.path[1] == "predicates"


def _scores(rule: AppliedRule) -> bool:
    """Rules that choose devices judge allocations, and not nodes."""
    return not _filters(rule) and not rule.written.scores_devices


def _name(at: int) -> str:
    """Names are the user's, and may be alike; these are not."""
    return f"rule-{at}"


def _asking(entry: dict[str, Any], name: str) -> dict[str, Any]:
    asked = {**entry, "name": name}
    if "enforcement" in asked:
        asked |= {"enforcement": "deny", "onError": "reject"}
    if "normalize" in asked:
        asked |= {"normalize": {"method": "none"}, "weight": 1}
    return asked


def _program(
    policies: Sequence[str],
    filters: Sequence[dict[str, Any]] = (),
    scores: Sequence[dict[str, Any]] = (),
) -> Program:
    profile: dict[str, Any] = {
        "schedulerName": EVERY_POD,
        "percentageOfNodesToScore": 100,
        "filters": list(filters),
        "scores": list(scores),
        "preemption": {"policy": "Never"},
    }
    return encode(policies, "name", [profile], [()])


def _explained(snapshot: Snapshot, program: Program, keys: Sequence[str]) -> Iterator[Json]:
    return map(json.loads, Explaining(snapshot, program).lines_of(keys))


def _take_verdicts(found: Judged, line: Json, rules: Mapping[str, AppliedRule]) -> None:
    nodes = line.get("nodes", [])
    rejections = [
        {status["plugin"]: status for status in node.get("allFilters", [])} for node in nodes
    ]
    for name, rule in rules.items():
        verdicts = found.verdicts.setdefault(rule.written.identity, Verdicts())
        for failed in rejections:
            if name not in failed:
                verdicts.passed += 1
                continue
            verdicts.rejected += 1
            reason = " ".join(failed[name].get("reasons", []))
            before, is_error, why = reason.partition(" could not be evaluated: ")
            if is_error and before == f"rule {name}":
                verdicts.erred += 1
                verdicts.why = verdicts.why or why


def _take_scores(found: Judged, line: Json, rules: Mapping[str, AppliedRule]) -> None:
    raw = [node["raw"] for node in line.get("nodes", []) if "raw" in node]
    for name, rule in rules.items():
        scores = found.scores.setdefault(rule.written.identity, Scores())
        scores.take([scored[name] for scored in raw if name in scored])


def pods_by_profile(snapshot: Snapshot, served: frozenset[str], most: int) -> dict[str, list[str]]:
    """By scheduler name, pods that differ; under the empty name, those of schedulers not served.

    Pods of one template are alike in all that most rules read, so one stands for them."""
    chosen: dict[str, list[str]] = {}
    shapes: set[str] = set()
    for pod in pods_of(snapshot):
        if has_ended(pod) or not name_of(pod):
            continue
        name = scheduler_of(pod)
        keys = chosen.setdefault(name if name in served else "", [])
        shape = _shape(pod["metadata"], mapping_at(pod, "spec"))
        if len(keys) < most and shape not in shapes:
            shapes.add(shape)
            keys.append(key_of(pod))
    return chosen


def _shape(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    of_spec = {key: value for key, value in spec.items() if key not in ("nodeName", "volumes")}
    of_pod = {key: metadata.get(key) for key in ("namespace", "labels", "annotations")}
    return json.dumps([of_pod, of_spec], sort_keys=True, default=str)
