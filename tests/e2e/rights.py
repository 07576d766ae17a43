"""The roles of deploy/kustomize that `kpolicy run` has in these tests, and the writes that it may
make.

A right that deploy does not grant must not be needed here. Each file has one role first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from tests.cluster.rights import Rule

_DEPLOY: Final = Path(__file__).parents[2] / "deploy" / "kustomize"


def _role(path: str) -> tuple[Rule, ...]:
    role = next(yaml.safe_load_all((_DEPLOY / path).read_text("utf-8")))
    return tuple(
        Rule(
            tuple(rule["verbs"]),
            tuple(rule["resources"]),
            tuple(rule["apiGroups"]),
            tuple(rule.get("resourceNames", ())),
        )
        for rule in role["rules"]
    )


_NAMESPACED: Final = _role("base/role.yaml")
_LEASES: Final = tuple(rule for rule in _NAMESPACED if rule.resources == ("leases",))

# A scheduler whose policy never preempts; one that does; with volumes; whose
# metrics are read with tokens of the cluster; and with extenders.
SCENARIO_RULES: Final = (*_role("base/cluster-role.yaml"), *_LEASES)
RULES: Final = (*SCENARIO_RULES, *_role("components/preemption/cluster-role.yaml"))
VOLUME_RULES: Final = (*RULES, *_role("components/volumes/cluster-role.yaml"))
DEVICE_RULES: Final = (*RULES, *_role("components/devices/cluster-role.yaml"))
METRICS_RULES: Final = (*RULES, *_role("components/metrics-auth/cluster-role.yaml"))


# With policies of tenants, whose ConfigMaps are called `kpolicy-tenant`.
TENANT_RULES: Final = (*RULES, *_role("components/tenants/cluster-role.yaml"))


def of_config_maps(read: Sequence[str], written: Sequence[str]) -> tuple[Rule, ...]:
    """The rights to a policy's ConfigMap and to its status, under these names."""
    reading, writing = (rule for rule in _NAMESPACED if rule.resources == ("configmaps",))
    return (
        Rule(reading.verbs, reading.resources, reading.api_groups, tuple(read)),
        Rule(writing.verbs, writing.resources, writing.api_groups, tuple(written)),
    )


CONFIG_MAP_WRITES = frozenset({("patch", "configmaps")})

WRITES_ALLOWED = frozenset(
    {
        ("create", "pods/binding"),
        ("patch", "pods/status"),
        ("create", "events.events.k8s.io"),
        ("patch", "events.events.k8s.io"),
        ("create", "leases.coordination.k8s.io"),
        ("update", "leases.coordination.k8s.io"),
    }
)

# Where a policy preempts.
WRITES_ALLOWED_EVICTING = WRITES_ALLOWED | {("delete", "pods")}

VOLUME_WRITES_ALLOWED = WRITES_ALLOWED | {
    ("patch", "persistentvolumes"),
    ("patch", "persistentvolumeclaims"),
}

DEVICE_WRITES_ALLOWED = WRITES_ALLOWED | {
    ("patch", "resourceclaims.resource.k8s.io"),
    ("patch", "resourceclaims.resource.k8s.io/status"),
    ("create", "resourceclaims.resource.k8s.io"),
    ("delete", "resourceclaims.resource.k8s.io"),
}
