"""A small and slow reference of the main filters: may this pod be on this node?

Checks cordon, taints, node selector and required node affinity, and forbidden labels; also
resources and ports, if it gets the pods on the node. `volumes` has the filters of volumes. `covers`
reports pods that use more than the reference knows. It shares no code with kpolicy, because it
helps to check that.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

from tests.invariants.history import Object
from tests.invariants.pods_and_nodes import (
    allocatable,
    host_ports,
    node_of,
    ports_meet,
    requests,
    spec,
)

Forbids = tuple[tuple[str, str], ...]

_FILTERING: Final = ("NoSchedule", "NoExecute")
_UNSCHEDULABLE: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def covers(pod: Object) -> bool:
    affinity = spec(pod).get("affinity") or {}
    hard_spread = any(
        constraint.get("whenUnsatisfiable") != "ScheduleAnyway"
        for constraint in spec(pod).get("topologySpreadConstraints") or ()
    )
    return not (
        affinity.get("podAffinity")
        or affinity.get("podAntiAffinity")
        or hard_spread
        or spec(pod).get("resourceClaims")
    )


def repels(pod: Object) -> bool:
    """Whether the pod may keep other pods off a node, which the reference does not check."""
    anti_affinity = (spec(pod).get("affinity") or {}).get("podAntiAffinity") or {}
    return bool(anti_affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))


def why_not(pod: Object, node: Object, forbids: Forbids = ()) -> str:
    """Why the pod may not be on the node, apart from other pods; empty if it may."""
    tolerations = spec(pod).get("tolerations") or []
    node_spec = node.get("spec") or {}
    if node_spec.get("unschedulable") and not _tolerated(_UNSCHEDULABLE, tolerations):
        return "the node was unschedulable"
    for taint in node_spec.get("taints") or ():
        if taint["effect"] in _FILTERING and not _tolerated(taint, tolerations):
            return f"the taint {taint['key']} was not tolerated"
    labels = node["metadata"].get("labels") or {}
    for key, value in (spec(pod).get("nodeSelector") or {}).items():
        if labels.get(key) != value:
            return f"the node selector asks for {key}={value}"
    node_affinity = (spec(pod).get("affinity") or {}).get("nodeAffinity") or {}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None and not any(
        term_fits(term, labels, node["metadata"]["name"]) for term in required["nodeSelectorTerms"]
    ):
        return "no term of the required node affinity fits"
    if (wanted := node_of(pod)) and wanted != node["metadata"]["name"]:
        return f"the pod names {wanted}"
    for key, value in forbids:
        if labels.get(key) == value:
            return f"the policy forbids {key}={value}"
    return ""


def too_much(there: Iterable[Object], node: Object, ignored: tuple[str, ...] = ()) -> str:
    """Whether these pods together are more than the node has; empty when they fit. `ignored`: how
    the names of resources begin that others count."""
    have, used = allocatable(node), dict[str, Fraction]()
    for pod in there:
        for name, amount in requests(pod).items():
            used[name] = used.get(name, Fraction(0)) + amount
    for name, amount in sorted(used.items()):
        if not name.startswith(ignored) and amount > have.get(name, Fraction(0)):
            return f"{name}: {float(amount):g} of {float(have.get(name, Fraction(0))):g}"
    return ""


def fits(pod: Object, node: Object, there: Iterable[Object], forbids: Forbids = ()) -> bool:
    """Whether the pod may go to the node now, with the pods that are on it."""
    others = list(there)
    if why_not(pod, node, forbids) or too_much([*others, pod], node):
        return False
    ports = host_ports(pod)
    return not any(ports_meet(ports, host_ports(other)) for other in others)


def _tolerated(taint: Any, tolerations: Iterable[Any]) -> bool:
    for toleration in tolerations:
        if toleration.get("effect") and toleration["effect"] != taint["effect"]:
            continue
        operator = toleration.get("operator") or "Equal"
        if not toleration.get("key"):
            if operator == "Exists":
                return True
            continue
        if toleration["key"] != taint["key"]:
            continue
        if operator == "Exists" or (toleration.get("value") or "") == (taint.get("value") or ""):
            return True
    return False


def term_fits(term: Any, labels: Any, name: str) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_meets(expression, labels) for expression in expressions) and all(
        _meets(field, {"metadata.name": name}) for field in fields
    )


def _meets(requirement: Any, labels: Any) -> bool:
    key, values = requirement["key"], requirement.get("values") or []
    match requirement["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt" | "Lt" as operator:
            try:
                have, bound = int(labels[key]), int(values[0])
            except (KeyError, ValueError):
                return False
            return have > bound if operator == "Gt" else have < bound
    return False
