"""The versions of KubeSchedulerConfiguration that are read: their models and their defaults.

Plugins that came with later releases belong to the default profile of every version, as in the
releases of kube-scheduler that read several versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.models.validation import Edge, NonEmpty, empty_list
from kpolicy.policy.yaml import nodes as tree


class Plugin(Edge):
    name: NonEmpty
    weight: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


class PluginSet(Edge):
    enabled: list[Plugin] = Field(default_factory=empty_list)
    disabled: list[Plugin] = Field(default_factory=empty_list)


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
    plugin_config: list[PluginConfig] = Field(default_factory=empty_list)


class ProfileV1Beta3(Profile):
    plugins: PluginsV1Beta3 = Field(default_factory=PluginsV1Beta3)


class ProfileV1(Profile):
    percentage_of_nodes_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    plugins: Plugins = Field(default_factory=Plugins)


class Configuration(Edge):
    """Settings of the process, which do not concern decisions, are in `process_settings`."""

    api_version: Literal[
        "kubescheduler.config.k8s.io/v1",
        "kubescheduler.config.k8s.io/v1beta3",
        "kubescheduler.config.k8s.io/v1beta2",
    ]
    kind: Literal["KubeSchedulerConfiguration"]
    percentage_of_nodes_to_score: Annotated[int, Field(ge=0, le=100)] | None = None
    profiles: Sequence[Profile]
    # Validated later, as the extenders of a SchedulingPolicy.
    extenders: list[dict[str, Any]] = Field(default_factory=empty_list)
    parallelism: Annotated[int, Field(ge=1)] | None = None
    leader_election: dict[str, Any] | None = None
    client_connection: dict[str, Any] | None = None
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    pod_initial_backoff_seconds: Annotated[int, Field(ge=1)] | None = None
    pod_max_backoff_seconds: Annotated[int, Field(ge=1)] | None = None
    delay_cache_until_active: bool | None = None
    # kube-scheduler reads gates from its flag only.
    feature_gates: dict[str, bool] | None = None


class ConfigurationV1(Configuration):
    profiles: list[ProfileV1] = Field(default_factory=empty_list)


class ConfigurationV1Beta3(Configuration):
    profiles: list[ProfileV1Beta3] = Field(default_factory=empty_list)


class ConfigurationV1Beta2(Configuration):
    profiles: list[Profile] = Field(default_factory=empty_list)
    healthz_bind_address: str | None = None
    metrics_bind_address: str | None = None


GROUP: Final = "kubescheduler.config.k8s.io/"


@dataclass(frozen=True, slots=True)
class Version:
    name: str
    model: type[Configuration]
    # The default weights that differ from those of release 1.36.
    weights: Mapping[str, int] = field(default_factory=dict)
    # Defaults are merged at each extension point by itself, so a plugin that is named there keeps
    # its place. In v1 the named plugins come first.
    is_merged_by_point: bool = False

    def remarks(self, at: tree.Node) -> tuple[Diagnostic, ...]:
        """A finding where the defaults differ from those of v1."""
        if not self.weights:
            return ()
        listed = ", ".join(f"{name} {weight}" for name, weight in self.weights.items())
        message = f"the default weights are those of {self.name}: {listed}"
        hint = "v1 weighs what pods ask for more: TaintToleration 3, NodeAffinity 2, "
        hint += "InterPodAffinity 2"
        return (remark("KP602", message, at.span, severity=Severity.INFO, hint=hint),)


_READ: Final = {
    version.name: version
    for version in (
        Version("v1", ConfigurationV1),
        Version("v1beta3", ConfigurationV1Beta3),
        Version(
            "v1beta2",
            ConfigurationV1Beta2,
            {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1},
            is_merged_by_point=True,
        ),
    )
}
# The hint for a file of an older version.
_LEFT_BEHIND: Final = {
    "v1beta1": "write it as v1: its default profile scored with plugins that strategies of "
    "NodeResourcesFit have replaced",
    "v1alpha2": "write it as v1: plugins and arguments were spelt in another way",
    "v1alpha1": "give the Policy that `algorithmSource` names instead; it is read as it is",
}


def version_of(root: tree.Mapping) -> Version | Diagnostic:
    """The version that the document names, or a finding if it is too old."""
    node = root.get("apiVersion")
    written = tree.string(node)
    name = written.removeprefix(GROUP)
    if node is None or not written.startswith(GROUP) or name not in _LEFT_BEHIND:
        # The model reports a version that never existed.
        return _READ.get(name, _READ["v1"])
    return remark(
        "KP606",
        f"{name} of KubeSchedulerConfiguration is not read",
        node.span,
        hint=_LEFT_BEHIND[name],
    )
