"""Admission of pods: defaults, priority, scheduling gates, and conditions in the status. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kpolicy.testing.objects import failures
from kpolicy.testing.objects.failures import Cause
from kpolicy.testing.objects.resource_types import PODS

Object = Mapping[str, Any]


def condition(status: Object, type_: str) -> Object | None:
    conditions = status.get("conditions") or ()
    return next((held for held in conditions if held.get("type") == type_), None)


def with_condition(status: Object, type_: str, content: Object, now: str) -> Object:
    """Return the status with that condition. Its transition time changes only with its status."""
    held = condition(status, type_) or {}
    is_same = held.get("status") == content["status"]
    transition = held.get("lastTransitionTime", now) if is_same else now
    new = {"type": type_, "lastProbeTime": None, "lastTransitionTime": transition, **content}
    others = [other for other in status.get("conditions") or () if other.get("type") != type_]
    return {**status, "conditions": [*others, new]}


GRACE_PERIOD_S: Final = 30
EVICTION_TOLERATION_S: Final = 300
EVICTION_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
SCHEDULING_GATED: Final = "SchedulingGated"
GATED_MESSAGE: Final = "Scheduling is blocked due to non-empty scheduling gates"

_SPEC_DEFAULTS: Final[Mapping[str, Any]] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": GRACE_PERIOD_S,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
}
_IMMUTABLE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions"
    " to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it"
    " was previously negative)"
)


def admit_pod(pod: Object, classes: Iterable[Object], now: str) -> Object:
    name = pod["metadata"].get("name") or pod["metadata"].get("generateName", "")
    spec = _checked_spec(name, pod.get("spec"))
    full = _defaulted({**spec, **_priority(name, spec, classes)})
    status: Object = {"phase": "Pending", "qosClass": _quality(full["containers"])}
    if full.get("schedulingGates"):
        gated = {"status": "False", "reason": SCHEDULING_GATED, "message": GATED_MESSAGE}
        status = with_condition(status, "PodScheduled", gated, now)
    return {
        **pod,
        "metadata": {**pod["metadata"], "generation": 1},
        "spec": full,
        "status": status,
    }


def admit_pod_update(old: Object, new: Object) -> Object:
    """Admit an update of the pod: its status stays, and only a few fields of the spec may
    change."""
    before, name = old["spec"], old["metadata"]["name"]
    if before == new.get("spec"):
        return {**new, "status": old.get("status", {})}
    sent = _checked_spec(name, new.get("spec"))
    kept = {key: before[key] for key in ("priority", "preemptionPolicy") if key in before}
    after = _defaulted({**kept, **_present(sent)})
    cause = _immutable(before, after) or _wrong_gates(before, after)
    if cause := cause or _wrong_tolerations(before, after):
        raise failures.invalid(PODS, name, [cause])
    generation = old["metadata"].get("generation", 1) + (before != after)
    metadata = {**new["metadata"], "generation": generation}
    return {**new, "metadata": metadata, "spec": after, "status": old.get("status", {})}


def _defaulted(spec: Object) -> dict[str, Any]:
    full = {**_SPEC_DEFAULTS, **_present(spec)}
    host_network = bool(spec.get("hostNetwork"))
    for field in ("initContainers", "containers"):
        if full.get(field):
            full[field] = [
                _container(container, host_network=host_network) for container in full[field]
            ]
    full["tolerations"] = _tolerations(spec.get("tolerations") or [])
    return full


def _checked_spec(name: str, spec: Any) -> Object:
    if not isinstance(spec, Mapping) or not spec.get("containers"):
        raise failures.invalid(PODS, name, [failures.required("spec.containers")])
    causes: list[Cause] = []
    for field in ("initContainers", "containers"):
        for at, container in enumerate(spec.get(field) or []):
            path = f"spec.{field}[{at}]"
            if not isinstance(container, Mapping):
                causes.append(failures.not_valid(path, str(container), "must be an object"))
                continue
            causes += [
                failures.required(f"{path}.{key}")
                for key in ("name", "image")
                if not container.get(key)
            ]
    if causes:
        raise failures.invalid(PODS, name, causes)
    return spec


def _present(spec: Object) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if value is not None}


def _priority(name: str, spec: Object, classes: Iterable[Object]) -> dict[str, Any]:
    wanted = spec.get("priorityClassName") or ""
    fitting = (
        priority_class
        for priority_class in classes
        if priority_class["metadata"]["name"] == wanted
        or (not wanted and priority_class.get("globalDefault"))
    )
    chosen = next(fitting, None)
    if wanted and chosen is None:
        raise failures.forbidden(PODS, name, f"no PriorityClass with name {wanted} was found")
    policy = spec.get("preemptionPolicy") or "PreemptLowerPriority"
    sent = spec.get("priority")
    if chosen is None or (not wanted and sent is not None):
        return {"priority": sent or 0, "preemptionPolicy": policy}
    value = chosen.get("value", 0)
    if sent is not None and sent != value:
        why = (
            f"the integer value of priority ({sent}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise failures.forbidden(PODS, name, why)
    return {
        "priorityClassName": chosen["metadata"]["name"],
        "priority": value,
        "preemptionPolicy": chosen.get("preemptionPolicy") or policy,
    }


def _container(container: Object, *, host_network: bool) -> dict[str, Any]:
    full = {"imagePullPolicy": "IfNotPresent", **container}
    resources = container.get("resources") or {}
    if resources.get("limits"):
        requests = {**resources["limits"], **(resources.get("requests") or {})}
        resources = {**resources, "requests": requests}
    full["resources"] = resources
    if container.get("ports"):
        full["ports"] = [
            {
                "protocol": "TCP",
                **({"hostPort": port.get("containerPort")} if host_network else {}),
                **port,
            }
            for port in container["ports"]
        ]
    return full


def _tolerations(sent: list[Object]) -> list[Object]:
    """Return the tolerations of the admission plugin DefaultTolerationSeconds."""
    added = [
        {
            "key": taint,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": EVICTION_TOLERATION_S,
        }
        for taint in EVICTION_TAINTS
        if not any(
            toleration.get("key", "") in ("", taint)
            and toleration.get("effect", "") in ("", "NoExecute")
            for toleration in sent
        )
    ]
    return [*sent, *added]


def _quality(containers: list[Object]) -> str:
    """Return the class of service, from cpu and memory of the containers."""
    guaranteed, any_amount = True, False
    for container in containers:
        resources = container.get("resources") or {}
        requests, bounds = resources.get("requests") or {}, resources.get("limits") or {}
        for resource in ("cpu", "memory"):
            any_amount |= resource in requests or resource in bounds
            guaranteed &= resource in bounds and requests.get(resource) == bounds[resource]
    some = "Guaranteed" if guaranteed else "Burstable"
    return some if any_amount else "BestEffort"


def _immutable(before: Object, after: Object) -> Cause | None:
    gated = bool(before.get("schedulingGates"))
    if _unchangeable(before, gated=gated) == _unchangeable(after, gated=gated):
        return None
    return failures.not_allowed("spec", _IMMUTABLE)


def _unchangeable(spec: Object, *, gated: bool) -> dict[str, Any]:
    """Return the fields that must not change. While a pod is gated, its node selection may
    change."""
    free = {"activeDeadlineSeconds", "tolerations", "schedulingGates"}
    if gated:
        free |= {"nodeSelector", "affinity"}
    kept = {key: value for key, value in spec.items() if key not in free and value is not None}
    for field in ("containers", "initContainers"):
        if isinstance(kept.get(field), list):
            kept[field] = [{**container, "image": ""} for container in kept[field]]
    return kept


def _wrong_gates(before: Object, after: Object) -> Cause | None:
    old = {gate.get("name") for gate in before.get("schedulingGates") or []}
    for at, gate in enumerate(after.get("schedulingGates") or []):
        if gate.get("name") not in old:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            return failures.not_allowed(f"spec.schedulingGates[{at}].name", detail)
    return None


def _wrong_tolerations(before: Object, after: Object) -> Cause | None:
    def identity(toleration: Object) -> dict[str, Any]:
        return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}

    kept = [identity(toleration) for toleration in after.get("tolerations") or []]
    if all(identity(toleration) in kept for toleration in before.get("tolerations") or []):
        return None
    return failures.not_allowed(
        "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
    )
