"""What each argument of a built-in means, by the models of `builtins`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_RESOURCES: Final = "The resources that count, with their weights. Default: cpu and memory."
_SHAPE: Final = "Points of a curve from the used part to scores, with rising `utilization`."
_SELECTOR_TERM: Final = {
    "matchExpressions": "Requirements for labels of the node; all must hold.",
    "matchFields": "Requirements for `metadata.name` of the node; all must hold.",
}

ARGUMENT_DESCRIPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "NodeResourcesFitArgs": {
        "ignoredResources": "Extended resources that are not checked.",
        "ignoredResourceGroups": "Groups of extended resources that are not checked, by what is "
        "before the slash of their names.",
        "scoringStrategy": "How nodes are scored.",
    },
    "ScoringStrategy": {
        "type": "LeastAllocated: more left is better. MostAllocated: less left is better. "
        "RequestedToCapacityRatio: by a curve.",
        "resources": _RESOURCES,
        "requestedToCapacityRatio": "The curve of `type: RequestedToCapacityRatio`.",
    },
    "RequestedToCapacityRatioParam": {"shape": _SHAPE},
    "RequestedToCapacityRatioArgs": {"shape": _SHAPE, "resources": _RESOURCES},
    "ShapePoint": {
        "utilization": "The used part, in percent.",
        "score": "The score there, from 0 to 10.",
    },
    "ResourceSpec": {
        "name": "The name of the resource.",
        "weight": "How much it counts beside the others.",
    },
    "ResourcesArgs": {"resources": _RESOURCES},
    "NodeResourcesBalancedAllocationArgs": {"resources": _RESOURCES},
    "BalancedResource": {"name": "The name of the resource.", "weight": "Always 1."},
    "DefaultPreemptionArgs": {
        "minCandidateNodesPercentage": "How many nodes are looked at at least, in percent of all.",
        "minCandidateNodesAbsolute": "How many nodes are looked at at least.",
    },
    "PodTopologySpreadArgs": {
        "defaultConstraints": "Constraints of pods that have none of their own, with "
        "`defaultingType: List`.",
        "defaultingType": "System: kube-scheduler's default constraints. List: those listed.",
    },
    "SpreadConstraint": {
        "maxSkew": "By how much the numbers of pods in two domains may differ.",
        "topologyKey": "The label whose values are the domains.",
        "whenUnsatisfiable": "DoNotSchedule: it filters. ScheduleAnyway: it scores.",
        "minDomains": "With fewer domains, the least number of pods counts as 0.",
        "nodeAffinityPolicy": "Whether nodes count that the pod's node affinity excludes.",
        "nodeTaintsPolicy": "Whether nodes count whose taints the pod does not tolerate.",
    },
    "VolumeBindingArgs": {
        "bindTimeoutSeconds": "How long a pod waits until its volumes are bound.",
        "shape": f"{_SHAPE} With the gate StorageCapacityScoring.",
    },
    "DynamicResourcesArgs": {
        "filterTimeout": "It is accepted and has no effect: kpolicy bounds a search by its work.",
        "bindingTimeout": "How long a pod waits until its devices are ready.",
    },
    "NodeAffinityArgs": {
        "addedAffinity": "Node affinity that all pods have beside their own.",
    },
    "AddedAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": "What nodes must fulfil.",
        "preferredDuringSchedulingIgnoredDuringExecution": "What makes nodes better.",
    },
    "NodeSelector": {"nodeSelectorTerms": "Terms, of which one must hold."},
    "NodeSelectorTerm": _SELECTOR_TERM,
    "PreferredTerm": {
        "weight": "How much the term counts beside the others.",
        "preference": "The term.",
    },
    "LabelRequirement": {
        "key": "The key of the label.",
        "operator": "In, NotIn, Exists, DoesNotExist, Gt or Lt.",
        "values": "The values that the operator compares with.",
    },
    "FieldRequirement": {
        "key": "The field: `metadata.name`.",
        "operator": "In or NotIn.",
        "values": "One value.",
    },
    "NodeLabelArgs": {
        "presentLabels": "Keys of labels that nodes must have.",
        "absentLabels": "Keys of labels that nodes must not have.",
        "presentLabelsPreference": "Keys of labels that make nodes better.",
        "absentLabelsPreference": "Keys of labels whose absence makes nodes better.",
    },
    "ServiceAffinityArgs": {
        "affinityLabels": "Keys of labels whose values all pods of a service share.",
        "antiAffinityLabelsPreference": "Keys of labels over whose values pods are spread.",
        "antiAffinityLabel": "One such key.",
    },
    "SharedGpusArgs": {
        "devices": "Which GPUs of its node a pod gets. BestFit: those with the least left that is "
        "enough. LeastFragmentation: those that leave the smallest fragment. Random: any.",
        "typicalPods": "What is often asked for: what such pods cannot use of an idle GPU is a "
        "fragment. Default: half of the pods want a whole GPU, the others a half or a quarter.",
    },
    "TypicalPod": {
        "cpuMilli": "How much CPU such a pod requests, in thousandths of a core.",
        "gpus": "How many GPUs it asks for.",
        "gpuMilli": "How many thousandths of each.",
        "models": "Models of GPUs that will do. Default: any.",
        "weight": "How often such pods are asked for, beside the others.",
    },
    "SelectorSpreadArgs": {"selectors": "The kinds of owners whose pods count."},
}
