"""How many devices are stranded: `devices-best-fit` against first fit, on a recorded sequence.

Pods arrive and leave as `device_arrivals.txt` says, on eight nodes with four GPUs each, which are
given whole or in the partitions of an A100. A GPU is *broken up* while a part of it is given: a pod
that wants a whole one cannot have it. What is free of these GPUs is *stranded*: nobody uses it, and
no pod that wants a whole one can. The engine decides as it does in a cluster; the API server's part
is played here. Nothing is timed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kpolicy.engine import ClaimWork, Engine, Outcome
from kpolicy.offline.reports.columns import columns
from kpolicy.offline.snapshots.cluster_snapshot import PolicyRefusedError
from kpolicy.policy.compile import compile_policy, shipped_source

ARRIVALS: Final = Path(__file__).parent / "device_arrivals.txt"
FIRST_FIT: Final = "kube-scheduler-default"
BEST_FIT: Final = "devices-best-fit"
# Best fit strands at least so much less.
LESS_PERCENT_MIN: Final = 30.0
NODES: Final = 8
GPUS: Final = 4
_SLICES: Final = 8
_VERSION: Final = "resource.k8s.io/v1"
_DRIVER: Final = "gpu.example.com"
# By class: how many memory slices a partition has, and where it may begin.
_PARTITIONS: Final[Mapping[str, tuple[int, tuple[int, ...]]]] = {
    "whole": (8, (0,)),
    "3g": (4, (0, 4)),
    "2g": (2, (0, 2, 4)),
    "1g": (1, (0, 1, 2, 3, 4, 5, 6)),
}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """A pod that arrives and asks for a device of a class, or one that leaves."""

    pod: str
    device_class: str = ""


def recorded() -> list[Step]:
    lines = (line.split() for line in ARRIVALS.read_text(encoding="utf-8").splitlines())
    return [Step(*words[1:]) for words in lines if words and words[0] in ("+", "-")]


@dataclass(frozen=True, slots=True)
class Played:
    """What came of the sequence under one policy; GPUs as means over all steps. `stranded`: what is
    free of those that are broken up. `fewest`: so many could hold all given parts."""

    policy: str
    placed: int
    waited: int
    broken: float
    stranded: float
    fewest: float

    def line(self) -> Json:
        return {
            "policy": self.policy,
            "placed": self.placed,
            "waited": self.waited,
            "broken": round(self.broken, 2),
            "stranded": round(self.stranded, 2),
            "fewest": round(self.fewest, 2),
        }


def measure() -> list[Played]:
    steps = recorded()
    return [Cluster(policy).play(steps) for policy in (FIRST_FIT, BEST_FIT)]


def less_percent(first: float, best: float) -> float:
    return 100.0 * (first - best) / first


def table(played: Sequence[Played]) -> list[str]:
    first, best = played
    head = ["policy", "placed", "waited", "broken up", "stranded"]
    lines = [
        [p.policy, str(p.placed), str(p.waited), f"{p.broken:.2f}", f"{p.stranded:.2f}"]
        for p in played
    ]
    stranded = less_percent(first.stranded, best.stranded)
    broken = less_percent(first.broken, best.broken)
    most = less_percent(first.broken, first.fewest)
    return [
        *columns([head, *lines]),
        f"{stranded:.0f} % less stranded, in {len(recorded())} steps on {NODES * GPUS} GPUs",
        f"{broken:.0f} % fewer broken up, of {most:.0f} % with the fewest GPUs for all parts",
    ]


def failures(played: Sequence[Played]) -> list[str]:
    first, best = (each.stranded for each in played)
    less = less_percent(first, best)
    if less >= LESS_PERCENT_MIN:
        return []
    return [f"{less:.1f} % less is stranded, {LESS_PERCENT_MIN:.0f} % are wanted"]


@dataclass(slots=True)
class Cluster:
    """The API server's part: what is written, and what the watches show of it."""

    policy: str
    engine: Engine = field(default_factory=lambda: Engine(1, threads=1))
    version: int = 0
    # By pod: the GPU that it has something of, and how many of its memory slices.
    holdings: dict[str, tuple[str, int]] = field(default_factory=dict)
    claims: dict[str, Json] = field(default_factory=dict)
    pods: dict[str, Json] = field(default_factory=dict)

    def play(self, steps: Sequence[Step]) -> Played:
        self._begin()
        broken, parts, fewest, arrived = [], [], [], 0
        for step in steps:
            if step.device_class:
                arrived += 1
                self._arrive(step)
            else:
                self._leave(step.pod)
            broken.append(self._broken())
            parts.append(self._parts())
            fewest.append(math.ceil(parts[-1]))
        placed = sum(1 for pod in self.pods.values() if "nodeName" in pod["spec"])
        return Played(
            self.policy,
            placed,
            arrived - placed,
            sum(broken) / len(steps),
            (sum(broken) - sum(parts)) / len(steps),
            sum(fewest) / len(steps),
        )

    def _begin(self) -> None:
        program = compile_policy(shipped_source(self.policy), every_pod=True).program
        assert program is not None, self.policy
        if refusals := self.engine.load(program.bytes):
            raise PolicyRefusedError(refusals)
        document = {"apiVersion": "v1", "kind": "List", "items": list(cluster_objects())}
        unread = self.engine.load_objects(json.dumps(document).encode(), "")
        assert not unread, unread

    def _broken(self) -> int:
        return len({gpu for gpu, slices in self.holdings.values() if slices < _SLICES})

    def _parts(self) -> float:
        """All given parts together, in GPUs."""
        return sum(slices for _, slices in self.holdings.values() if slices < _SLICES) / _SLICES

    def _show(self, resource: str, kind: str, item: Json) -> None:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        line = json.dumps({"type": kind, "object": item}) + "\n"
        self.engine.watch(resource, line.encode(), self.version)

    def _arrive(self, step: Step) -> None:
        claim, pod = claim_of(step), pod_of(step.pod)
        self.claims[step.pod], self.pods[step.pod] = claim, pod
        self._show("resourceclaims", "ADDED", claim)
        self._show("pods", "ADDED", pod)
        [decision] = self.engine.schedule([step.pod], self.version).decisions
        if not decision.node:
            return
        [work] = [write for write in decision.writes if isinstance(write, ClaimWork)]
        allocation = json.loads(work.allocation)
        user = {"resource": "pods", "name": step.pod, "uid": step.pod}
        claim["status"] = {"allocation": allocation, "reservedFor": [user]}
        self._show("resourceclaims", "MODIFIED", claim)
        pod["spec"]["nodeName"] = decision.node
        self._show("pods", "MODIFIED", pod)
        self.engine.settle([(step.pod, Outcome.BOUND)], self.version)
        [device] = allocation["devices"]["results"]
        gpu = "-".join(device["device"].split("-")[:2])
        self.holdings[step.pod] = f"{device['pool']}/{gpu}", _PARTITIONS[step.device_class][0]

    def _leave(self, pod: str) -> None:
        self.holdings.pop(pod, None)
        self._show("pods", "DELETED", self.pods[pod])
        self._show("resourceclaims", "DELETED", self.claims[pod])


def cluster_objects() -> Iterator[Json]:
    for name in _PARTITIONS:
        expression = f"device.attributes['{_DRIVER}'].profile == '{name}'"
        yield {
            "apiVersion": _VERSION,
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": expression}}]},
        }
    for index in range(NODES):
        node = f"n{index}"
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": node},
            "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"}},
        }
        counters = {f"slice-{at}": {"value": "1"} for at in range(_SLICES)}
        sets = [{"name": f"gpu-{gpu}", "counters": counters} for gpu in range(GPUS)]
        yield _slice(node, "counters", sharedCounters=sets)
        yield _slice(node, "devices", devices=list(_devices()))


def _slice(node: str, what: str, **more: Any) -> Json:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 2}
    return {
        "apiVersion": _VERSION,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{what}"},
        "spec": {"driver": _DRIVER, "nodeName": node, "pool": pool, **more},
    }


def _devices() -> Iterator[Json]:
    for gpu in range(GPUS):
        for profile, (slices, starts) in _PARTITIONS.items():
            for start in starts:
                counters = {f"slice-{at}": {"value": "1"} for at in range(start, start + slices)}
                yield {
                    "name": f"gpu-{gpu}-{profile}-{start}",
                    "attributes": {"profile": {"string": profile}},
                    "consumesCounters": [{"counterSet": f"gpu-{gpu}", "counters": counters}],
                }


def claim_of(step: Step) -> Json:
    asked = {"deviceClassName": step.device_class, "allocationMode": "ExactCount", "count": 1}
    return {
        "apiVersion": _VERSION,
        "kind": "ResourceClaim",
        "metadata": {"name": step.pod, "namespace": "team", "uid": f"claim-{step.pod}"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": asked}]}},
    }


def pod_of(name: str) -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    claims = [{"name": "gpu", "resourceClaimName": name}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team", "uid": name},
        "spec": {"containers": [container], "resourceClaims": claims},
    }
