"""Plugins that exist but that kpolicy does not have: whose they are, and what to use instead; and
the plugins of kube-scheduler that it has.
"""

from __future__ import annotations

from typing import Final

from kpolicy.diagnostics import did_you_mean
from kpolicy.policy.models.builtins import ALWAYS_ON, BUILTINS, PREEMPTION
from kpolicy.quick_dataclass import dataclass

OWN_PLUGINS: Final = frozenset({*BUILTINS, *ALWAYS_ON, PREEMPTION})
_NO_GO_PLUGINS: Final = (
    "kpolicy cannot load plugins written in Go: write the rule as an expression, or use an extender"
)
_GO: Final = "write the rule as an expression, or use an extender: kpolicy cannot load Go"
_GROUPS: Final = "kpolicy parks pods of groups: give them another scheduler's `schedulerName`"
_ALREADY: Final = "leave it out: kpolicy always does this itself"


@dataclass(frozen=True, slots=True)
class ForeignPlugin:
    message: str
    hint: str


# By project: its plugins, each with what to use instead.
_PLUGINS: Final = {
    "kubernetes-sigs/scheduler-plugins": {
        "CapacityScheduling": _GO,
        "Coscheduling": _GROUPS,
        "LoadVariationRiskBalancing": _GO,
        "LowRiskOverCommitment": _GO,
        "NetworkOverhead": _GO,
        "NodeMetadata": _GO,
        "NodeResourceTopologyMatch": _GO,
        "NodeResourcesAllocatable": _GO,
        "Peaks": _GO,
        "PodState": _GO,
        "PreemptionToleration": "`preemption.victims` of a policy protects pods from eviction",
        "QOSSort": "kpolicy orders its queue by priority",
        "SySched": _GO,
        "TargetLoadPacking": _GO,
        "TopologicalSort": "kpolicy orders its queue by priority",
    },
    "kube-scheduler": {
        "GangScheduling": _GROUPS,
        "PodGroupPodsCount": _GROUPS,
        "TopologyPlacementGenerator": _GROUPS,
        "SchedulingGates": _ALREADY,
        "PrioritySort": _ALREADY,
        "DefaultBinder": _ALREADY,
    },
}


def foreign_plugin(name: str) -> ForeignPlugin | None:
    """None for a name that is no plugin of these projects."""
    for project, plugins in _PLUGINS.items():
        if name in plugins:
            message = f"`{name}` is a plugin of {project}, and no rule of kpolicy"
            return ForeignPlugin(message, plugins[name])
    return None


def unknown_plugin(name: str) -> ForeignPlugin:
    """What to say of a name that is no built-in."""
    foreign = foreign_plugin(name)
    if foreign is not None:
        return foreign
    hint = did_you_mean(name, OWN_PLUGINS) or _NO_GO_PLUGINS
    return ForeignPlugin(f"kube-scheduler has no plugin `{name}`", hint)
