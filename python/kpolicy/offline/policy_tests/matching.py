"""When a text, a number, a name or a wake-up event matches what a test expects of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kpolicy.offline.policy_tests.document_model import NumberRange, OneOf, TextPattern

# Scores are shown, and compared, to this precision.
_DIGITS: Final = 6


def text_fits(expected: str | TextPattern, got: str) -> bool:
    if isinstance(expected, str):
        return got == expected
    if expected.matches is not None:
        return re.fullmatch(expected.matches, got) is not None
    return expected.contains is not None and expected.contains in got


def text_shown(expected: str | TextPattern) -> str:
    if isinstance(expected, str):
        return expected
    if expected.matches is not None:
        return f"matches {expected.matches}"
    return f"contains {expected.contains}"


def text_hint(expected: str | TextPattern, got: str) -> str:
    """How far the two agree, or that a pattern is meant for a part."""
    if isinstance(expected, str):
        same = next(
            (i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b),
            min(len(expected), len(got)),
        )
        return f"they differ from character {same + 1} on" if same else ""
    if expected.matches is not None and re.match(expected.matches, got):
        return "it matches the beginning; a pattern is for the whole text, so add `.*`"
    if expected.matches is not None and re.search(expected.matches, got):
        return "it matches a part; a pattern is for the whole text, so put `.*` around it"
    return ""


def number_fits(expected: float | NumberRange, got: float) -> bool:
    if not isinstance(expected, NumberRange):
        return round(float(expected) - got, _DIGITS) == 0
    low, high = expected.between or (None, None)
    bounds = (
        all(got >= bound for bound in (low, expected.at_least) if bound is not None),
        all(got <= bound for bound in (high, expected.at_most) if bound is not None),
    )
    return all(bounds)


def number_shown(expected: float | NumberRange) -> str:
    if not isinstance(expected, NumberRange):
        return plain_number(expected)
    said = []
    if expected.between is not None:
        low, high = expected.between
        said.append(f"between {plain_number(low)} and {plain_number(high)}")
    if expected.at_least is not None:
        said.append(f"at least {plain_number(expected.at_least)}")
    if expected.at_most is not None:
        said.append(f"at most {plain_number(expected.at_most)}")
    return ", ".join(said)


def plain_number(value: float) -> str:
    """`12`, `12.5`: no zeros that say nothing."""
    return str(int(value)) if float(value).is_integer() else f"{value:.{_DIGITS}g}"


def name_fits(expected: str | OneOf, got: str) -> bool:
    return got == expected if isinstance(expected, str) else got in expected.one_of


def name_shown(expected: str | OneOf) -> str:
    return expected if isinstance(expected, str) else f"one of {', '.join(expected.one_of)}"


def names_shown(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


_BY_WORD: Final[Mapping[str, tuple[str, ...]]] = {
    "node": ("NodeAdd", "NodeUpdate", "NodeDelete"),
    "node.labels": ("NodeUpdateNodeLabel",),
    "node.annotations": ("NodeUpdateNodeAnnotation",),
    "node.taints": ("NodeUpdateNodeTaint",),
    "node.conditions": ("NodeUpdateNodeCondition",),
    "node.allocatable": ("NodeUpdateNodeAllocatable",),
    "node.declaredFeatures": ("NodeUpdateNodeDeclaredFeature",),
    # Room comes from pods that leave or shrink, and from nodes that grow.
    "node.free": (
        "AssignedPodDelete",
        "AssignedPodUpdatePodScaleDown",
        "NodeUpdateNodeAllocatable",
    ),
    "node.pods": ("AssignedPodAdd", "AssignedPodDelete", "AssignedPodUpdatePodLabel"),
    "pod": ("UnschedulablePodUpdate", "AssignedPodUpdate"),
    "pod.labels": ("UnschedulablePodUpdatePodLabel", "AssignedPodUpdatePodLabel"),
    "pod.requests": ("UnschedulablePodUpdatePodScaleDown", "AssignedPodUpdatePodScaleDown"),
    "pod.tolerations": (
        "UnschedulablePodUpdatePodToleration",
        "AssignedPodUpdatePodToleration",
    ),
    "pod.schedulingGates": ("UnschedulablePodUpdatePodSchedulingGatesEliminated",),
    "time": ("TimePasses",),
}
_ACTIONS: Final = ("Add", "Update", "Delete")
_OBJECTS: Final = {
    "namespace": "Namespace",
    "service": "Service",
    "replicationController": "ReplicationController",
    "replicaSet": "apps/ReplicaSet",
    "statefulSet": "apps/StatefulSet",
    "persistentVolume": "PersistentVolume",
    "persistentVolumeClaim": "PersistentVolumeClaim",
    "storageClass": "storage.k8s.io/StorageClass",
    "csiNode": "storage.k8s.io/CSINode",
    "csiDriver": "storage.k8s.io/CSIDriver",
    "csiStorageCapacity": "storage.k8s.io/CSIStorageCapacity",
    "volumeAttachment": "storage.k8s.io/VolumeAttachment",
    "podDisruptionBudget": "policy/PodDisruptionBudget",
}
EVENTS: Final[Mapping[str, frozenset[str]]] = {
    **{word: frozenset(events) for word, events in _BY_WORD.items()},
    **{
        word: frozenset(f"{kind}{action}" for action in _ACTIONS) for word, kind in _OBJECTS.items()
    },
}


def words(waits_for: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The words for what a pod waits for, as `kpolicy explain` has it."""
    events = {event for rule in waits_for for event in rule["events"]}
    return tuple(word for word, wanted in EVENTS.items() if wanted & events)
