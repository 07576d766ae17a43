"""The models of PolicyTest, apiVersion kpolicy.dev/v1alpha1, as `kpolicy schema` prints them.

Annotations are values here, not texts as elsewhere: pydantic would compile each text.
"""

import re
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)

from kpolicy.object_kinds import KindWord
from kpolicy.offline.limits import PODS_MAX, STEPS_MAX, TESTS_MAX
from kpolicy.policy.models.scheduling_policy import Cel, Metadata
from kpolicy.policy.models.validation import (
    Edge,
    NonEmpty,
    defaults_of,
    empty_list,
    in_camel_case,
    refuse,
)

_FORM: Final = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII
)
_FRACTION: Final = re.compile(r"\.(\d+)")
_NANOSECONDS: Final = 1_000_000_000
# Nanoseconds since 1970 in 64 bits reach a little further.
_LAST_YEAR: Final = 2261


def check_instant(text: str) -> str:
    """The text, if it is one."""
    if not _FORM.fullmatch(text):
        refuse("KP113", "a time is written like `2026-11-01T10:00:00Z`")
    try:
        moment = _moment(text)
    except ValueError as error:
        refuse("KP113", f"there is no such time: {error}")
    if not 1970 <= moment.year <= _LAST_YEAR:
        refuse("KP113", f"a time is between 1970 and {_LAST_YEAR}")
    return text


def nanoseconds(text: str) -> int:
    found = _FRACTION.search(text)
    fraction = found.group(1).ljust(9, "0") if found else "0"
    return int(_moment(text).timestamp()) * _NANOSECONDS + int(fraction)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(_FRACTION.sub("", text))


KIND: Final = "PolicyTest"

Object: TypeAlias = dict[str, Any]


def _by_form(value: Any) -> str:
    """Tells a map, a list and a text apart, so that a mistake is reported once."""
    return "map" if isinstance(value, dict) else "list" if isinstance(value, list) else "text"


_BY_FORM: Final = Discriminator(_by_form)
_BY_TEXT: Final = Discriminator(lambda value: "text" if isinstance(value, str) else "number")


class TextPattern(Edge):
    """`matches` is a regular expression for the whole text, `contains` a part of it."""

    matches: NonEmpty | None = None
    contains: NonEmpty | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.matches is None) == (self.contains is None):
            refuse("KP114", "give `matches` or `contains`", hint="a plain text must be equal")
        try:
            re.compile(self.matches or "")
        except re.error as error:
            refuse("KP113", f"this is not a regular expression: {error.msg}", ("matches",))
        return self


class NumberRange(Edge):
    """Bounds are inclusive."""

    at_least: float | None = None
    at_most: float | None = None
    between: Annotated[list[float] | None, Field(min_length=2, max_length=2)] = None

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if self.at_least is None and self.at_most is None and self.between is None:
            refuse("KP114", "give `atLeast`, `atMost` or `between`")
        return self


class OneOf(Edge):
    one_of: Annotated[list[NonEmpty], Field(min_length=1)]


Text = Annotated[
    Annotated[str, Tag("text")] | Annotated[TextPattern, Tag("map")],
    Discriminator(lambda value: "map" if isinstance(value, dict) else "text"),
]
Number = Annotated[
    Annotated[float, Tag("number")] | Annotated[NumberRange, Tag("map")],
    Discriminator(lambda value: "map" if isinstance(value, (dict, NumberRange)) else "number"),
]
NodeName = Annotated[
    Annotated[NonEmpty, Tag("text")] | Annotated[OneOf, Tag("map")],
    Discriminator(lambda value: "map" if isinstance(value, (dict, OneOf)) else "text"),
]
Rules = Annotated[
    Annotated[NonEmpty, Tag("text")] | Annotated[list[NonEmpty], Tag("list")], _BY_FORM
]
# In kubectl's form or in the API's.
Taint = Annotated[
    Annotated[NonEmpty, Tag("text")] | Annotated[dict[str, str], Tag("map")], _BY_FORM
]
Toleration = Annotated[Annotated[NonEmpty, Tag("text")] | Annotated[Object, Tag("map")], _BY_FORM]
Quantity = Annotated[Annotated[str, Tag("text")] | Annotated[float, Tag("number")], _BY_TEXT]
Percentage = Annotated[
    Annotated[str, StringConstraints(pattern=r"^[0-9]{1,3}(\.[0-9]+)?%$"), Tag("text")]
    | Annotated[float, Field(ge=0, le=100), Tag("number")],
    _BY_TEXT,
]
Share = Annotated[
    Annotated[str, StringConstraints(pattern=r"^(100|[0-9]{1,2})(\.[0-9]+)?%$"), Tag("text")]
    | Annotated[int, Field(ge=0), Tag("number")],
    _BY_TEXT,
]
Wake: TypeAlias = Literal[
    "node",
    "node.labels",
    "node.annotations",
    "node.taints",
    "node.conditions",
    "node.allocatable",
    "node.declaredFeatures",
    "node.free",
    "node.pods",
    "pod",
    "pod.labels",
    "pod.requests",
    "pod.tolerations",
    "pod.schedulingGates",
    "time",
    KindWord,
]
Instant = Annotated[str, AfterValidator(check_instant)]
Seed = Annotated[int, Field(ge=0, lt=2**64)]


class NodeForm(Edge):
    """A node in a few words; `metadata`, `spec` and `status` are as the API has them."""

    from_: Annotated[NonEmpty | None, Field(alias="from")] = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    taints: list[Taint] | None = None
    unschedulable: bool | None = None
    allocatable: dict[str, Quantity] = Field(default_factory=dict)
    capacity: dict[str, Quantity] = Field(default_factory=dict)
    conditions: dict[str, Literal["True", "False", "Unknown"]] = Field(default_factory=dict)
    images: list[NonEmpty] | None = None
    metadata: Object = Field(default_factory=dict)
    spec: Object = Field(default_factory=dict)
    status: Object = Field(default_factory=dict)


class NodeEntry(NodeForm):
    name: NonEmpty


class PodForm(Edge):
    """A pod in a few words; `metadata` and `spec` are as the API has them."""

    from_: Annotated[NonEmpty | None, Field(alias="from")] = None
    name: NonEmpty | None = None
    namespace: NonEmpty | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    requests: dict[str, Quantity] = Field(default_factory=dict)
    limits: dict[str, Quantity] = Field(default_factory=dict)
    priority: int | None = None
    node_selector: dict[str, str] = Field(default_factory=dict)
    tolerations: list[Toleration] | None = None
    scheduler_name: NonEmpty | None = None
    metadata: Object = Field(default_factory=dict)
    spec: Object = Field(default_factory=dict)


class RunningPod(PodForm):
    """A pod that is on a node already; `count` of them are numbered from 1."""

    node: NonEmpty
    count: Annotated[int, Field(ge=1, le=PODS_MAX)] = 1


class NamespaceEntry(Edge):
    name: NonEmpty
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class PatchOperation(Edge):
    """One operation of RFC 6902."""

    op: Literal["add", "replace", "remove"]
    path: NonEmpty
    value: Any = None


class PodFrom(Edge):
    """A pod of the snapshot, judged as if it were pending."""

    snapshot: NonEmpty


class Rejection(Edge):
    """`rejectedBy` is the first rule that rejects the node; a list names all that do."""

    rejected_by: Rules | None = None
    reason: NonEmpty | None = None
    message: Text | None = None


FilterExpectation = Annotated[
    Annotated[Literal["pass"], Tag("text")] | Annotated[Rejection, Tag("map")],
    Discriminator(lambda value: "map" if isinstance(value, (dict, Rejection)) else "text"),
]


class ScoreExpectation(Edge):
    """Any other key is a priority, its number that after `normalize` and before `weight`."""

    model_config = ConfigDict(
        strict=True, extra="allow", frozen=True, alias_generator=in_camel_case, allow_inf_nan=False
    )
    __pydantic_extra__: dict[str, Number]

    total: Number | None = None
    raw: dict[str, Number] = Field(default_factory=dict)
    weighted: dict[str, Number] = Field(default_factory=dict)


class PreemptionExpectation(Edge):
    """Without victims, `victims: []`."""

    node: NodeName | None = None
    victims: list[NonEmpty] | None = None


class ErrorExpectation(Edge):
    """An expression that could not be evaluated."""

    rule: NonEmpty
    node: NonEmpty | None = None
    code: Annotated[str, StringConstraints(pattern=r"^KR[0-9]{3}$")] | None = None
    contains: NonEmpty | None = None


class ShareRange(Edge):
    """Bounds in percent, as `97%`, or in pods. A `soft` bound is reported and never fails."""

    at_least: Share | None = None
    at_most: Share | None = None
    soft: bool = False

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if self.at_least is None and self.at_most is None:
            refuse("KP114", "give `atLeast` or `atMost`")
        return self


class MicrosRange(Edge):
    at_most: Annotated[float, Field(gt=0)]
    soft: bool = False


class Replay(Edge):
    """The pods of a recorded cluster, placed again one after the other.

    `pods: all` takes pods off their nodes first. `snapshot` is a file beside this one, or the
    document's own by its name."""

    snapshot: NonEmpty | None = None
    pods: Literal["pending", "all"] = "pending"
    order: Literal["recorded", "queue"] = "recorded"
    every_pod: bool = False


class Expectation(Edge):
    """What must hold; only written fields are compared. `order` is of a `sequence`, the last four
    are of a `replay`."""

    decision: Literal["place", "park", "gate"] | None = None
    held_by: NonEmpty | None = None
    order: Annotated[list[NonEmpty], Field(max_length=STEPS_MAX)] | None = None
    node: NodeName | None = None
    best: list[NonEmpty] | None = None
    message: Text | None = None
    filters: dict[str, FilterExpectation] = Field(default_factory=dict)
    scores: dict[str, ScoreExpectation] = Field(default_factory=dict)
    preemption: PreemptionExpectation | None = None
    errors: list[ErrorExpectation] | None = None
    audited: list[NonEmpty] | None = None
    wakes_on: list[Wake] | None = None
    placed: ShareRange | None = None
    changed_from_recorded: ShareRange | None = None
    p99_cycle_micros: Annotated[MicrosRange | None, Field(alias="p99CycleMicros")] = None
    never: Cel | None = None


# Fields of an expectation that are about a replay, or about a sequence; all others are about one
# pod.
OF_REPLAYS: Final = ("placed", "changed_from_recorded", "p99_cycle_micros", "never")
OF_SEQUENCES: Final = ("order",)


class Step(Edge):
    """One pod and what is expected of it."""

    pod: PodForm | None = None
    pod_from: PodFrom | None = None
    patch: list[PatchOperation] = Field(default_factory=empty_list)
    expect: Expectation = Field(default_factory=defaults_of(Expectation))


class World(Edge):
    """The cluster before the pod is created."""

    nodes: list[NodeEntry] | None = None
    running: list[RunningPod] | None = None
    namespaces: list[NamespaceEntry] | None = None
    objects: list[Object] | None = None


class Test(Step, World):
    """One pod, a sequence of them, each placed before the next, or a replay. With `expect.order`
    the pods of the sequence wait together, and the policy says who is tried next.

    A list of the world that is written here takes the place of the document's."""

    __test__ = False  # for pytest

    name: Annotated[str, StringConstraints(min_length=1, max_length=253)]
    description: str = ""
    sequence: Annotated[list[Step], Field(max_length=STEPS_MAX)] = Field(default_factory=empty_list)
    replay: Replay | None = None
    profile: NonEmpty | None = None
    params: Object = Field(default_factory=dict)
    seed: Seed | None = None
    now: Instant | None = None


class Defaults(Edge):
    seed: Seed = 0
    now: Instant | None = None


class CoverageWanted(Edge):
    """`minimum` is of branches, or of rules with `branches: false`."""

    minimum: Percentage | None = None
    branches: bool = True


class PolicyTest(World):
    """Tests of policies: pods, the cluster they come to, and what must become of them."""

    api_version: Literal["kpolicy.dev/v1alpha1"]
    kind: Literal["PolicyTest"]
    metadata: Metadata
    policies: list[NonEmpty] = Field(default_factory=empty_list)
    snapshot: Rules | None = None
    profile: NonEmpty | None = None
    params: Object = Field(default_factory=dict)
    defaults: Defaults = Field(default_factory=defaults_of(Defaults))
    fixtures: dict[str, NodeForm] = Field(default_factory=dict)
    pod_fixtures: dict[str, PodForm] = Field(default_factory=dict)
    tests: Annotated[list[Test], Field(max_length=TESTS_MAX)] = Field(default_factory=empty_list)
    coverage: CoverageWanted = Field(default_factory=defaults_of(CoverageWanted))
