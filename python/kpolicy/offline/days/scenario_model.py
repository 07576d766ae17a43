"""The models of Scenario, apiVersion kpolicy.dev/v1alpha1, as `kpolicy schema` prints them."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from kpolicy.offline.days.durations import read_duration
from kpolicy.offline.limits import DAYS_NODES_MAX, DAYS_NS_MAX, RATE_MAX
from kpolicy.offline.policy_tests.document_model import Instant, NodeEntry, PodForm, Rules
from kpolicy.policy.models.scheduling_policy import Metadata
from kpolicy.policy.models.validation import Edge, NonEmpty, empty_list, refuse

KIND: Final = "Scenario"
HOURS: Final = 24


def _check_duration(text: str) -> str:
    duration_ns = read_duration(text)
    if duration_ns is None:
        refuse("KP113", f"`{text}` is not a duration", hint="write `90s`, `2h30m` or `7d`")
    if duration_ns > DAYS_NS_MAX:
        refuse("KP113", "a duration is at most ten years")
    return text


Duration = Annotated[str, AfterValidator(_check_duration)]


class LifetimeForm(Edge):
    """A distribution of durations: one of its fields."""

    exponential: Duration | None = None
    uniform: Annotated[list[Duration] | None, Field(min_length=2, max_length=2)] = None
    lognormal: Annotated[list[Duration] | None, Field(min_length=2, max_length=2)] = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        written = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(written) != 1:
            refuse("KP114", "give `exponential`, `uniform` or `lognormal`")
        first, *rest = (read_duration(text) or 0 for text in self.parts)
        if first <= 0 or any(each < first for each in rest):
            refuse("KP113", "these durations rise, and begin above 0", tuple(written))
        return self

    @property
    def parts(self) -> list[str]:
        """The durations that are written."""
        return [self.exponential] if self.exponential else self.uniform or self.lognormal or []


Lifetime = Annotated[
    Annotated[Duration, Tag("text")] | Annotated[LifetimeForm, Tag("map")],
    Discriminator(lambda value: "map" if isinstance(value, (dict, LifetimeForm)) else "text"),
]


class NodeGroup(NodeEntry):
    """`count` nodes that are alike; if there are several, they are numbered from 1."""

    count: Annotated[int, Field(ge=0, le=DAYS_NODES_MAX)] = 1


class PodKind(PodForm):
    """Pods that are alike."""

    name: NonEmpty
    lifetime: Lifetime | None = None


class Arrivals(Edge):
    """How often pods of a kind come."""

    pods: NonEmpty
    per_hour: Annotated[float, Field(ge=0, le=RATE_MAX)]
    hours: Annotated[
        list[Annotated[float, Field(ge=0, le=1_000)]] | None,
        Field(min_length=HOURS, max_length=HOURS),
    ] = None
    process: Literal["poisson", "even"] = "poisson"
    from_: Annotated[Duration, Field(alias="from")] = "0s"
    until: Duration | None = None


class Change(Edge):
    """One change of nodes."""

    at: Duration
    add: NonEmpty | None = None
    count: Annotated[int, Field(ge=1, le=DAYS_NODES_MAX)] = 1
    drain: Rules | None = None
    uncordon: Rules | None = None
    fail: Rules | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if sum(part is not None for part in (self.add, self.drain, self.uncordon, self.fail)) != 1:
            refuse("KP114", "give one of `add`, `drain`, `uncordon` and `fail`")
        if self.add is None and "count" in self.model_fields_set:
            refuse("KP115", "`count` goes with `add`", ("count",))
        return self


class Scenario(Edge):
    """Days of a cluster: its nodes, the pods that come and go, and what happens to nodes."""

    api_version: Literal["kpolicy.dev/v1alpha1"]
    kind: Literal["Scenario"]
    metadata: Metadata
    # A Monday.
    begins: Instant = "2026-01-05T00:00:00Z"
    duration: Duration
    sample_every: Duration | None = None
    grace_period: Duration = "30s"
    evicted: Literal["recreated", "gone"] = "recreated"
    snapshot: Rules | None = None
    nodes: list[NodeGroup] = Field(default_factory=empty_list)
    pods: list[PodKind] = Field(default_factory=empty_list)
    arrivals: list[Arrivals] = Field(default_factory=empty_list)
    trace: NonEmpty | None = None
    changes: list[Change] = Field(default_factory=empty_list)


def names(written: str | list[str] | None) -> list[str]:
    """A name, or several."""
    if written is None:
        return []
    return [written] if isinstance(written, str) else written
