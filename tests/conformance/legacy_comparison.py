"""Checks that kpolicy decides by a legacy Policy as kube-scheduler 1.20 did.

Lists where the two may differ, each with its reason and its own narrow test. A difference that no
entry explains is a failure. Answers have the shape of `explain`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.conformance.legacy_cluster import Pod, affinity_labels, pod_of
from tests.conformance.legacy_golden import Asked, World

Json = Mapping[str, Any]
Verdicts = dict[str, tuple[str, frozenset[str]]]

# Why an answer may differ from the recorded one.
DEVIATIONS: Final = {
    "reason texts": "1.36 words some reasons anew",
    "nothing asked": "1.36 does not count as short what a pod asks nothing of",
    "beyond the empty node": "1.36 says so where evicting cannot make room",
    "named nodes": "1.36 leaves out beforehand the nodes that an affinity does not name",
    "any peer": "1.20 took whichever peer came first where peers disagree in the labels",
    "namespace selectors": "1.20 did not know namespaceSelector of pod affinity",
    "spreading": "SelectorSpread stays what its name says; 1.20 made spreading by topology of it",
    "topology": "1.36 scores spreading by topology otherwise",
    "balance": "1.36 scores balance by what the pod changes, unless a release is pinned",
    "range": "1.36 does not begin the range of pod affinity at 0",
    "argument": "the argument of a built-in name is honoured unless a release since 1.18 is pinned",
    "other nodes": "scores that look at all feasible nodes differ where another node is feasible",
}

_TEXTS: Final = (
    (
        r"node\(s\) had taint \{.*\}, that the pod didn't tolerate",
        "node(s) had untolerated taint(s)",
    ),
    (
        r"node\(s\) didn't match Pod's node affinity",
        "node(s) didn't match Pod's node affinity/selector",
    ),
    # 1.20 put the general reason before each particular reason.
    (r"node\(s\) didn't match pod affinity/anti-affinity", ""),
)
_SPREADING: Final = ("SelectorSpread", "PodTopologySpread")
# Their score of a node depends on that node alone.
_BY_THEMSELVES: Final = (
    "NodeLabel",
    "NodePreferAvoidPods",
    "NodeResourcesLeastAllocated",
    "NodeResourcesMostAllocated",
    "RequestedToCapacityRatio",
    "ImageLocality",
    "NodeResourcesBalancedAllocation",
)


@dataclass(slots=True)
class Comparison:
    """What was compared, the deviations that occurred, and differences without explanation."""

    counts: Counter[str] = field(default_factory=Counter)
    deviations: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def add(self, other: Comparison) -> None:
        self.counts.update(other.counts)
        self.deviations.update(other.deviations)
        self.differences += other.differences

    def deviates(self, name: str) -> None:
        assert name in DEVIATIONS
        self.deviations[name] += 1


def compare(document: str, asked: Asked, world: World, *, is_pinned: bool) -> Comparison:
    found = Comparison()
    found.counts["worlds"] += 1
    assert sorted(asked.answers) == sorted(want["pod"] for want in world.expected)
    labels = affinity_labels(asked)
    for want in world.expected:
        found.counts["pods"] += 1
        pod = pod_of(want["pod"], world.cluster, labels)
        comparison = _OnePod(found, asked, pod, f"{document} {want['pod']}", is_pinned=is_pinned)
        comparison.compare(asked.answers[want["pod"]], want)
    return found


@dataclass(slots=True)
class _OnePod:
    found: Comparison
    asked: Asked
    pod: Pod
    place: str
    is_pinned: bool

    def differ(self, what: str, got: object, want: object) -> None:
        self.found.differences.append(f"{self.place} {what}: got {got!r}, want {want!r}")

    def compare(self, got: Json, want: Json) -> None:
        for stage in ("preEnqueue", "preFilter"):
            if got.get(stage) or want.get(stage):
                self.differ(stage, got.get(stage), want.get(stage))
        ours = {node["name"]: node for node in got["nodes"]}
        theirs = {node["name"]: node for node in want["nodes"]}
        if sorted(ours) != sorted(theirs):
            self.differ("nodes", sorted(ours), sorted(theirs))
            return
        for name, node in theirs.items():
            self.filters(name, ours[name], node)
        feasible = [{n for n, node in side.items() if "total" in node} for side in (ours, theirs)]
        is_same = feasible[0] == feasible[1]
        differing = False
        for name in sorted(feasible[0] & feasible[1]):
            differing |= self.scores(name, ours[name], theirs[name], is_same=is_same)
        if is_same and not differing:
            self.found.counts["best"] += 1
            if sorted(got.get("best") or ()) != sorted(want.get("best") or ()):
                self.differ("best", got.get("best"), want.get("best"))

    # Verdicts.

    def filters(self, name: str, got: Json, want: Json) -> None:
        if (got.get("filter") or {}).get("plugin") == "PreFilter":
            self.found.deviates("named nodes")
            return
        self.found.counts["verdicts"] += 1
        ours = _verdicts(got, self.asked.builtins)
        theirs = self.reworded(_verdicts(want, {}))
        for plugin in sorted(ours.keys() | theirs.keys()):
            mine, recorded = ours.get(plugin), theirs.get(plugin)
            if mine != recorded and not self.explained(plugin, mine, recorded):
                self.differ(f"{name} {plugin}", mine, recorded)

    def reworded(self, verdicts: Verdicts) -> Verdicts:
        changed: Verdicts = {}
        for plugin, (code, reasons) in verdicts.items():
            texts = frozenset(text for reason in reasons for text in _reworded(reason))
            if texts != reasons:
                self.found.deviates("reason texts")
            changed[plugin] = code, texts
        return changed

    def explained(
        self,
        plugin: str,
        mine: tuple[str, frozenset[str]] | None,
        recorded: tuple[str, frozenset[str]] | None,
    ) -> bool:
        if plugin == "ServiceAffinity":
            return self.is_peer_open(mine is not None)
        if plugin != "NodeResourcesFit" or recorded is None:
            return False
        code, reasons = mine or (recorded[0], frozenset())
        more = {reason.removeprefix("Insufficient ") for reason in recorded[1] - reasons}
        if reasons - recorded[1] or more & self.pod.asks:
            return False
        if more:
            self.found.deviates("nothing asked")
        if code != recorded[0]:
            self.found.deviates("beyond the empty node")
            return (code, recorded[0]) == ("UnschedulableAndUnresolvable", "Unschedulable")
        return True

    def is_peer_open(self, is_rejected: bool) -> bool:
        if self.place.startswith("X17"):
            self.found.deviates("argument")
            return is_rejected
        if self.pod.has_peers_apart:
            self.found.deviates("any peer")
        return self.pod.has_peers_apart

    # Scores.

    def scores(self, name: str, got: Json, want: Json, *, is_same: bool) -> bool:
        """Whether weighted scores of a rule differ, so that the best nodes may differ."""
        ours = _by_builtin(got["weighted"], self.asked.builtins)
        left = got["total"] - sum(sum(weighted.values()) for weighted in ours.values())
        if left:
            self.differ(f"{name} total beyond its parts", left, 0)
        differing = False
        recorded, recorded_raw = want.get("weighted") or {}, want.get("raw") or {}
        total = want["total"]
        for plugin in sorted(ours.keys() | recorded.keys()):
            weighted = ours.get(plugin, {})
            raw = {rule: got["raw"].get(rule, 0) for rule in weighted}
            theirs = recorded_raw.get(plugin, 0), recorded.get(plugin, 0)
            total -= theirs[1]
            is_met = self.plugin_scores(f"{name} {plugin}", raw, weighted, theirs, is_same=is_same)
            differing |= not is_met
        if total:
            self.differ(f"{name} recorded total beyond its parts", total, 0)
        return differing

    def plugin_scores(
        self,
        what: str,
        raw: Json,
        weighted: Json,
        theirs: tuple[int, int],
        *,
        is_same: bool,
    ) -> bool:
        plugin = what.rsplit(" ", 1)[1]
        named = self.score_deviation(plugin)
        mean = sum(raw.values()) // max(len(raw), 1)
        total = sum(weighted.values())
        if named:
            if (mean, total) != theirs:
                self.found.deviates(named)
            return total == theirs[1]
        self.found.counts["raw"] += 1
        if mean != theirs[0]:
            self.differ(f"{what} raw", mean, theirs[0])
        if not is_same and plugin not in _BY_THEMSELVES:
            if total != theirs[1]:
                self.found.deviates("other nodes")
            return total == theirs[1]
        self.found.counts["weighted"] += 1
        if total == theirs[1]:
            return True
        if plugin == "InterPodAffinity":
            self.found.deviates("range")
        else:
            self.differ(f"{what} weighted", total, theirs[1])
        return False

    def score_deviation(self, plugin: str) -> str:
        """Why a plugin's scores are not those of 1.20, if so."""
        if plugin in _SPREADING:
            return "topology" if self.is_pinned else "spreading"
        if plugin == "NodeResourcesBalancedAllocation" and not self.is_pinned:
            return "balance"
        if plugin == "InterPodAffinity" and self.pod.is_affinity_by_selector:
            return "namespace selectors"
        return ""


def _verdicts(node: Json, builtins: Mapping[str, str]) -> Verdicts:
    return {
        builtins.get(status["plugin"], status["plugin"]): (
            status["code"],
            frozenset(status["reasons"]),
        )
        for status in node.get("allFilters") or ()
    }


def _reworded(reason: str) -> tuple[str, ...]:
    for pattern, text in _TEXTS:
        if re.fullmatch(pattern, reason):
            return (text,) if text else ()
    return (reason,)


def _by_builtin(values: Json, builtins: Mapping[str, str]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for rule, value in values.items():
        found[builtins[rule]][rule] = value
    return found
