"""The models of SchedulingPolicy, apiVersion kpolicy.dev/v1alpha1.

`kpolicy schema` prints the fields and their meaning from here. Conditions on two fields of a rule,
or on several rules, are checked in `assembly`, so that one mistake does not hide the others.

Annotations are values here, not texts as elsewhere: pydantic would compile each text.
"""

import itertools
import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from kpolicy.policy.limits import (
    COST_PER_CYCLE_MAX,
    COST_PER_NODE_MAX,
    DEVICE_SCORES_MAX,
    EXPRESSION_CHARACTERS_MAX,
    HOLDS_MAX,
    MESSAGE_CHARACTERS_MAX,
    OVERTAKES_DEFAULT,
    OVERTAKES_MAX,
    QUEUE_SECONDS_MAX,
    QUEUE_SECONDS_MIN,
    RULES_MAX,
    WEIGHT_MAX,
)
from kpolicy.policy.models.builtins import InterPodAffinityArgs
from kpolicy.policy.models.go_durations import Duration
from kpolicy.policy.models.plugin_sets import PluginSets
from kpolicy.policy.models.validation import Edge, NonEmpty, defaults_of, empty_list, refuse

# The last release in which rules scored from 0 to 10; later ones score from 0 to 100.
SCORES_TO_TEN_MINOR_LAST: Final = 16


def minor_of(release: str) -> int | None:
    """`1.9`, `v1.9.3` → 9; None where no release is meant."""
    parts = release.removeprefix("v").split(".")
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None


# The release that is that of the cluster.
AUTO: Final = "auto"

_NANOSECONDS: Final = r"([0-9]+)ns\Z"


def in_largest_unit(written: str) -> str:
    """`5000000000ns` as `5s`."""
    match = re.match(_NANOSECONDS, written)
    if match is None:
        return written
    from decimal import Decimal  # noqa: PLC0415  few files count so

    nanoseconds = Decimal(match.group(1))
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if nanoseconds >= size and nanoseconds % (size // 1000) == 0:
            return f"{(nanoseconds / size).normalize():f}{unit}"
    return written


API_VERSION = "kpolicy.dev/v1alpha1"
KIND = "SchedulingPolicy"
# The base of a policy that names none, and the name that says that there is no base.
BASE_DEFAULT: Final = "kube-scheduler-default"
NO_BASE: Final = "none"

Cel = Annotated[
    str,
    StringConstraints(min_length=1, max_length=EXPRESSION_CHARACTERS_MAX),
    Field(json_schema_extra={"format": "cel"}),
]
Name = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?$")
]
# RFC 1123, because it becomes a part of a path at the API server.
Namespace = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}$")]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Message = Annotated[str, StringConstraints(max_length=MESSAGE_CHARACTERS_MAX)]
Weight = Annotated[int, Field(ge=0, le=WEIGHT_MAX)]
Release = Annotated[str, StringConstraints(pattern=r"^v?[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?$")]
FollowedRelease = Annotated[
    str,
    StringConstraints(pattern=rf"^({AUTO}|v?[0-9]{{1,3}}\.[0-9]{{1,3}}(\.[0-9]{{1,3}})?)$"),
]


class Metadata(Edge):
    name: Name
    namespace: NonEmpty | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class MatchCondition(Edge):
    """The rules of the document apply only to pods for which all conditions hold."""

    name: Name
    expression: Cel


class Variable(Edge):
    """An expression that others use as `variables.NAME`; evaluated when it is first used."""

    name: Identifier
    expression: Cel


class Param(Edge):
    type: NonEmpty
    default: Any = None
    description: str = ""
    minimum: int | float | None = None
    maximum: int | float | None = None
    unit: Literal["milli"] | None = None


class ConfigMapReference(Edge):
    namespace: Namespace
    name: Name
    optional: bool = False


class ParamsFrom(Edge):
    config_map: ConfigMapReference


class Rule(Edge):
    """The fields of predicates and priorities alike: a built-in, or an expression."""

    name: Name | None = None
    description: str = ""
    builtin: NonEmpty | None = None
    args: dict[str, Any] | None = None
    expression: Cel | None = None
    match_conditions: list[MatchCondition] = Field(default_factory=empty_list)
    enabled: bool = True


class Predicate(Rule):
    """Filters: true passes the node, false rejects it."""

    message: Message | None = None
    message_expression: Cel | None = None
    reason: Reason | None = None
    preemptible: bool = True
    helped_by: Literal["newNode", "other"] | None = None
    enforcement: Literal["deny", "audit"] = "deny"
    on_error: Literal["reject", "accept"] = "reject"


class Point(Edge):
    x: float
    y: float


class Normalize(Edge):
    """How the raw scores of the feasible nodes are changed before they are clamped to 0-100."""

    method: Literal["none", "linear", "minmax", "max", "reverse", "shape"]
    from_: Annotated[list[float] | None, Field(alias="from", min_length=2, max_length=2)] = None
    to: Annotated[list[float] | None, Field(min_length=2, max_length=2)] = None
    points: Annotated[list[Point] | None, Field(min_length=1, max_length=64)] = None

    @model_validator(mode="after")
    def _goes_with_its_method(self) -> Self:
        wanted = {"linear": {"from", "to"}, "shape": {"points"}}.get(self.method, set())
        for field, value in (("from", self.from_), ("to", self.to), ("points", self.points)):
            if field in wanted and value is None:
                refuse("KP114", f"`method: {self.method}` needs `{field}`", ("method",))
            if field not in wanted and value is not None:
                refuse("KP115", f"`{field}` does not go with `method: {self.method}`", (field,))
        if self.from_ and self.from_[0] >= self.from_[1]:
            refuse("KP115", "`from` must rise; `to` may fall", ("from",))
        for index, (before, point) in enumerate(itertools.pairwise(self.points or []), start=1):
            if before.x >= point.x:
                refuse("KP115", "`x` values must be increasing", ("points", index, "x"))
        return self


class Priority(Rule):
    """Scores: a number per node; after `normalize`, 0-100, times `weight`."""

    weight: Weight = 1
    normalize: Normalize | None = None
    on_error: Literal["zero"] = "zero"


class DeviceScore(Edge):
    """Scores the allocations of devices that a node can give: a number from 0 to 100 for each. The
    node gives the best one, and its value, times `weight`, is a score of the node."""

    name: Name
    description: str = ""
    expression: Cel
    match_conditions: list[MatchCondition] = Field(default_factory=empty_list)
    weight: Weight = 1
    enabled: bool = True

    @property
    def priority(self) -> Priority:
        """The rule as a priority, which it is for the node."""
        return Priority.model_construct(
            name=self.name,
            description=self.description,
            expression=self.expression,
            match_conditions=self.match_conditions,
            weight=self.weight,
            enabled=self.enabled,
        )


class Devices(Edge):
    """Which of the devices that a node has go to a claim, where the release takes the first."""

    score: Annotated[list[DeviceScore], Field(max_length=DEVICE_SCORES_MAX)] = Field(
        default_factory=empty_list
    )


class PredicateOverride(Edge):
    name: Name
    enabled: bool = True


class PriorityOverride(Edge):
    name: Name
    weight: Weight | None = None
    enabled: bool = True


class Overrides(Edge):
    predicates: list[PredicateOverride] = Field(default_factory=empty_list)
    priorities: list[PriorityOverride] = Field(default_factory=empty_list)


class Profile(Edge):
    """Pods whose `spec.schedulerName` is this are served by the policy."""

    scheduler_name: NonEmpty
    percentage_of_nodes_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    overrides: Overrides = Field(default_factory=defaults_of(Overrides))


class Limits(Edge):
    """What the rules may cost, in units: about one a step, element of a loop or ten bytes of text.

    `costPerNode`: an expression, on one node; its worst case is looked at when it is compiled.
    `costPerCycle`: all rules of the policy together, on all nodes; without it 50,000,000, or as
    much as 10,000 a node. Rules beyond it err (KR110), the last ones first. `allowQuadratic`: a
    loop inside a loop may have a worst case above `costPerNode`; on a node where it really is
    above, the rule errs (KR110).
    """

    cost_per_node: Annotated[int, Field(ge=1, le=COST_PER_NODE_MAX)] | None = None
    cost_per_cycle: Annotated[int, Field(ge=1, le=COST_PER_CYCLE_MAX)] | None = None
    allow_quadratic: bool = False


class Victims(Edge):
    """`expression` sees `victim`, a pod of lower priority on `node`: true lets it be evicted. One
    that it cannot judge stays."""

    expression: Cel


VictimOrder = Literal[
    "fewestPdbViolations",
    "lowestMaxPriority",
    "smallestPrioritySum",
    "fewestVictims",
    "latestStart",
]


class Preemption(Edge):
    """How room is made for a pod that fits nowhere. `order`: what decides between nodes, each where
    those before it tie; what it leaves out does not count. Without it all five, in the order of
    kube-scheduler. `frees_devices`: claims that only victims use count as free."""

    policy: Literal["LowerPriority", "Never"] = "LowerPriority"
    min_candidate_nodes_percentage: Annotated[int, Field(ge=0, le=100)] = 10
    min_candidate_nodes_absolute: Annotated[int, Field(ge=0, le=2**31 - 1)] = 100
    victims: Victims | None = None
    order: Annotated[list[VictimOrder] | None, Field(min_length=1, max_length=5)] = None
    frees_devices: bool = False


# A name, or a name behind a domain and a slash.
LabelKey = Annotated[
    str,
    StringConstraints(
        pattern=r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?"
        r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
    ),
]


class Order(Edge):
    """`expression` gives a number for each pod that waits; the pod with the smallest is tried
    first, and those with equal numbers in the order of kube-scheduler. `maxOvertakes`: a pod that
    so many others have overtaken, which came later, is tried next."""

    expression: Cel
    max_overtakes: Annotated[int, Field(ge=0, le=OVERTAKES_MAX)] = OVERTAKES_DEFAULT


class Hold(Edge):
    """Pods for which `when` is true are not tried, and wait until it is false. Without `when`, the
    hold of this name of a base is removed."""

    name: Name
    description: str = ""
    when: Cel | None = None
    match_conditions: list[MatchCondition] = Field(default_factory=empty_list)
    message: Message | None = None
    message_expression: Cel | None = None
    reason: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Za-z0-9]{0,127}$")] | None = None


QueueSeconds = Annotated[float, Field(ge=QUEUE_SECONDS_MIN, le=QUEUE_SECONDS_MAX)]


class Queue(Edge):
    """Who is tried next, who waits, and for how long. A tenant is a namespace, or all namespaces
    with the same value of the label `tenantLabel`. Periods are in seconds."""

    order: Order | None = None
    holds: Annotated[list[Hold], Field(max_length=HOLDS_MAX)] = Field(default_factory=empty_list)
    tenant_label: LabelKey | None = None
    pod_initial_backoff: QueueSeconds | None = None
    pod_max_backoff: QueueSeconds | None = None
    flush_after: QueueSeconds | None = None
    flush_period: QueueSeconds | None = None

    @model_validator(mode="after")
    def _grows(self) -> Self:
        first, longest = self.pod_initial_backoff, self.pod_max_backoff
        if first is not None and longest is not None and longest < first:
            refuse("KP113", f"this is less than the first back-off, {first:g}", ("podMaxBackoff",))
        return self


class ManagedResource(Edge):
    name: NonEmpty
    ignored_by_scheduler: bool = False


class ExtenderTls(Edge):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class Extender(Edge):
    """An HTTP extender by kube-scheduler's v1 wire protocol."""

    name: NonEmpty | None = None
    url_prefix: NonEmpty
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: Annotated[int, Field(ge=0, le=WEIGHT_MAX)] = 0
    enable_https: Annotated[bool, Field(alias="enableHTTPS")] = False
    tls_config: ExtenderTls | None = None
    http_timeout: Annotated[Duration, Field(alias="httpTimeout")] = "5s"
    node_cache_capable: bool = False
    ignorable: bool = False
    managed_resources: list[ManagedResource] = Field(default_factory=empty_list)

    @model_validator(mode="after")
    def _scores_with_a_weight(self) -> Self:
        if self.prioritize_verb and self.weight < 1:
            refuse(
                "KP113", "an extender with `prioritizeVerb` needs a positive weight", ("weight",)
            )
        return self


class Compatibility(Edge):
    """The release to follow where kube-scheduler releases differ: `auto` or 1.34 and later for all
    that is decided; an earlier one for the meaning of legacy names."""

    release: FollowedRelease | None = None
    feature_gates: dict[str, bool] = Field(default_factory=dict)


class Spec(Edge):
    profiles: Annotated[list[Profile], Field(max_length=64)] = Field(default_factory=empty_list)
    base: Name = BASE_DEFAULT
    order: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = 0
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    match_conditions: list[MatchCondition] = Field(default_factory=empty_list)
    params: dict[Identifier, Param] = Field(default_factory=dict)
    params_from: list[ParamsFrom] = Field(default_factory=empty_list)
    variables: Annotated[list[Variable], Field(max_length=RULES_MAX)] = Field(
        default_factory=empty_list
    )
    predicates: Annotated[list[Predicate], Field(max_length=RULES_MAX)] = Field(
        default_factory=empty_list
    )
    priorities: Annotated[list[Priority], Field(max_length=RULES_MAX)] = Field(
        default_factory=empty_list
    )
    devices: Devices = Field(default_factory=defaults_of(Devices))
    predicate_order: Literal["kubeScheduler", "asWritten"] = "kubeScheduler"
    limits: Limits = Field(default_factory=defaults_of(Limits))
    preemption: Preemption | None = None
    queue: Queue | None = None
    extenders: Annotated[list[Extender], Field(max_length=16)] = Field(default_factory=empty_list)
    plugins: PluginSets | None = None
    tie_break: Literal["random", "name", "leastPods"] | None = None
    min_engine: Release | None = None
    shadow: bool = False
    implicit: list[NonEmpty] = Field(default_factory=empty_list)
    evaluate_all: bool = False
    inter_pod_affinity: InterPodAffinityArgs | None = None
    percentage_of_nodes_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    compatibility: Compatibility = Field(default_factory=defaults_of(Compatibility))


class SchedulingPolicy(Edge):
    """A policy of kpolicy: which nodes a pod may run on, and which it had better run on."""

    api_version: Literal["kpolicy.dev/v1alpha1"]
    kind: Literal["SchedulingPolicy"]
    metadata: Metadata
    spec: Spec = Field(default_factory=Spec)
