"""I3, for volumes: no pod is bound before its claims are, each to a volume that its node reaches.
Also says which nodes a pod's claims allow. It shares no code with kpolicy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests.invariants.history import CLAIM, VOLUME, History, Object, Span, Violation
from tests.invariants.pods_and_nodes import name_of, spec
from tests.invariants.reference import term_fits
from tests.invariants.timeline import Timeline

NAME = "I3"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
# Volumes of this class are provisioned on demand. Other claims need an existing volume; this module
# does not know which volumes fit.
MADE_ON_DEMAND: Final = "made"


def claims_of(pod: Object) -> list[str]:
    namespace = pod["metadata"].get("namespace", "")
    return [
        f"{namespace}/{volume['persistentVolumeClaim']['claimName']}"
        for volume in spec(pod).get("volumes") or ()
        if "persistentVolumeClaim" in volume
    ]


def volumes(history: History, timeline: Timeline) -> Iterator[Violation]:
    one_clock = bool(history.decisions)
    for uid, bind in timeline.bound_by.items():
        placed = timeline.placed.get(uid)
        pod = None if placed is None else timeline.pod(uid, placed.version)
        if placed is None or pod is None:
            continue
        decision = timeline.decision(bind)
        # From what was known when it was decided to when the bind was asked for: that waits. When
        # that was is known where all is on one clock; a recorder hears of volumes a little later.
        asked = timeline.version_at(bind.received_ns) if one_clock else placed.version
        span = Span(decision.volumes_low, asked)
        nodes = timeline.node_within(placed.node, Span(decision.nodes.low, placed.version))
        for claim in claims_of(pod):
            why = _why_not(timeline, claim, span, nodes)
            if why:
                text = f"{name_of(pod)} on {placed.node}: {why}"
                yield Violation(NAME, placed.at_ns, text)


def _why_not(timeline: Timeline, claim: str, span: Span, nodes: list[Object]) -> str:
    """Each object is checked by itself: watches of several resources have no common time."""
    why = f"there is no claim {claim}"
    for state in timeline.other_within(CLAIM, claim, span):
        name = state["spec"].get("volumeName")
        if not name:
            why = f"the claim {claim} is not bound"
            continue
        why = f"the claim {claim} and the volume {name} are not bound to each other"
        for volume in timeline.other_within(VOLUME, name, span):
            if (volume["spec"].get("claimRef") or {}).get("uid") != state["metadata"]["uid"]:
                continue
            if any(reaches(volume, node) for node in nodes):
                return ""
            why = f"the volume {name} is not reached from there"
    return why


def reaches(volume: Object, node: Object) -> bool:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    if not required:
        return True
    labels, name = node["metadata"].get("labels") or {}, node["metadata"]["name"]
    return any(term_fits(term, labels, name) for term in required["nodeSelectorTerms"])


def leave(timeline: Timeline, pod: Object, node: Object, version: int) -> bool:
    """Whether the pod's claims allow this node; false if that is unknown."""
    return all(_leaves(timeline, claim, node, version) for claim in claims_of(pod))


def _leaves(timeline: Timeline, name: str, node: Object, version: int) -> bool:
    claim: Any = timeline.other(CLAIM, name, version)
    if claim is None or claim["metadata"].get("deletionTimestamp"):
        return False
    bound_to = claim["spec"].get("volumeName")
    if bound_to:
        volume = timeline.other(VOLUME, bound_to, version)
        is_bound = (claim.get("status") or {}).get("phase") == "Bound"
        return volume is not None and is_bound and reaches(volume, node)
    selected = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
    is_free = selected in (None, node["metadata"]["name"])
    return claim["spec"].get("storageClassName") == MADE_ON_DEMAND and is_free
