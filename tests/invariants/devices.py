"""I3, for devices: no device is given to two claims, and no pod is bound before its claims are
allocated, reserved for it and good on its node. It shares no code with kpolicy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.invariants.history import DELETED, DEVICE_CLAIM, History, Object, Span, Violation
from tests.invariants.pods_and_nodes import is_deleting, name_of, spec
from tests.invariants.reference import term_fits
from tests.invariants.timeline import Timeline

NAME = "I3"


def device_claims_of(pod: Object) -> list[str]:
    namespace = pod["metadata"].get("namespace", "")
    return [
        f"{namespace}/{entry['resourceClaimName']}"
        for entry in spec(pod).get("resourceClaims") or ()
    ]


def lacks_claims(pod: Object, timeline: Timeline) -> bool:
    """Whether a claim of it is missing or on its way out at the end, so that it is not tried."""
    claims = [timeline.other(DEVICE_CLAIM, name, timeline.last) for name in device_claims_of(pod)]
    return any(claim is None or is_deleting(claim) for claim in claims)


def wants_devices(pod: Object, prefix: str = "example.com/") -> bool:
    """Whether it depends on devices, which the reference does not know, where it fits."""
    requests = (
        (container.get("resources") or {}).get("requests") or {}
        for container in spec(pod)["containers"]
    )
    is_extended = any(name.startswith(prefix) for names in requests for name in names)
    return is_extended or bool(device_claims_of(pod))


def devices(history: History, timeline: Timeline) -> Iterator[Violation]:
    yield from _given_twice(history)
    for uid in timeline.bound_by:
        placed = timeline.placed.get(uid)
        pod = None if placed is None else timeline.pod(uid, placed.version)
        if placed is None or pod is None:
            continue
        nodes = timeline.node_within(placed.node, Span(placed.version, placed.version))
        for name in device_claims_of(pod):
            claim = timeline.other(DEVICE_CLAIM, name, placed.version)
            if why := _why_not(claim, uid, nodes):
                text = f"{name_of(pod)} on {placed.node}: the claim {name} {why}"
                yield Violation(NAME, placed.at_ns, text)


def _given_twice(history: History) -> Iterator[Violation]:
    held: dict[tuple[str, ...], str] = {}
    for change in history.changes:
        if change.resource != DEVICE_CLAIM:
            continue
        name = change.object["metadata"]["name"]
        held = {device: holder for device, holder in held.items() if holder != name}
        for device in _devices_of(change.object) if change.type != DELETED else ():
            if device in held:
                text = f"{'/'.join(device)} is given to {held[device]} and {name}"
                yield Violation(NAME, change.at_ns, text)
            held[device] = name


def _allocation(claim: Object) -> Any:
    return (claim.get("status") or {}).get("allocation")


def _devices_of(claim: Object) -> list[tuple[str, ...]]:
    results = ((_allocation(claim) or {}).get("devices") or {}).get("results") or ()
    return [(result["driver"], result["pool"], result["device"]) for result in results]


def _why_not(claim: Object | None, uid: str, nodes: list[Object]) -> str:
    if claim is None:
        return "is not there"
    allocation = _allocation(claim)
    if not allocation:
        return "is not allocated"
    consumers = claim["status"].get("reservedFor") or ()
    if all(consumer["uid"] != uid for consumer in consumers):
        return "is not reserved for it"
    selector = allocation.get("nodeSelector")
    for node in nodes if selector else ():
        labels, name = node["metadata"].get("labels") or {}, node["metadata"]["name"]
        if not any(term_fits(term, labels, name) for term in selector["nodeSelectorTerms"]):
            return "has its devices elsewhere"
    return ""
