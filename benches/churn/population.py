"""The objects of a round: pods of many kinds, and the nodes for them.

The same round always has the same objects. Names, labels and requests are new in every round, so
that anything that kpolicy keeps of them shows up as growth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

Fields = dict[str, Any]
ZONES: Final = 5
LOW, HIGH = "churn-low", "churn-high"
PRIORITIES: Final[Mapping[str, int]] = {LOW: 100, HIGH: 200}
# Small nodes, filled with low pods: each high pod must evict five of them.
SMALL_NODES: Final = 4
LOW_PODS: Final = 10 * SMALL_NODES
HIGH_PODS: Final = SMALL_NODES
EVICTED_EACH: Final = 5
_SMALL: Final = {"key": "pool", "value": "small", "effect": "NoSchedule"}
_APPS: Final = 10
_SPARE: Final = {"key": "spare", "value": "yes", "effect": "PreferNoSchedule"}


@dataclass(frozen=True, slots=True)
class Size:
    """The size of every round: `pods` of changing kinds, and pods that fill the small nodes."""

    nodes: int
    pods: int

    @property
    def claimed(self) -> int:
        """Pods that wait for a volume, each for a node of its own."""
        return min(self.nodes, max(1, self.pods // 25))

    @property
    def hopeless(self) -> int:
        """Pods that fit nowhere."""
        return max(1, self.pods // 25)

    @property
    def replaced_nodes(self) -> int:
        return max(1, self.nodes // 10)

    @property
    def placed(self) -> int:
        """Pods that fit before any pod is evicted."""
        return self.pods + self.claimed + LOW_PODS


def node(turn: int, index: int) -> Fields:
    """A node of this round, for the pods of changing kinds."""
    return {
        "labels": {"zone": f"zone-{index % ZONES}", "born": f"round-{turn}"},
        "taints": [_SPARE] if index % 7 == 0 else [],
    }


def small_node() -> Fields:
    return {"cpu": "1", "labels": {"pool": "small"}, "taints": [_SMALL]}


def pod(turn: int) -> Callable[[int], Fields]:
    """The kinds take turns; each app has pods of every kind."""

    def fields(index: int) -> Fields:
        kind = _KINDS[index % len(_KINDS)]
        app = f"app-{turn}-{index // len(_KINDS) % _APPS}"
        return {
            "cpu": f"{20 + (turn * 37 + index) % 180}m",
            "memory": f"{32 + (turn * 53 + index * 7) % 96}Mi",
            "labels": {"app": app, "kind": kind.__name__, f"round-{turn}": str(index)},
            "annotations": {"checksum/config": f"{turn:08x}{index:08x}"},
            "spec": kind(app),
        }

    return fields


def claiming(spec: Callable[[str], Mapping[str, Any]], turn: int) -> Callable[[int], Fields]:
    return lambda index: {"spec": dict(spec(claim(turn, index)))}


def claim(turn: int, index: int) -> str:
    return f"claim-{turn}-{index}"


def hopeless(index: int) -> Fields:
    """A pod that fits nowhere, because of its request or of its selector in turn."""
    return {"cpu": "640"} if index % 2 else {"spec": {"nodeSelector": {"zone": f"no-{index}"}}}


def crowd(priority: str, cpu: str) -> Fields:
    tolerations = [{**_SMALL, "operator": "Equal"}]
    selector = {"pool": "small"}
    return {
        "cpu": cpu,
        "memory": "16Mi",
        "spec": {
            "priorityClassName": priority,
            "nodeSelector": selector,
            "tolerations": tolerations,
        },
    }


def plain(app: str) -> Fields:
    return {}


def zonal(app: str) -> Fields:
    return {"nodeSelector": {"zone": f"zone-{len(app) % ZONES}"}}


def spread(app: str) -> Fields:
    selector = {"matchLabels": {"app": app}}
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 5,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
        ]
    }


def apart(app: str) -> Fields:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    weighted = {"weight": 50, "podAffinityTerm": term}
    return {
        "affinity": {
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
        }
    }


def alone(app: str) -> Fields:
    """Pod anti-affinity: at most one pod of the app on a node."""
    labels = {"matchLabels": {"app": app, "kind": alone.__name__}}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": labels}
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    }


def near(app: str) -> Fields:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def picky(app: str) -> Fields:
    zones = {"key": "zone", "operator": "In", "values": ["zone-0", "zone-1", f"gone-{app}"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [zones]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def ported(app: str) -> Fields:
    """One port of each node for each app."""
    port = {"containerPort": 8080, "hostPort": 20_000 + int(app.rpartition("-")[2])}
    return {"containers": [{"name": "main", "image": f"{app}:1", "ports": [port]}]}


_KINDS: Final[tuple[Callable[[str], Fields], ...]] = (
    plain,
    zonal,
    spread,
    apart,
    alone,
    near,
    picky,
    ported,
)
