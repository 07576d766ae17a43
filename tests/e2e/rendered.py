"""The overlays of deploy/kustomize as `kubectl apply -k` would send them, rendered by the real
kubectl, and the API path of each kind.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tests.cluster.control_plane import ControlPlane

Json = dict[str, Any]

DEPLOY: Final = Path(__file__).parents[2] / "deploy" / "kustomize"
# How many objects each has: a file that a kustomization forgets is missed.
OVERLAYS: Final = {
    "second-scheduler": 34,
    "otel": 34,
    "monitored": 37,
    "replacement": 36,
    "tenants": 36,
}
NAMESPACE: Final = "kpolicy-system"
ACCOUNT: Final = f"system:serviceaccount:{NAMESPACE}:kpolicy"

_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_COLLECTIONS: Final = {
    "Namespace": ("/api/v1", "namespaces"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "ResourceQuota": ("/api/v1", "resourcequotas"),
    "ConfigMap": ("/api/v1", "configmaps"),
    "Service": ("/api/v1", "services"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets"),
    "NetworkPolicy": ("/apis/networking.k8s.io/v1", "networkpolicies"),
    "ClusterRole": (_RBAC, "clusterroles"),
    "ClusterRoleBinding": (_RBAC, "clusterrolebindings"),
    "Role": (_RBAC, "roles"),
    "RoleBinding": (_RBAC, "rolebindings"),
    "ValidatingAdmissionPolicy": (_ADMISSION, "validatingadmissionpolicies"),
    "ValidatingAdmissionPolicyBinding": (_ADMISSION, "validatingadmissionpolicybindings"),
}


@dataclass(frozen=True, slots=True)
class Manifest:
    document: Json

    @property
    def kind(self) -> str:
        return str(self.document["kind"])

    @property
    def name(self) -> str:
        return str(self.document["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.document["metadata"].get("namespace", ""))

    @property
    def collection(self) -> str:
        prefix, plural = _COLLECTIONS[self.kind]
        scope = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{prefix}{scope}/{plural}"


def rendered(binary: Path, overlay: str) -> tuple[Manifest, ...]:
    done = subprocess.run(
        [binary, "kubectl", "kustomize", str(DEPLOY / "overlays" / overlay)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr  # kustomize warns of what it is about to drop
    return tuple(Manifest(document) for document in yaml.safe_load_all(done.stdout))


def of_kind(manifests: tuple[Manifest, ...], kind: str) -> list[Manifest]:
    return [manifest for manifest in manifests if manifest.kind == kind]


def apply(plane: ControlPlane, overlay: str) -> None:
    plane.kubectl("apply", "--server-side", "-k", str(DEPLOY / "overlays" / overlay))
