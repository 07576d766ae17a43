"""Advice on pods that fit nowhere, on a large cluster of mixed pods: how long the engine takes for
what `kpolicy why` and `/debug/explain` say, by the sort of pod.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kpolicy.cli.input_output import progress_bar
from kpolicy.engine import Engine
from kpolicy.offline.answers.advice import advice_in, request_on
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.bench.workloads import APPS, DISK, HOSTNAME, REQUIRED, ZONE
from kpolicy.offline.reports.columns import columns
from kpolicy.offline.snapshots.cluster_snapshot import default_program

NODES: Final = 5_000
EXISTING_A_NODE: Final = 10
PODS_OF_A_SORT: Final = 8
WORST_MS_MAX: Final = 200.0


@dataclass(frozen=True, slots=True)
class Advised:
    sort: str
    nodes: int
    took_ms: tuple[float, ...]
    decisions: int
    suggestions: int

    def line(self) -> dict[str, Any]:
        return {
            "sort": self.sort,
            "nodes": self.nodes,
            "medianMs": round(statistics.median(self.took_ms), 1),
            "worstMs": round(max(self.took_ms), 1),
            "decisions": self.decisions,
            "suggestions": self.suggestions,
        }


def measure(nodes: int = NODES) -> list[Advised]:
    engine = Engine(seed=1)
    refusals = engine.load(default_program().bytes)
    assert not refusals, refusals
    size = generated_cluster.Size(nodes, nodes * EXISTING_A_NODE, 0)
    for body in generated_cluster.bodies("mixed", size):
        unreadable = engine.load_objects(body, "mixed")
        assert not unreadable, unreadable[:1]
    sorts = {name: list(_pods(name, spec)) for name, spec in _sorts().items()}
    pods = [pod for own in sorts.values() for pod in own]
    unreadable = engine.load_objects("\n".join(map(json.dumps, pods)).encode(), "pending")
    assert not unreadable, unreadable[:1]
    found = []
    with progress_bar("advising") as progress:
        for done, (name, own) in enumerate(sorts.items()):
            found.append(_measured(engine, name, nodes, [_key(pod) for pod in own]))
            if progress is not None:
                progress(done + 1, len(sorts))
    return found


def failures(advised: Sequence[Advised]) -> list[str]:
    return [
        f"{each.sort}: {max(each.took_ms):.0f} ms, {WORST_MS_MAX:.0f} ms are allowed"
        for each in advised
        if max(each.took_ms) > WORST_MS_MAX
    ]


def table(advised: Sequence[Advised]) -> list[str]:
    rows = [["pods", "nodes", "median", "worst", "decisions", "suggestions"]]
    for each in advised:
        times = (statistics.median(each.took_ms), max(each.took_ms))
        cells = (f"{each.nodes:,}", *(f"{milliseconds:.1f} ms" for milliseconds in times))
        rows.append([each.sort, *cells, f"{each.decisions:,}", f"{each.suggestions}"])
    every = [took for each in advised for took in each.took_ms]
    lines = columns(rows, right=range(1, 6))
    return [*lines, f"of all: median {statistics.median(every):.1f} ms, worst {max(every):.1f} ms"]


def _measured(engine: Engine, sort: str, nodes: int, keys: Sequence[str]) -> Advised:
    took, decisions, suggestions = [], 0, 0
    for key in keys:
        began_ns = time.perf_counter_ns()
        answer = engine.advise(request_on(key), 0)
        took.append((time.perf_counter_ns() - began_ns) / 1e6)
        advice = advice_in(answer)
        assert advice["situation"] == "fitsNowhere", (key, advice["situation"])
        decisions = max(decisions, advice["decisions"])
        suggestions += len(advice["suggestions"])
    return Advised(sort, nodes, tuple(took), decisions, suggestions)


def _key(pod: Mapping[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _sorts() -> dict[str, dict[str, Any]]:
    """Specs of pods that fit nowhere, each for another reason."""
    tape = {DISK: "tape"}
    every_app = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    apart = [{"labelSelector": every_app, "namespaceSelector": {}, "topologyKey": ZONE}]
    return {
        "too large": _requests("200", "256Mi"),
        "crowded out": _requests("31900m", "256Mi"),
        "no such label": _requests("100m", "256Mi") | {"nodeSelector": tape},
        "label and size": _requests("200", "300Gi") | {"nodeSelector": tape},
        "one full node": _requests("31900m", "1Gi") | {"nodeSelector": {HOSTNAME: "node-7"}},
        "away from all": _requests("100m", "256Mi")
        | {"affinity": {"podAntiAffinity": {REQUIRED: apart}}},
    }


def _requests(cpu: str, memory: str) -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": memory}
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}


def _pods(sort: str, spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for index in range(PODS_OF_A_SORT):
        name = f"{sort.replace(' ', '-')}-{index}"
        labels = {"app": f"app-{index % APPS}", "own": name}
        meta = {"name": name, "namespace": "advised", "uid": name, "labels": labels}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": dict(spec)}
