"""The API paths and selectors of the resources that the engine reads, by their plural names."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kpolicy.cluster.watch.resource import Resource

_CORE: Final = "/api/v1"
_STORAGE: Final = "/apis/storage.k8s.io/v1"

# A pod that has ended holds nothing; the API server need not send it (as kube-scheduler asks).
_NOT_ENDED: Final = "status.phase!=Succeeded,status.phase!=Failed"

# tests/e2e runs with the rights of this role and no others.
ROLE: Final = "the ClusterRole kpolicy (deploy/kustomize/base/cluster-role.yaml)"

RESOURCES: Final = {
    resource.name: replace(resource, granted_by=ROLE)
    for resource in (
        Resource("pods", f"{_CORE}/pods", field_selector=_NOT_ENDED),
        Resource("nodes", f"{_CORE}/nodes"),
        Resource("namespaces", f"{_CORE}/namespaces"),
        Resource("services", f"{_CORE}/services"),
        Resource("replicationcontrollers", f"{_CORE}/replicationcontrollers"),
        Resource("replicasets", "/apis/apps/v1/replicasets"),
        Resource("statefulsets", "/apis/apps/v1/statefulsets"),
        Resource("persistentvolumes", f"{_CORE}/persistentvolumes"),
        Resource("persistentvolumeclaims", f"{_CORE}/persistentvolumeclaims"),
        Resource("storageclasses", f"{_STORAGE}/storageclasses"),
        Resource("csinodes", f"{_STORAGE}/csinodes"),
        Resource("csidrivers", f"{_STORAGE}/csidrivers"),
        Resource("csistoragecapacities", f"{_STORAGE}/csistoragecapacities"),
        Resource("volumeattachments", f"{_STORAGE}/volumeattachments"),
        Resource("poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets"),
    )
}

# Without these there is nothing to place and nowhere to place it; others an older cluster may lack.
REQUIRED: Final = frozenset({"pods", "nodes"})


def watched(names: list[str]) -> list[Resource]:
    """Pods and nodes first: their lists are the longest."""
    named = set(names) | REQUIRED
    return [RESOURCES[name] for name in RESOURCES if name in named]
