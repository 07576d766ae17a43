"""The least that `kpolicy run` needs of RBAC, and the writes it may be seen to make.

Owns the lists, which must agree two by two: what is not granted here must not be needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.cluster.rights import Rule

LEASE = "kpolicy"

RULES = (
    Rule(("get", "list", "watch"), ("nodes", "pods")),
    Rule(("create",), ("pods/binding",)),
    Rule(("patch",), ("pods/status",)),
    # Preemption, which a policy may switch off: victims are deleted, and budgets respected.
    Rule(("delete",), ("pods",)),
    Rule(("get", "list", "watch"), ("poddisruptionbudgets",), ("policy",)),
    Rule(("create", "patch"), ("events",), ("events.k8s.io",)),
    Rule(("create",), ("leases",), ("coordination.k8s.io",)),
    Rule(("get", "update"), ("leases",), ("coordination.k8s.io",), (LEASE,)),
)

# What the shipped policy reads besides, rule by rule.
DEFAULT_READS = (
    Rule(
        ("get", "list", "watch"),
        (
            "namespaces", "services", "replicationcontrollers",
            "persistentvolumes", "persistentvolumeclaims",
        ),
    ),
    Rule(("get", "list", "watch"), ("replicasets", "statefulsets"), ("apps",)),
    Rule(
        ("get", "list", "watch"),
        (
            "storageclasses", "csinodes", "csidrivers", "csistoragecapacities",
            "volumeattachments",
        ),
        ("storage.k8s.io",),
    ),
)  # fmt: skip


# What a policy that is watched through the API takes, in its namespace and by name; that the status
# is ours to make and to write is `create` and `patch` by name: server-side apply asks for both.
def of_config_maps(read: Sequence[str], written: Sequence[str]) -> tuple[Rule, ...]:
    return (
        Rule(("get", "list", "watch"), ("configmaps",), ("",), tuple(read)),
        Rule(("get", "create", "patch"), ("configmaps",), ("",), tuple(written)),
    )


CONFIG_MAP_WRITES = frozenset({("patch", "configmaps")})


# What the scenarios run with: their policy never preempts, and then nothing needs to be deleted.
SCENARIO_RULES = (*(rule for rule in RULES if "delete" not in rule.verbs), *DEFAULT_READS)

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

# With a policy that binds volumes: what it reads besides, and what it writes before a bind.
_READ = ("get", "list", "watch")
VOLUME_RULES = (
    *RULES,
    Rule(_READ, ("namespaces", "services", "replicationcontrollers")),
    Rule(_READ, ("replicasets", "statefulsets"), ("apps",)),
    Rule(_READ, ("poddisruptionbudgets",), ("policy",)),
    Rule(_READ, ("persistentvolumes", "persistentvolumeclaims")),
    Rule(
        _READ,
        ("storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"),
        ("storage.k8s.io",),
    ),
    Rule(("patch",), ("persistentvolumes", "persistentvolumeclaims")),
)

VOLUME_WRITES_ALLOWED = WRITES_ALLOWED | {
    ("patch", "persistentvolumes"),
    ("patch", "persistentvolumeclaims"),
}
