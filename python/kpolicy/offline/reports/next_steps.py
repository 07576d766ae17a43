"""What to do about a pod that rules keep from nodes: a sentence for each rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kpolicy.offline.answers.why import Need, Why
from kpolicy.offline.reports.columns import amount, listed
from kpolicy.offline.snapshots.json_objects import Json, mapping_at

# By built-in rule; `{asked}` is what the pod's spec says about it.
_OF_BUILT_INS: Final = {
    "NodeResourcesFit": "add a node with enough room, free some, or request less",
    "NodeAffinity": "give a node the labels that the pod asks for{asked}, or ask for others",
    "NodeSelector": "give a node the labels that the pod asks for{asked}, or ask for others",
    # The stage of kube-scheduler before nodes are looked at; no rule has this name.
    "PreFilter": "the pod may run only on nodes that its node affinity names by "
    "metadata.name{asked}: look at what keeps it from these; a DaemonSet makes a pod for each node",
    "TaintToleration": "tolerate the taint in the pod, or take it off: `kubectl describe "
    "node NAME` shows the taints",
    "NodeUnschedulable": "`kubectl uncordon NAME` lets pods onto the node again",
    "NodeName": "the pod names a node in spec.nodeName that is another one",
    "NodePorts": "another pod has the host port{asked}: use another, or a Service",
    "PodTopologySpread": "pods like it are spread too unevenly: add nodes where few of them are, "
    "raise maxSkew, or say whenUnsatisfiable: ScheduleAnyway",
    "InterPodAffinity": "look at the pods that its affinity or anti-affinity names, and at theirs; "
    "make the term preferred if it need not hold",
    "VolumeBinding": "look at its claims (`kubectl get pvc`): is the class right, is there a "
    "volume, and is it in a zone where the pod may run?",
    "VolumeZone": "its volume is in another zone: let the pod run there, or use another volume",
    "VolumeRestrictions": "another pod uses its volume, which one pod at a time may use",
    "NodeVolumeLimits": "nodes have as many volumes as their driver attaches: add a node",
    "NodeDeclaredFeatures": "no node has a feature that the pod asks for: upgrade nodes",
    "DynamicResources": "look at its claims (`kubectl get resourceclaims`) and at the devices of "
    "nodes (`kubectl get resourceslices`): are they in use, tainted, or not what it selects?",
    "GangScheduling": "its group has to be placed as a whole: look at the other pods of the group",
    "SchedulingGates": "whoever set the gates has to remove them{asked}",
}
_NAMES_SHOWN_MAX: Final = 3
_BEHIND: Final = (
    " (devices of the DeviceClass {name} stand for it only on nodes to which no device plugin "
    "gives it, and with the feature gate DRAExtendedResource, which is on from Kubernetes 1.36)"
)
_OF_A_POLICY: Final = (
    "a rule of the policy: `kpolicy eval --policy FILE --rule {rule} --pod {pod} --node NODE "
    "--explain -s SNAPSHOT` shows which part of it is false"
)


def next_steps(why: Why) -> Iterator[tuple[str, str]]:
    """A rule, and what to do about it; the rule that rejects most nodes first."""
    for rule, _ in why.by_rule:
        text = _OF_BUILT_INS.get(rule)
        if text is None:
            yield rule, _OF_A_POLICY.format(rule=rule, pod=why.key)
            continue
        if rule == "NodeResourcesFit" and why.needs:
            yield rule, f"{text}: {'; '.join(map(_need, why.needs))}"
        else:
            yield rule, text.format(asked=_asked(rule, why.pod))


def _need(need: Need) -> str:
    asked, free = (amount(need.resource, value) for value in (need.asked, need.most_free))
    text = f"it asks for {asked} {need.resource}, and {need.node} has most free, {free}"
    behind = _BEHIND.format(name=need.device_class) if need.device_class else ""
    return text + behind


def _asked(rule: str, pod: Json) -> str:
    spec = mapping_at(pod, "spec")
    if rule in ("NodeAffinity", "NodeSelector"):
        labels = [
            f"{key}={value}" for key, value in sorted(mapping_at(spec, "nodeSelector").items())
        ]
        is_more = bool(mapping_at(mapping_at(spec, "affinity"), "nodeAffinity"))
        labels += ["spec.affinity.nodeAffinity"] * is_more
        return f" ({', '.join(labels)})" if labels else ""
    if rule == "PreFilter":
        names = sorted(set(_named_nodes(spec)))
        return f" ({listed(names, _NAMES_SHOWN_MAX)})" if names else ""
    if rule == "NodePorts":
        ports = sorted({port for port in _host_ports(spec) if port})
        return f" {', '.join(map(str, ports))}" if ports else ""
    return ""


def _named_nodes(spec: Mapping[str, Any]) -> Iterator[str]:
    affinity = mapping_at(mapping_at(spec, "affinity"), "nodeAffinity")
    required = mapping_at(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or () if isinstance(term, dict) else ():
            if isinstance(field, dict) and field.get("operator") == "In":
                yield from map(str, field.get("values") or ())


def _host_ports(spec: Json | Any) -> Iterator[int]:
    for container in spec.get("containers") or ():
        for port in container.get("ports") or () if isinstance(container, dict) else ():
            if isinstance(port, dict):
                yield int(port.get("hostPort") or 0)


def gates_of(pod: Json) -> list[str]:
    gates = mapping_at(pod, "spec").get("schedulingGates")
    return [str(gate.get("name")) for gate in gates or () if isinstance(gate, dict)]
