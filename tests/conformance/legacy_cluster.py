"""Facts of a pod and of its cluster, read from API objects, that explain where kpolicy deviates
from kube-scheduler 1.20.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.conformance.legacy_golden import Asked

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pod:
    """What the deviations read of a pod and its cluster."""

    asks: frozenset[str]
    has_peers_apart: bool
    is_affinity_by_selector: bool


def affinity_labels(asked: Asked) -> tuple[str, ...]:
    return ("region", "zone") if "ServiceAffinity" in asked.builtins.values() else ()


def pod_of(key: str, cluster: Json, labels: tuple[str, ...]) -> Pod:
    items = cluster["items"]
    nodes = {item["metadata"]["name"]: item for item in items if item["kind"] == "Node"}
    pods = [item for item in items if item["kind"] == "Pod"]
    (own,) = (item for item in pods if _key(item) == key)
    placed = [item for item in pods if item["spec"].get("nodeName") in nodes]
    on_nodes = [nodes[peer["spec"]["nodeName"]] for peer in placed if _is_peer(own, peer)]
    places = {
        tuple((node["metadata"].get("labels") or {}).get(label) for label in labels)
        for node in on_nodes
    }
    terms = [term for item in (own, *placed) for term in _affinity_terms(item)]
    return Pod(
        frozenset(_asks(own)),
        len(places) > 1,
        any(term.get("namespaceSelector") is not None for term in terms),
    )


def _key(pod: Json) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"


def _is_peer(own: Json, other: Json) -> bool:
    mine, theirs = own["metadata"], other["metadata"]
    wanted, have = (mine.get("labels") or {}), (theirs.get("labels") or {})
    return mine["namespace"] == theirs["namespace"] and wanted.items() <= have.items()


def _asks(pod: Json) -> Iterator[str]:
    spec = pod["spec"]
    for container in (*spec["containers"], *(spec.get("initContainers") or ())):
        requests = (container.get("resources") or {}).get("requests") or {}
        yield from (name for name, amount in requests.items() if str(amount).strip("0") != "")
    yield from spec.get("overhead") or {}


def _affinity_terms(pod: Json) -> Iterator[Json]:
    affinity = pod["spec"].get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        stated = affinity.get(kind) or {}
        yield from stated.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for preferred in stated.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield preferred["podAffinityTerm"]
