"""RBAC for tests: gives a user a role, and takes it away again. Needs the client of an
administrator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.cluster.client import Client, wait_for
from tests.cluster.connection import Json

RBAC = "/apis/rbac.authorization.k8s.io/v1"
API_GROUP = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class Rule:
    """One rule of a role, as RBAC writes it: Rule(("get", "list"), ("pods", "pods/status"))."""

    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    api_groups: tuple[str, ...] = ("",)
    names: tuple[str, ...] = ()

    def document(self) -> Json:
        return {
            "verbs": list(self.verbs),
            "apiGroups": list(self.api_groups),
            "resources": list(self.resources),
            **({"resourceNames": list(self.names)} if self.names else {}),
        }


def grant(admin: Client, user: str, rules: Sequence[Rule], name: str, namespace: str | None) -> str:
    """Grants the role in a namespace, or in all if it is None; in force on return."""
    role = {"metadata": {"name": name}, "rules": [rule.document() for rule in rules]}
    admin.create(f"{RBAC}/clusterroles", role)
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": API_GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": API_GROUP, "kind": "User", "name": user}],
    }
    admin.create(_bindings(namespace), binding)
    if rules:
        wait_for(lambda: _allowed(admin, user, rules[-1], namespace), f"rights of {user}")
    return name


def revoke(admin: Client, name: str, namespace: str | None) -> None:
    """Revokes the role. The authorizer notices it within moments, not at once."""
    admin.delete(f"{_bindings(namespace)}/{name}")
    admin.delete(f"{RBAC}/clusterroles/{name}")


def _bindings(namespace: str | None) -> str:
    if namespace is None:
        return f"{RBAC}/clusterrolebindings"
    return f"{RBAC}/namespaces/{namespace}/rolebindings"


def _allowed(admin: Client, user: str, rule: Rule, namespace: str | None) -> bool:
    resource, _, subresource = rule.resources[-1].partition("/")
    asked = {
        "verb": rule.verbs[-1],
        "group": rule.api_groups[-1],
        "resource": resource,
        "subresource": subresource,
        "namespace": namespace or "",
        "name": rule.names[-1] if rule.names else "",
    }
    review = admin.create(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {"spec": {"user": user, "resourceAttributes": asked}},
    )
    return bool(review["status"].get("allowed"))
