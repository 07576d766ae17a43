"""A PolicyTest made from a decision about a recorded cluster. Its expectations are what holds now,
or what should.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kpolicy.offline.policy_tests.document_model import KIND
from kpolicy.policy.format.yaml_text import emitted
from kpolicy.policy.models.scheduling_policy import API_VERSION

# One node for each reason, so that a case of a large cluster can be read.
_REASONS_MAX: Final = 8
_BEST_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class CaseInputs:
    """What the document names: files beside it, or policies that come with kpolicy."""

    policies: Sequence[str]
    snapshot: Sequence[str]
    profile: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)


def recorded_case(
    explained: Mapping[str, Any],
    inputs: CaseInputs,
    name: str = "",
    expected: Mapping[str, Any] | None = None,
) -> str:
    """The text of the document. `explained`: a line of `kpolicy explain --output jsonl`;
    `expected`: what should have been decided."""
    pod = explained["pod"]
    expect = dict(expected) if expected else _expectations(explained)
    outcome = "is decided as it should be" if expected else _outcome(explained)
    test: dict[str, Any] = {
        "name": name or f"{pod} {outcome}",
        "podFrom": {"snapshot": pod},
    }
    if inputs.params:
        test["params"] = dict(inputs.params)
    data: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": pod.replace("/", ".")},
        **({"policies": list(inputs.policies)} if inputs.policies else {}),
        "snapshot": list(inputs.snapshot),
        **({"profile": inputs.profile} if inputs.profile else {}),
        "tests": [{**test, "expect": expect}],
    }
    return f"# Recorded by `kpolicy test --record`.\n{emitted(data, {})}"


def _outcome(explained: Mapping[str, Any]) -> str:
    if "preEnqueue" in explained:
        return "waits for its gates"
    if "selected" not in explained:
        return "fits nowhere"
    best = explained["best"]
    return f"goes to {best[0]}" if len(best) == 1 else f"goes to one of {len(best)} nodes"


def _expectations(explained: Mapping[str, Any]) -> dict[str, Any]:
    if "preEnqueue" in explained:
        return {"decision": "gate"}
    expect: dict[str, Any] = {"decision": "place" if "selected" in explained else "park"}
    if "selected" in explained:
        best = sorted(explained["best"])
        if len(best) <= _BEST_MAX:
            expect["best"] = best
        else:
            expect["node"] = {"oneOf": best}
    elif explained.get("message"):
        expect["message"] = {"contains": explained["message"]}
    rejected: dict[tuple[str, tuple[str, ...]], str] = {}
    for node in explained.get("nodes", ()):
        status = node.get("filter")
        if status is not None:
            rejected.setdefault((status["plugin"], tuple(status["reasons"])), node["name"])
    filters = {
        node: {"rejectedBy": plugin}
        for (plugin, _), node in list(rejected.items())[:_REASONS_MAX]
        if plugin
    }
    return {**expect, **({"filters": filters} if filters else {})}
