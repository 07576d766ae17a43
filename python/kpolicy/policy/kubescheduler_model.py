"""The models of KubeSchedulerConfiguration: v1, v1beta3 and v1beta2.

Owns the shape of that file. Assumes plain data. Must not know what kube-scheduler makes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from kpolicy.policy.edge import Edge, NonEmpty


class Plugin(Edge):
    name: NonEmpty
    weight: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


class PluginSet(Edge):
    enabled: list[Plugin] = Field(default_factory=list)
    disabled: list[Plugin] = Field(default_factory=list)


class PluginsByPoint(Edge):
    pre_enqueue: PluginSet = Field(default_factory=PluginSet)
    queue_sort: PluginSet = Field(default_factory=PluginSet)
    pre_filter: PluginSet = Field(default_factory=PluginSet)
    filter: PluginSet = Field(default_factory=PluginSet)
    post_filter: PluginSet = Field(default_factory=PluginSet)
    pre_score: PluginSet = Field(default_factory=PluginSet)
    score: PluginSet = Field(default_factory=PluginSet)
    reserve: PluginSet = Field(default_factory=PluginSet)
    permit: PluginSet = Field(default_factory=PluginSet)
    pre_bind: PluginSet = Field(default_factory=PluginSet)
    bind: PluginSet = Field(default_factory=PluginSet)
    post_bind: PluginSet = Field(default_factory=PluginSet)


class PluginsV1Beta3(PluginsByPoint):
    multi_point: PluginSet = Field(default_factory=PluginSet)


class Plugins(PluginsV1Beta3):
    placement_generate: PluginSet = Field(default_factory=PluginSet)
    placement_score: PluginSet = Field(default_factory=PluginSet)


class PluginConfig(Edge):
    name: NonEmpty
    args: dict[str, Any] = Field(default_factory=dict)


class Profile(Edge):
    scheduler_name: NonEmpty | None = None
    plugins: PluginsByPoint = Field(default_factory=PluginsByPoint)
    plugin_config: list[PluginConfig] = Field(default_factory=list)


class ProfileV1Beta3(Profile):
    plugins: PluginsV1Beta3 = Field(default_factory=PluginsV1Beta3)


class ProfileV1(Profile):
    percentage_of_nodes_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    plugins: Plugins = Field(default_factory=Plugins)


class Configuration(Edge):
    """What concerns the process rather than decisions is read and left alone."""

    api_version: Literal[
        "kubescheduler.config.k8s.io/v1",
        "kubescheduler.config.k8s.io/v1beta3",
        "kubescheduler.config.k8s.io/v1beta2",
    ]
    kind: Literal["KubeSchedulerConfiguration"]
    percentage_of_nodes_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    profiles: Sequence[Profile]
    # Checked as the extenders of the SchedulingPolicy they become.
    extenders: list[dict[str, Any]] = Field(default_factory=list)
    parallelism: Annotated[int, Field(ge=1)] | None = None
    leader_election: dict[str, Any] | None = None
    client_connection: dict[str, Any] | None = None
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    pod_initial_backoff_seconds: Annotated[int, Field(ge=1)] | None = None
    pod_max_backoff_seconds: Annotated[int, Field(ge=1)] | None = None
    delay_cache_until_active: bool | None = None


class ConfigurationV1(Configuration):
    profiles: list[ProfileV1] = Field(default_factory=list)


class ConfigurationV1Beta3(Configuration):
    profiles: list[ProfileV1Beta3] = Field(default_factory=list)


class ConfigurationV1Beta2(Configuration):
    profiles: list[Profile] = Field(default_factory=list)
    healthz_bind_address: str | None = None
    metrics_bind_address: str | None = None
