"""Reads from API objects what pods request and what nodes have, for the reference. It shares no
code with kpolicy, because it helps to check that.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

from tests.invariants.history import Object
from tests.invariants.quantity import quantity

TERMINAL = ("Succeeded", "Failed")


def spec(pod: Object) -> Object:
    found: Object = pod["spec"]
    return found


def node_of(pod: Object) -> str:
    return str(spec(pod).get("nodeName") or "")


def profile_of(pod: Object) -> str:
    return str(spec(pod).get("schedulerName") or "default-scheduler")


def priority_of(pod: Object) -> int:
    return int(spec(pod).get("priority") or 0)


def is_gated(pod: Object) -> bool:
    return bool(spec(pod).get("schedulingGates"))


def is_deleting(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_terminal(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in TERMINAL


def name_of(pod: Object) -> str:
    return f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"


def requests(pod: Object) -> dict[str, Fraction]:
    """The resources that a pod takes of a node, `pods` included. As in kube-scheduler: containers
    and sidecars together, or the largest step of initialisation."""
    running: Counter[str] = Counter()
    for container in spec(pod).get("containers") or ():
        running.update(_asked(container))
    sidecars: Counter[str] = Counter()
    moments: list[Counter[str]] = []
    for container in spec(pod).get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            sidecars.update(_asked(container))
            moments.append(Counter(sidecars))
        else:
            moments.append(sidecars + _asked(container))
    running += sidecars
    total: dict[str, Fraction] = {name: Fraction(amount) for name, amount in running.items()}
    for moment in moments:
        for name, amount in moment.items():
            total[name] = max(total.get(name, Fraction(0)), Fraction(amount))
    for name, text in ((spec(pod).get("resources") or {}).get("requests") or {}).items():
        total[name] = quantity(str(text))
    for name, text in (spec(pod).get("overhead") or {}).items():
        total[name] = total.get(name, Fraction(0)) + quantity(str(text))
    total["pods"] = Fraction(1)
    return total


def _asked(container: Any) -> Counter[str]:
    asked = (container.get("resources") or {}).get("requests") or {}
    found: Counter[str] = Counter()
    for name, text in asked.items():
        found[name] = quantity(str(text))  # type: ignore[assignment]  # a Fraction counts too
    return found


def allocatable(node: Object) -> dict[str, Fraction]:
    status = node.get("status") or {}
    have = status.get("allocatable") or status.get("capacity") or {}
    return {name: quantity(str(text)) for name, text in have.items()}


def host_ports(pod: Object) -> set[tuple[str, str, int]]:
    """Address, protocol and port of each host port of the pod."""
    return {
        (port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"])
        for group in ("containers", "initContainers")
        for container in spec(pod).get(group) or ()
        if group == "containers" or container.get("restartPolicy") == "Always"
        for port in container.get("ports") or ()
        if port.get("hostPort")
    }


def ports_meet(host_port: set[tuple[str, str, int]], other: set[tuple[str, str, int]]) -> bool:
    return any(
        (protocol, port) == (their_protocol, their_port)
        and (address == their_address or "0.0.0.0" in (address, their_address))
        for address, protocol, port in host_port
        for their_address, their_protocol, their_port in other
    )
