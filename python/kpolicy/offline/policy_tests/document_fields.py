"""What each field of a PolicyTest means, for its JSON Schema, which editors show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_API: Final = "Any other fields of the object's `{}`, as the API has them."
_OBJECT: Final = {
    "from": "The fixture that this starts from; maps are merged, lists are replaced.",
    "labels": "Labels, by key.",
    "annotations": "Annotations, by key.",
    "metadata": _API.format("metadata"),
    "spec": _API.format("spec"),
}
NODE_FIELDS: Final = {
    **_OBJECT,
    "taints": "Taints, as `key=value:Effect` or as the API has them.",
    "unschedulable": "True: the node takes no new pods.",
    "allocatable": "How much of each resource the node has for pods.",
    "capacity": "How much of each resource the node has in all.",
    "conditions": "`True`, `False` or `Unknown`, by the type of the condition.",
    "images": "The names of the images that are on the node.",
    "status": _API.format("status"),
}
POD_FIELDS: Final = {
    **_OBJECT,
    "name": "The name of the pod.",
    "namespace": "The namespace of the pod. Default: `default`.",
    "requests": "What the pod requests, by resource.",
    "limits": "The limits of the pod, by resource.",
    "priority": "The priority of the pod as a number.",
    "nodeSelector": "Labels that a node must have.",
    "tolerations": "Tolerations, in a text such as `key=value:Effect` or as the API has them.",
    "schedulerName": "The scheduler that the pod asks for. Default: that of the profile.",
}
_WORLD: Final = {
    "nodes": "The nodes of the cluster.",
    "running": "Pods that are on nodes already.",
    "namespaces": "Namespaces with labels or annotations.",
    "objects": "Other objects, written as in the API.",
}
_STEP: Final = {
    "pod": "The pod that is to be placed.",
    "podFrom": "A pod of the snapshot, judged as if it were pending.",
    "patch": "Changes of the pod by JSON Patch.",
    "expect": "What must hold after the decision.",
}
_BOUND: Final = {
    "atLeast": "The least value that is accepted.",
    "atMost": "The greatest value that is accepted.",
}
_SOFT: Final = "True: it is reported, and does not fail the test."
_PARAMS: Final = "Values of params of the policies, by name."
_PROFILE: Final = "The `schedulerName` whose rules are tested, where the policies serve several."
_SEED: Final = "The number by which one of several equally good nodes is chosen."
_NOW: Final = "The moment of the decision, such as `2026-11-01T10:00:00Z`."

DOCUMENT_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "PolicyTest": {
        **_WORLD,
        "apiVersion": "The version of the format.",
        "kind": "The kind of the document.",
        "metadata": "The name of the document.",
        "policies": "Files or folders beside the test, or names of shipped policies. Without it, "
        "kube-scheduler's default policy is tested.",
        "snapshot": "Files or folders with a recorded cluster, to which the objects here are "
        "added.",
        "profile": _PROFILE,
        "params": _PARAMS,
        "defaults": "The seed and the moment of tests that do not say their own.",
        "fixtures": "Nodes from which others start, by name.",
        "podFixtures": "Pods from which others start, by name.",
        "tests": "The tests.",
        "coverage": "How much of the policies the tests must reach.",
    },
    "Metadata": {
        "name": "The name of the document.",
        "namespace": "It changes no test.",
        "labels": "They change no test.",
        "annotations": "They change no test.",
    },
    "NodeForm": NODE_FIELDS,
    "NodeEntry": {**NODE_FIELDS, "name": "The name of the node."},
    "PodForm": POD_FIELDS,
    "RunningPod": {
        **POD_FIELDS,
        "node": "The node that the pod is on.",
        "count": "How many such pods there are; they are numbered from 1.",
    },
    "NamespaceEntry": {
        "name": "The name of the namespace.",
        "labels": "Labels, by key.",
        "annotations": "Annotations, by key.",
    },
    "PatchOperation": {
        "op": "add, replace or remove.",
        "path": "The place in the pod, such as `/spec/priority`.",
        "value": "The new value. Not with `remove`.",
    },
    "PodFrom": {"snapshot": "The pod, as NAMESPACE/NAME."},
    "Test": {
        **_WORLD,
        **_STEP,
        "name": "The name by which the output names the test.",
        "description": "What the test is for, in words for people.",
        "sequence": "Several pods, each placed before the next is decided. With `expect.order` "
        "they wait together, and are tried in the order of the policy.",
        "replay": "Places the pods of a recorded cluster instead of one pod.",
        "profile": _PROFILE,
        "params": _PARAMS,
        "seed": _SEED,
        "now": _NOW,
    },
    "Step": _STEP,
    "Replay": {
        "snapshot": "A file beside the test with another snapshot than that of the document.",
        "pods": "pending: pods without a node. all: other pods are taken off their nodes first.",
        "order": "recorded: the order of creation. queue: highest priority first.",
        "everyPod": "True: also pods that ask for other schedulers.",
    },
    "Expectation": {
        "decision": "place: the pod gets a node. park: it stays pending. gate: it is not tried.",
        "heldBy": "The hold of the policy that keeps the pod from being tried.",
        "order": "The names of the pods of the `sequence` in the order in which they are tried; "
        "pods that a hold holds are none of them. The pods wait together.",
        "node": "The node on which the pod is placed.",
        "best": "Exactly these nodes share the highest total.",
        "message": "The text of the pod's condition.",
        "filters": "By node: `pass`, or by which rule it is rejected.",
        "scores": "By node: its scores.",
        "preemption": "The node and the victims that preemption would choose.",
        "errors": "Expressions that could not be evaluated; `[]` means none.",
        "audited": "Rules with `enforcement: audit` that would have rejected the chosen node.",
        "wakesOn": "Changes after which the parked pod is tried again; `[]` means none.",
        "placed": "How many pods of a replay found a node.",
        "changedFromRecorded": "How many pods of a replay are now on another node, or on none.",
        "p99CycleMicros": "The time that 99 of 100 decisions of a replay take at most.",
        "never": "A CEL expression that is true of no pod that a replay placed.",
    },
    "Rejection": {
        "rejectedBy": "The first rule that rejects the node; a list names all that do.",
        "reason": "The reason of the rule.",
        "message": "The message of the rule.",
    },
    "ScoreExpectation": {
        "total": "The sum over all priorities, with their weights.",
        "raw": "By priority: the number before `normalize`.",
        "weighted": "By priority: the score times its weight.",
    },
    "PreemptionExpectation": {
        "node": "The node on which room is made.",
        "victims": "The pods that are evicted; `[]` means none.",
    },
    "ErrorExpectation": {
        "rule": "The rule whose expression could not be evaluated.",
        "node": "The node on which it could not.",
        "code": "The code of the error, such as `KR102`.",
        "contains": "A part of the message.",
    },
    "TextPattern": {
        "matches": "A regular expression for the whole text.",
        "contains": "A part of the text.",
    },
    "NumberRange": {**_BOUND, "between": "The least and the greatest value that is accepted."},
    "OneOf": {"oneOf": "One of these nodes."},
    "ShareRange": {
        "atLeast": "The least part, as `97%`, or the least number of pods.",
        "atMost": "The greatest part, as `5%`, or the greatest number of pods.",
        "soft": _SOFT,
    },
    "MicrosRange": {"atMost": "In microseconds.", "soft": _SOFT},
    "Defaults": {"seed": _SEED, "now": _NOW},
    "CoverageWanted": {
        "minimum": "What the tests must reach, in percent.",
        "branches": "True: branches of expressions are counted. False: rules.",
    },
}
