"""What would place pods, as the engine says it: of one pod, or summed up over a group of pods or a
namespace.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kpolicy.offline.limits import ADVISED_SHAPES_MAX
from kpolicy.quick_dataclass import dataclass


def request_on(key: str) -> bytes:
    """Asks the engine for advice on one pod (`namespace/name`)."""
    return json.dumps({"pods": [key], "limit": 1}).encode()


def advice_in(answer: bytes) -> dict[str, Any]:
    """The advice on one pod; empty where no profile serves it."""
    lines = answer.splitlines()
    advice: dict[str, Any] = json.loads(lines[0]) if lines else {}
    advice.pop("pods", None)
    return advice


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose pods are summed up: of a namespace, or of a group in it."""

    namespace: str
    group: str = ""

    def __str__(self) -> str:
        if self.group:
            return f"the group {self.group} of the namespace {self.namespace}"
        return f"the namespace {self.namespace}"

    def request(self, limit: int = ADVISED_SHAPES_MAX) -> bytes:
        asked = {"namespace": self.namespace, "group": self.group or None, "limit": limit}
        return json.dumps(asked).encode()


@dataclass(frozen=True, slots=True)
class Sums:
    """`situations`, `by_rule`: how many pending pods. `advice`: of pods alike, the most pods first;
    `left_out`: pods on which no advice was made, as there are too many kinds of them;
    `judge`: who judged, as of `Why`, empty where the answer is the judge's own."""

    scope: Scope
    pods: int
    pending: int
    situations: Mapping[str, int]
    by_rule: Mapping[str, int]
    advice: tuple[Mapping[str, Any], ...]
    left_out: int = 0
    judge: str = ""

    @property
    def suggestions(self) -> list[dict[str, Any]]:
        """By kind, how many pods one suggestion of it would place each; the most pods first."""
        placed: Counter[tuple[str, str]] = Counter()
        for each in self.advice:
            for kind in {(found["of"], found["kind"]) for found in each.get("suggestions", ())}:
                placed[kind] += len(each["pods"])
        ordered = sorted(placed.items(), key=lambda item: (-item[1], item[0]))
        return [{"of": of, "kind": kind, "pods": pods} for (of, kind), pods in ordered]

    def line(self) -> dict[str, Any]:
        """The JSON of `kpolicy why --namespace NS --output json`."""
        line: dict[str, Any] = {"namespace": self.scope.namespace}
        if self.scope.group:
            line["group"] = self.scope.group
        return line | {
            "pods": self.pods,
            "pending": self.pending,
            "situations": dict(self.situations),
            "rejectedBy": dict(self.by_rule),
            "suggestions": self.suggestions,
            "leftOut": self.left_out,
            "advice": [dict(each) for each in self.advice],
            **({"judgedBy": self.judge} if self.judge else {}),
        }


def sums_of(line: Mapping[str, Any]) -> Sums:
    """Of the JSON of `Sums.line`."""
    return Sums(
        Scope(line["namespace"], line.get("group", "")),
        line["pods"],
        line["pending"],
        line["situations"],
        line["rejectedBy"],
        tuple(line["advice"]),
        line["leftOut"],
    )


def sums(scope: Scope, lines: Iterable[bytes]) -> Sums:
    """From what the engine says of the pods of a namespace or a group."""
    counts, *advice = map(json.loads, lines)
    situations: Counter[str] = Counter()
    by_rule: Counter[str] = Counter()
    made, left_out = [], 0
    for each in advice:
        pods = len(each["pods"])
        if each.get("leftOut"):
            left_out += pods
            continue
        made.append(each)
        situations[each["situation"]] += pods
        held = each.get("heldBy")
        for rule in each.get("rejectedBy", ()) if held is None else (held["rule"],):
            by_rule[rule] += pods
    made.sort(key=lambda each: (-len(each["pods"]), each["pods"][0]))
    found = counts["counts"]
    return Sums(
        scope,
        found["pods"],
        found["pending"],
        dict(situations.most_common()),
        dict(sorted(by_rule.items(), key=lambda item: (-item[1], item[0]))),
        tuple(made),
        left_out,
    )
