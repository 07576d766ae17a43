"""The fields of what `kpolicy plan --output json` prints."""

from __future__ import annotations

from typing import Any, Final

from kpolicy.cli.schema_parts import (
    any_object,
    list_of,
    number_of,
    object_of,
    text_of,
    whole_number_of,
)


def _triple(about: str, **more: Any) -> dict[str, Any]:
    return object_of(
        {
            "before": number_of("Before any pending pod is placed."),
            "old": number_of("With the pods that the old policy places."),
            "new": number_of("With the pods that the new policy places."),
        },
        about,
        **more,
    )


def _side(which: str) -> dict[str, Any]:
    return object_of(
        {
            "placed": whole_number_of(f"Pods that the {which} policy places."),
            "parked": whole_number_of(f"Pods that the {which} policy finds no node for."),
            "evicted": whole_number_of(f"Pods that the {which} policy evicts for others."),
        },
        f"What the {which} policy does.",
    )


_COUNTED: Final = {
    "pods": whole_number_of("Pods that at least one policy serves."),
    "old": _side("old"),
    "new": _side("new"),
    "placed": whole_number_of("Pods that only the new policy places."),
    "parked": whole_number_of("Pods that only the old policy places."),
    "moved": whole_number_of("Pods that the rules of the new policy put on another node."),
    "evicted": whole_number_of("Pods that only the new policy evicts."),
    "movedIndirectly": whole_number_of(
        "Pods on another node only because other pods are elsewhere."
    ),
}
_COUNTS: Final = object_of(_COUNTED, "How many pods change.")
_CLASS: Final = {
    "workload": text_of("What the pods belong to, as NAMESPACE/NAME."),
    "namespace": text_of("Their namespace."),
    "ownerKind": text_of("The kind of their controller; empty if there is none."),
    "priority": whole_number_of("Their priority."),
}
_CLASSES: Final = list_of(object_of({**_CLASS, **_COUNTED}), "Classes of pods, with their counts.")
_CHANGE: Final = object_of(
    {
        "pod": text_of("The pod, as NAMESPACE/NAME."),
        "workload": text_of("What it belongs to."),
        "change": {
            "enum": ["placed", "parked", "moved", "evicted"],
            "description": "What the new policy makes of it.",
        },
        "cause": {
            "enum": ["rules", "indirect"],
            "description": "Whether rules decide otherwise in the same cluster, or it only follows "
            "from other changes.",
        },
        "old": text_of("The node under the old policy; empty for none."),
        "new": text_of("The node under the new policy; empty for none."),
    },
    rule=text_of("The rule that makes the change, of the first changes."),
    message=text_of("Why the pod is on no node; of an evicted pod, for which pod."),
)
_MEASURES: Final = {
    "resources": any_object(
        "By resource: `allocatable`, `used`, `fullness`, `free`, `stranded` and `fragmentation`."
    ),
    "spread": any_object("By label of nodes: `skew`, and pods by its `values`."),
    "columns": any_object("By column: sums over the nodes in use, and nodes `withoutValue`."),
    "nodeCount": whole_number_of("How many nodes there are."),
    "nodesInUse": _triple("Nodes with a pod that is not of a DaemonSet."),
}
_NODE: Final = object_of(
    {
        "name": text_of("The name of the node."),
        "zone": text_of("Its zone; empty if it has none."),
        "rack": text_of("Its rack; empty if it has none."),
        "takesPods": {"type": "boolean", "description": "Whether it is not cordoned."},
        "resources": any_object("By resource: `allocatable`, and used `before`, `old` and `new`."),
        "columns": any_object("The values of its columns."),
    }
)
_INPUT: Final = object_of(
    {
        "kind": {"enum": ["snapshot", "journal"], "description": "What it is."},
        "name": text_of("What the user called it."),
        "counts": _COUNTS,
        "classes": _CLASSES,
        "changes": list_of(_CHANGE, "The pods that change."),
        **_MEASURES,
        "nodes": list_of(_NODE, "The nodes of a snapshot."),
        "notMeasured": list_of(
            text_of("The name of a figure."),
            "Of a journal, the figures of which the plan says nothing.",
        ),
        "problems": list_of(
            object_of({"code": text_of("The code."), "message": text_of("What is wrong.")}),
            "Gaps and damage of a journal.",
        ),
    },
    "A snapshot or a journal.",
    **{
        "from": text_of("When it begins, if that is known."),
        "to": text_of("When it ends."),
        "decisions": whole_number_of("How many decisions of a journal were compared."),
    },
)


def _policy(which: str) -> dict[str, Any]:
    return object_of(
        {
            "policy": text_of("What the user called it."),
            "release": text_of("The release of Kubernetes that it follows."),
        },
        f"The {which} policy.",
    )


PLAN_SCHEMA: Final = object_of(
    {
        "old": _policy("old"),
        "new": _policy("new"),
        "counts": _COUNTS,
        "classes": _CLASSES,
        "byRule": any_object("How many of the first changes each rule makes."),
        **_MEASURES,
        "thresholds": list_of(
            object_of(
                {
                    "expression": text_of("An expression of --fail-on."),
                    "isTrue": {"type": "boolean", "description": "Whether the plan fails by it."},
                }
            ),
            "The thresholds, in the order of the flags.",
        ),
        "failed": {"type": "boolean", "description": "Whether some threshold is true."},
        "inputs": list_of(_INPUT, "Each snapshot and journal, in the order of time."),
    }
)
