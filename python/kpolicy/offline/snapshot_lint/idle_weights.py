"""KP328: scores whose weight changes no decision about a recorded cluster.

The whole program is asked. A score matters if the best nodes of a pod would be others without it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kpolicy.offline.answers.pod_decisions import Explaining
from kpolicy.offline.snapshot_lint.rule_verdicts import pods_by_profile
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.offline.snapshots.json_objects import Json
from kpolicy.policy.assembly.assemble import Program, encode
from kpolicy.policy.assembly.releases import Followed
from kpolicy.policy.compile import EVERY_POD

# Pods times nodes that are asked about: all rules are asked, not only a document's own.
JUDGEMENTS_MAX = 25_000

# The name of a policy, and of a score in it.
ScoreName: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class Weighed:
    """What one score changed. `least` is the smallest weight that would change a decision."""

    weight: int
    pods: int = 0
    matters: bool = False
    least: float = math.inf


def weighed(snapshot: Snapshot, program: Program, nodes: int) -> dict[ScoreName, Weighed]:
    """Scores by expressions. `pods` of each are those with two nodes or more to choose from."""
    found: dict[ScoreName, Weighed] = {}
    document = json.loads(program.bytes)
    profiles = {profile["schedulerName"]: profile for profile in document["profiles"]}
    chosen = pods_by_profile(snapshot, frozenset(profiles), max(1, JUDGEMENTS_MAX // max(1, nodes)))
    for scheduler_name, profile in profiles.items():
        keys = chosen.get(scheduler_name) or chosen.get("", [])
        asked, names = _asked(document, profile)
        if not keys or not names:
            continue
        for line in map(json.loads, Explaining(snapshot, asked).lines_of(keys)):
            _take(found, line, names)
    return found


def _asked(
    document: Mapping[str, Any], profile: Mapping[str, Any]
) -> tuple[Program, dict[str, tuple[ScoreName, int]]]:
    """The profile for every pod, with names of scores that differ, and what they stand for."""
    scores: list[dict[str, Any]] = []
    names: dict[str, tuple[ScoreName, int]] = {}
    for at, entry in enumerate(profile["scores"]):
        if "expression" not in entry:
            scores.append(entry)
            continue
        names[f"rule-{at}"] = (
            (document["policies"][entry["policy"]], entry["name"]),
            entry["weight"],
        )
        scores.append({**entry, "name": f"rule-{at}"})
    alone = {**profile, "schedulerName": EVERY_POD, "percentageOfNodesToScore": 100}
    alone |= {"scores": scores, "preemption": {"policy": "Never"}}
    followed = Followed(document["release"], gates=document.get("featureGates", {}))
    return encode(document["policies"], "name", [alone], [()], followed=followed), names


def _take(
    found: dict[ScoreName, Weighed], line: Json, names: Mapping[str, tuple[ScoreName, int]]
) -> None:
    nodes = [node for node in line.get("nodes", []) if "weighted" in node]
    if len(nodes) < 2:
        return
    totals = [float(node["total"]) for node in nodes]
    for name, (score, weight) in names.items():
        of_score = found.setdefault(score, Weighed(weight))
        of_score.pods += 1
        own = [float(node["weighted"].get(name, 0)) for node in nodes]
        others = [total - value for total, value in zip(totals, own, strict=True)]
        best = _best(others)
        of_score.matters |= _best(totals) != best
        of_score.least = min([of_score.least, *_overtaking(others, own, weight, best)])


def _best(totals: Sequence[float]) -> list[int]:
    most = max(totals)
    return [at for at, total in enumerate(totals) if total == most]


def _overtaking(
    others: Sequence[float], own: Sequence[float], weight: int, best: Sequence[int]
) -> Iterator[float]:
    """The weights from which another node would be as good as the best."""
    first = best[0]
    for other, value in zip(others, own, strict=True):
        gain = (value - own[first]) / weight
        if gain > 0:
            yield math.ceil((others[first] - other) / gain)
