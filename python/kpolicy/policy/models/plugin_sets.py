"""`spec.plugins`: which plugins of the process a policy's profiles have, by extension point.

The fields are those of KubeSchedulerConfiguration. What a plugin does is not a matter of policies.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kpolicy.policy.models.validation import Edge, NonEmpty, empty_list


class PluginName(Edge):
    name: NonEmpty


PluginNames = Annotated[list[PluginName], Field(max_length=64)]


class PluginChoice(Edge):
    """The plugins of one extension point."""

    enabled: PluginNames = Field(default_factory=empty_list)
    disabled: PluginNames = Field(default_factory=empty_list)

    def joined(self, other: PluginChoice) -> PluginChoice:
        return PluginChoice(
            enabled=[*self.enabled, *other.enabled], disabled=[*self.disabled, *other.disabled]
        )


class PluginSets(Edge):
    """Every plugin that is loaded is on at each of its points, in the order of loading, unless
    these fields say otherwise."""

    multi_point: PluginChoice = Field(default_factory=PluginChoice)
    pre_enqueue: PluginChoice = Field(default_factory=PluginChoice)
    queue_sort: PluginChoice = Field(default_factory=PluginChoice)
    reserve: PluginChoice = Field(default_factory=PluginChoice)
    permit: PluginChoice = Field(default_factory=PluginChoice)
    pre_bind: PluginChoice = Field(default_factory=PluginChoice)
    bind: PluginChoice = Field(default_factory=PluginChoice)
    post_bind: PluginChoice = Field(default_factory=PluginChoice)

    def joined(self, other: PluginSets) -> PluginSets:
        """As one policy says, and then another of the same profile."""
        return PluginSets.model_construct(
            **{
                name: getattr(self, name).joined(getattr(other, name))
                for name in PluginSets.model_fields
            }
        )
