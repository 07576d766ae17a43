"""The JSON Schema of advice: what would place a pod, and why a placed pod is where it is."""

from __future__ import annotations

from typing import Any, Final

from kpolicy.cli.schema_parts import (
    any_object,
    list_of,
    object_of,
    text_of,
    whole_number_of,
)

_OF: Final = {"enum": ["pod", "node", "policy"], "description": "What is to be changed."}
_KIND_OF_CHANGE: Final = text_of(
    "The sorts of changes, joined by +: request, toleration, nodeSelector, nodeAffinity, "
    "topologySpread, podAffinity, podAntiAffinity, podLabel; taint, cordon, nodeLabel, room; rule, "
    "constant."
)
_SUGGESTION: Final = object_of(
    {
        "of": _OF,
        "kind": _KIND_OF_CHANGE,
        "size": whole_number_of("How many changes it has."),
        "changes": list_of(
            object_of(
                {"change": text_of("The sort of the change; the other fields say how to make it.")}
            ),
            "All are needed, and are enough.",
        ),
        "node": text_of("Where the pod would be placed."),
    }
)
_RUNNER_UP: Final = object_of(
    {
        "node": text_of("The other node."),
        "total": whole_number_of("Its score."),
        "by": whole_number_of("How far it is behind; less than 0 if it is ahead."),
        "rules": list_of(
            object_of(
                {
                    "rule": text_of("The rule."),
                    "here": whole_number_of("Its weighted score of the pod's node."),
                    "there": whole_number_of("That of the other node."),
                    "by": whole_number_of("The difference."),
                }
            ),
            "The fewest rules without which it would not be so.",
        ),
    }
)
_NEAREST: Final = object_of(
    {
        "node": text_of("The node."),
        "rules": list_of(
            object_of(
                {
                    "rule": text_of("The rule."),
                    "reasons": list_of({"type": "string"}, "In its own words."),
                }
            ),
            "Every rule that rejects it.",
        ),
    },
    short=list_of(
        object_of(
            {
                "resource": text_of("The resource."),
                "asked": text_of("What the pod asks for."),
                "free": text_of("What the node has free."),
            }
        ),
        "The resources that are short.",
    ),
)
_ADVICE_REQUIRED: Final[dict[str, Any]] = {
    "situation": {
        "enum": ["fitsNowhere", "fits", "placed", "held", "noNodes", "setAside"],
        "description": "What is so with the pod.",
    },
    "nodes": whole_number_of("How many nodes there are."),
}
_ADVICE_OPTIONAL: Final[dict[str, Any]] = {
    "nearest": list_of(_NEAREST, "The nodes nearest to taking the pod, the nearest first."),
    "rejectedBy": any_object("How many nodes each rule rejects; of a placed pod, what would now."),
    "suggestions": list_of(_SUGGESTION, "What would place the pod, the smallest first."),
    "decisions": whole_number_of("How many decisions the search took."),
    "isComplete": {"type": "boolean", "description": "Whether the search came to its end."},
    "heldBy": object_of(
        {"rule": text_of("What keeps the pod from being tried."), "reason": text_of("Why.")},
        "What holds the pod.",
    ),
    "message": text_of("Why no node is looked at."),
    "node": {"type": ["string", "null"], "description": "Where the pod is, or would be placed."},
    "feasible": whole_number_of("How many nodes would take it."),
    "total": whole_number_of("The score of its node."),
    "runnersUp": list_of(_RUNNER_UP, "The best other nodes."),
}
ADVICE_SCHEMA: Final = object_of(_ADVICE_REQUIRED, "What would place the pod.", **_ADVICE_OPTIONAL)
_ADVICE_ON_PODS: Final = object_of(
    {"pods": list_of({"type": "string"}, "Pods alike."), **_ADVICE_REQUIRED}, **_ADVICE_OPTIONAL
)
WHY_ALL_SCHEMA: Final = object_of(
    {
        "namespace": text_of("The namespace."),
        "pods": whole_number_of("How many pods there are."),
        "pending": whole_number_of("How many of them are pending."),
        "situations": any_object("How many pending pods are in each situation."),
        "rejectedBy": any_object("How many pending pods each rule keeps from some node."),
        "suggestions": list_of(
            object_of(
                {
                    "of": _OF,
                    "kind": _KIND_OF_CHANGE,
                    "pods": whole_number_of("How many pods it would place, each by itself."),
                }
            ),
            "Kinds of suggestions.",
        ),
        "leftOut": whole_number_of(
            "How many pods have no advice, as there are too many kinds of pods."
        ),
        "advice": list_of(_ADVICE_ON_PODS, "The advice, one for pods alike."),
    },
    group=text_of("The group, if one was named."),
    judgedBy=text_of("Who judged, if it was not the one who answers."),
)
