"""The built-in rules: kube-scheduler's plugins by name, with their arguments.

Names, default weights and order come from the engine's table (`builtin_table`).

Annotations are values here, not texts as elsewhere: pydantic would compile each text.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, Field, model_validator

from kpolicy.policy.models.builtin_table import BUILTIN_TABLE
from kpolicy.policy.models.go_durations import Duration, seconds_of
from kpolicy.policy.models.node_selectors import NodeSelector, PreferredTerm
from kpolicy.policy.models.validation import Edge, NonEmpty, defaults_of, empty_list, refuse
from kpolicy.quick_dataclass import dataclass

Percentage = Annotated[int, Field(ge=0, le=100)]


class NoArgs(Edge):
    pass


class ResourceSpec(Edge):
    name: NonEmpty
    weight: Annotated[int, Field(ge=0, le=100)] = 1


class ShapePoint(Edge):
    utilization: Percentage
    score: Annotated[int, Field(ge=0, le=10)]


def default_resources() -> list[ResourceSpec]:
    return [defaults_of(ResourceSpec, name=name)() for name in ("cpu", "memory")]


def first_repeated(keys: Sequence[object]) -> int | None:
    """The index of the first key that equals an earlier one."""
    firsts = {key: index for index, key in reversed(list(enumerate(keys)))}
    return next((index for index, key in enumerate(keys) if firsts[key] != index), None)


def check_shape(shape: Sequence[ShapePoint]) -> None:
    """Refuses a shape without points, or not in order."""
    if not shape:
        refuse("KP115", "at least one point must be given", ("shape",))
    for index, (before, point) in enumerate(itertools.pairwise(shape), start=1):
        if before.utilization >= point.utilization:
            refuse(
                "KP115",
                "utilization values must be sorted in increasing order",
                ("shape", index, "utilization"),
            )


class RequestedToCapacityRatioParam(Edge):
    shape: list[ShapePoint]

    @model_validator(mode="after")
    def _sorted(self) -> Self:
        check_shape(self.shape)
        return self


class ScoringStrategy(Edge):
    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]
    resources: list[ResourceSpec] = Field(default_factory=default_resources)
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None

    @model_validator(mode="after")
    def _shape_goes_with_its_type(self) -> Self:
        wanted = self.type == "RequestedToCapacityRatio"
        if wanted and self.requested_to_capacity_ratio is None:
            refuse(
                "KP115",
                "`RequestedToCapacityRatio` needs `requestedToCapacityRatio.shape`",
                ("type",),
            )
        if not wanted and self.requested_to_capacity_ratio is not None:
            refuse(
                "KP115",
                f"`requestedToCapacityRatio` does not go with `{self.type}`",
                ("requestedToCapacityRatio",),
            )
        return self


class NodeResourcesFitArgs(Edge):
    ignored_resources: list[NonEmpty] = Field(default_factory=empty_list)
    ignored_resource_groups: list[NonEmpty] = Field(default_factory=empty_list)
    scoring_strategy: ScoringStrategy = Field(
        default_factory=defaults_of(ScoringStrategy, type="LeastAllocated")
    )

    @model_validator(mode="after")
    def _groups_have_no_slash(self) -> Self:
        for index, group in enumerate(self.ignored_resource_groups):
            if "/" in group:
                refuse(
                    "KP115",
                    f"a resource group is the part before the slash, and `{group}` has one",
                    ("ignoredResourceGroups", index),
                )
        return self


class BalancedResource(Edge):
    name: NonEmpty
    weight: Annotated[int, Field(ge=0, le=1)] = 1


class NodeResourcesBalancedAllocationArgs(Edge):
    resources: list[BalancedResource] = Field(
        default_factory=lambda: [
            defaults_of(BalancedResource, name=name)() for name in ("cpu", "memory")
        ]
    )

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        names = [resource.name for resource in self.resources]
        if (index := first_repeated(names)) is not None:
            refuse(
                "KP115",
                f"the resource `{names[index]}` is listed twice",
                ("resources", index, "name"),
            )
        return self


class InterPodAffinityArgs(Edge):
    hard_pod_affinity_weight: Percentage = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class DefaultPreemptionArgs(Edge):
    min_candidate_nodes_percentage: Percentage = 10
    min_candidate_nodes_absolute: Annotated[int, Field(ge=0, le=2**31 - 1)] = 100

    @model_validator(mode="after")
    def _some_candidate(self) -> Self:
        if self.min_candidate_nodes_percentage == 0 and self.min_candidate_nodes_absolute == 0:
            refuse(
                "KP115",
                "one of the two minimums of candidate nodes must be above zero",
                ("minCandidateNodesPercentage",),
            )
        return self


class SpreadConstraint(Edge):
    """A constraint as in a pod; the selector is that of the pod's owners."""

    max_skew: Annotated[int, Field(ge=1, le=2**31 - 1)]
    topology_key: NonEmpty
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    min_domains: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    node_taints_policy: Literal["Honor", "Ignore"] | None = None


class PodTopologySpreadArgs(Edge):
    default_constraints: list[SpreadConstraint] = Field(default_factory=empty_list)
    defaulting_type: Literal["System", "List"] = "System"

    @model_validator(mode="after")
    def _constraints_go_with_list(self) -> Self:
        if self.defaulting_type == "System" and self.default_constraints:
            refuse(
                "KP115", "`defaultConstraints` need `defaultingType: List`", ("defaultConstraints",)
            )
        keys = [(c.topology_key, c.when_unsatisfiable) for c in self.default_constraints]
        if (index := first_repeated(keys)) is not None:
            refuse(
                "KP115",
                f"`{keys[index][0]}` with `{keys[index][1]}` is constrained twice",
                ("defaultConstraints", index),
            )
        return self


def _absent_if_empty(shape: list[ShapePoint] | None) -> list[ShapePoint] | None:
    return shape or None


class VolumeBindingArgs(Edge):
    """The shape scores how full storage becomes, with the gate StorageCapacityScoring. An empty one
    is the default, as for kube-scheduler."""

    bind_timeout_seconds: Annotated[int, Field(ge=0)] = 600
    shape: Annotated[list[ShapePoint] | None, AfterValidator(_absent_if_empty)] = None

    @model_validator(mode="after")
    def _is_sorted(self) -> Self:
        if self.shape is not None:
            check_shape(self.shape)
        return self


class DynamicResourcesArgs(Edge):
    filter_timeout: Duration = "10s"
    binding_timeout: Duration = "600s"

    @model_validator(mode="after")
    def _drivers_have_time(self) -> Self:
        if (seconds_of(self.binding_timeout) or 0) < 1:
            refuse("KP115", "`bindingTimeout` must be at least 1s", ("bindingTimeout",))
        return self


class AddedAffinity(Edge):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[PreferredTerm] = Field(
        default_factory=empty_list
    )


class NodeAffinityArgs(Edge):
    added_affinity: AddedAffinity | None = None


class NodeLabelArgs(Edge):
    """Keys of labels: nodes must have or lack some; having or lacking others scores higher."""

    present_labels: list[NonEmpty] = Field(default_factory=empty_list)
    absent_labels: list[NonEmpty] = Field(default_factory=empty_list)
    present_labels_preference: list[NonEmpty] = Field(default_factory=empty_list)
    absent_labels_preference: list[NonEmpty] = Field(default_factory=empty_list)


class ServiceAffinityArgs(Edge):
    """`antiAffinityLabel` is short for `antiAffinityLabelsPreference` with one label."""

    affinity_labels: list[NonEmpty] = Field(default_factory=empty_list)
    anti_affinity_labels_preference: list[NonEmpty] = Field(default_factory=empty_list)
    anti_affinity_label: NonEmpty | None = None

    @model_validator(mode="after")
    def _in_full(self) -> Self:
        label = self.anti_affinity_label
        if label is None:
            return self
        if self.anti_affinity_labels_preference:
            refuse(
                "KP115",
                "give `antiAffinityLabel` or `antiAffinityLabelsPreference`, not both",
                ("antiAffinityLabel",),
            )
        full = {"anti_affinity_labels_preference": [label], "anti_affinity_label": None}
        return self.model_copy(update=full)


Owner = Literal["Service", "ReplicationController", "ReplicaSet", "StatefulSet"]


class SelectorSpreadArgs(Edge):
    """`selectors` names the owners that count: ServiceSpreadingPriority asks services only."""

    selectors: list[Owner] = Field(default_factory=lambda: list(get_args(Owner)))


class RequestedToCapacityRatioArgs(RequestedToCapacityRatioParam):
    resources: list[ResourceSpec] = Field(default_factory=default_resources)


class ResourcesArgs(Edge):
    resources: list[ResourceSpec] = Field(default_factory=default_resources)


class TypicalPod(Edge):
    """A kind of pod that is often asked for, and how often beside the others."""

    cpu_milli: Annotated[int, Field(ge=0, le=2**40)] = 0
    gpus: Annotated[int, Field(ge=0, le=2**40)] = 0
    gpu_milli: Annotated[int, Field(ge=0, le=1000)] = 1000
    models: list[NonEmpty] = Field(default_factory=empty_list)
    weight: Annotated[int, Field(ge=1, le=2**40)] = 1


class SharedGpusArgs(Edge):
    devices: Literal["BestFit", "LeastFragmentation", "Random"] = "BestFit"
    typical_pods: Annotated[list[TypicalPod], Field(max_length=64)] = Field(
        default_factory=empty_list
    )


@dataclass(frozen=True, slots=True)
class Builtin:
    name: str
    filters: bool
    scores: bool
    # Whether the default profile of kube-scheduler has it.
    is_default: bool
    # The weight in the default profile; 0 if it does not score there.
    weight: int
    args: type[Edge]


# A built-in that is not named here has no arguments.
ARGS: Final[Mapping[str, type[Edge]]] = {
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "VolumeBinding": VolumeBindingArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "DynamicResources": DynamicResourcesArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeLabel": NodeLabelArgs,
    "ServiceAffinity": ServiceAffinityArgs,
    "SelectorSpread": SelectorSpreadArgs,
    "NodeResourcesLeastAllocated": ResourcesArgs,
    "NodeResourcesMostAllocated": ResourcesArgs,
    "RequestedToCapacityRatio": RequestedToCapacityRatioArgs,
    "SharedGpus": SharedGpusArgs,
}

BUILTINS: Final = {
    name: Builtin(name, filters, scores, is_default, weight, ARGS.get(name, NoArgs))
    for name, filters, scores, is_default, weight in BUILTIN_TABLE
}
POSITIONS: Final = {name: index for index, name in enumerate(BUILTINS)}

# Plugins of the default profile that neither filter nor score: the engine, the queue and the binder
# always do what these plugins do.
ALWAYS_ON: Final = frozenset({"SchedulingGates", "PrioritySort", "DefaultBinder"})
PREEMPTION: Final = "DefaultPreemption"


def filled(model: BaseModel) -> dict[str, Any]:
    """Arguments for the program: in camelCase, with defaults filled in and without absent ones."""
    dumped: dict[str, Any] = model.model_dump(by_alias=True, exclude_none=True)
    for resource in dumped.get("scoringStrategy", dumped).get("resources", ()):
        resource["weight"] = resource["weight"] or 1
    return dumped
