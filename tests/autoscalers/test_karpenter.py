"""The pods for which Karpenter may make nodes are those that a new node could help, in random
scenarios. Karpenter's own filter reads them as the API server has them.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.autoscalers.cluster import Pod
from tests.autoscalers.fate import Fate, fate_of, lacking
from tests.autoscalers.stage import POLICIES_OF_A_WORLD, SCENARIOS_OF_A_POLICY, decided_scenarios

pytestmark = [pytest.mark.peer, pytest.mark.timeout(600)]

FIRST_SEED: Final = 1
SCENARIOS: Final = 1_000
_WORLDS: Final = SCENARIOS // (POLICIES_OF_A_WORLD * SCENARIOS_OF_A_POLICY)
# Of each fate, at least so many pods in all scenarios.
_SEEN_MIN: Final = {
    Fate.GATED: 300,
    Fate.HELD: 500,
    Fate.KEPT_BACK: 500,
    Fate.PREEMPTING: 30,
    Fate.SHORT: 1_500,
}
# And of the pods that a new node could help, so many that lack this resource alone.
_LACKING_MIN: Final = {"cpu": 50, "memory": 50, "pods": 50}


@dataclass(slots=True)
class _Seen:
    """`stored`: the pods that wait, as the API server has them, in the order of `expected`."""

    scenarios: int = 0
    expected: list[tuple[int, Pod, Fate]] = field(default_factory=list)
    stored: list[Mapping[str, Any]] = field(default_factory=list)
    lacking: Counter[str] = field(default_factory=Counter)


def _seen(seeds: range) -> _Seen:
    seen = _Seen()
    for seed in seeds:
        for decided in decided_scenarios(seed):
            seen.scenarios += 1
            for pod, stored in decided.pending.items():
                fate = fate_of(pod, decided.policy, decided.cluster)
                seen.expected.append((seed, pod, fate))
                seen.stored.append(stored)
                if fate is Fate.SHORT and len(resources := lacking(pod, decided.cluster)) == 1:
                    seen.lacking.update(resources)
    return seen


def _is_provisionable(program: Path, pods: Sequence[Mapping[str, Any]]) -> list[bool]:
    lines = "".join(f"{json.dumps(pod)}\n" for pod in pods)
    done = subprocess.run([program], input=lines.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    words = done.stdout.decode().split()
    assert set(words) <= {"provisionable", "left"}
    assert len(words) == len(pods)
    return [word == "provisionable" for word in words]


def _wrong(seen: _Seen, provisionable: Sequence[bool]) -> Iterator[str]:
    rows = zip(seen.expected, seen.stored, provisionable, strict=True)
    for (seed, pod, fate), stored, is_provisionable in rows:
        is_nominated = bool(stored["status"].get("nominatedNodeName"))
        is_right = (
            fate is not Fate.PLACEABLE
            and is_provisionable is (fate is Fate.SHORT)
            and is_nominated is (fate is Fate.PREEMPTING)
        )
        if not is_right:
            what = "provisionable" if is_provisionable else "left"
            yield f"seed {seed}: {pod}: {fate.value}, and {what}: {stored['status']}"


def test_karpenter_makes_nodes_for_the_pods_that_one_could_help(karpenter_filter: Path) -> None:
    seen = _seen(range(FIRST_SEED, FIRST_SEED + _WORLDS))
    provisionable = _is_provisionable(karpenter_filter, seen.stored)
    wrong = list(_wrong(seen, provisionable))
    assert wrong == [], f"{len(wrong)} of {len(seen.expected)} pods"
    assert seen.scenarios == SCENARIOS
    fates = Counter(fate for _, _, fate in seen.expected)
    assert {fate: fates[fate] for fate, least in _SEEN_MIN.items() if fates[fate] < least} == {}
    short = {
        name: seen.lacking[name]
        for name, least in _LACKING_MIN.items()
        if seen.lacking[name] < least
    }
    assert short == {}
