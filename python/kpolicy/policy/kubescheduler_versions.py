"""The versions of KubeSchedulerConfiguration, and what is different in each.

Owns which are read and what they stand for, and what to do with those that are not. Assumes that
plugins which came with later releases belong to the default profile of every version, as they did
wherever a release read several. Must not know how plugin sets are merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity
from kpolicy.policy import tree
from kpolicy.policy.catalogue import remark
from kpolicy.policy.kubescheduler_model import (
    Configuration,
    ConfigurationV1,
    ConfigurationV1Beta2,
    ConfigurationV1Beta3,
)

GROUP: Final = "kubescheduler.config.k8s.io/"


@dataclass(frozen=True, slots=True)
class Version:
    name: str
    model: type[Configuration]
    # Of the default profile, where they are not those of release 1.36.
    weights: Mapping[str, int] = field(default_factory=dict)
    # Defaults stand at each extension point by itself: a plugin that is named there again keeps its
    # place, where v1 has those that are named first.
    is_merged_by_point: bool = False

    def told(self, at: tree.Node) -> tuple[Diagnostic, ...]:
        """What the author of a file may not expect today."""
        if not self.weights:
            return ()
        listed = ", ".join(f"{name} {weight}" for name, weight in self.weights.items())
        message = f"the default weights are those of {self.name}: {listed}"
        hint = "v1 weighs what pods ask for more: TaintToleration 3, NodeAffinity 2, "
        hint += "InterPodAffinity 2"
        return (remark("KP602", message, at.span, severity=Severity.INFO, hint=hint),)


_READ: Final = {
    one.name: one
    for one in (
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
# What each had that later versions do not, and so what to do with a file in it.
_LEFT_BEHIND: Final = {
    "v1beta1": "write it as v1: its default profile scored with plugins that strategies of "
    "NodeResourcesFit have replaced",
    "v1alpha2": "write it as v1: plugins and arguments were spelt in another way",
    "v1alpha1": "give the Policy that `algorithmSource` names instead; it is read as it is",
}


def version_of(root: tree.Mapping) -> Version | Diagnostic:
    """The version that the document names, or why it cannot be read."""
    node = root.get("apiVersion")
    written = tree.string(node)
    name = written.removeprefix(GROUP)
    if node is None or not written.startswith(GROUP) or name not in _LEFT_BEHIND:
        # A name that never was is a finding of the model's.
        return _READ.get(name, _READ["v1"])
    message = f"{name} of KubeSchedulerConfiguration is not read"
    return remark("KP606", message, node.span, hint=_LEFT_BEHIND[name])
