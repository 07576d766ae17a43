"""The registry of built-ins: kube-scheduler's plugins by their names, as data.

Owns names, what each can do, its default weight, its position in the default profile, and its
arguments. Assumes release 1.36 with default feature gates. Must not know how a built-in decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from kpolicy.policy import builtin_args as args
from kpolicy.policy.edge import Edge


@dataclass(frozen=True, slots=True)
class Builtin:
    name: str
    filters: bool
    scores: bool
    args: type[Edge] = args.NoArgs
    # Of the default profile; 0 where the default profile does not score with it.
    weight: int = 0
    # Part of kube-scheduler's default profile.
    is_default: bool = True


# In the order of the default profile (MultiPoint), which is also the order of filters.
_LISTED: Final = (
    Builtin("NodeUnschedulable", True, False),
    Builtin("NodeName", True, False),
    Builtin("TaintToleration", True, True, weight=3),
    Builtin("NodeAffinity", True, True, args.NodeAffinityArgs, weight=2),
    Builtin("NodePorts", True, False),
    Builtin("NodeResourcesFit", True, True, args.NodeResourcesFitArgs, weight=1),
    Builtin("VolumeRestrictions", True, False),
    # The limits of one kind of volume; upstream until 1.33, and named by legacy policies.
    Builtin("EBSLimits", True, False, is_default=False),
    Builtin("GCEPDLimits", True, False, is_default=False),
    Builtin("NodeVolumeLimits", True, False),
    Builtin("AzureDiskLimits", True, False, is_default=False),
    Builtin("CinderLimits", True, False, is_default=False),
    # Scores only with an alpha gate that is off, so it is a filter here.
    Builtin("VolumeBinding", True, False, args.VolumeBindingArgs),
    Builtin("VolumeZone", True, False),
    Builtin("PodTopologySpread", True, True, args.PodTopologySpreadArgs, weight=2),
    Builtin("InterPodAffinity", True, True, args.InterPodAffinityArgs, weight=2),
    Builtin("DynamicResources", True, True, args.DynamicResourcesArgs, weight=2),
    Builtin(
        "NodeResourcesBalancedAllocation",
        False,
        True,
        args.NodeResourcesBalancedAllocationArgs,
        weight=1,
    ),
    Builtin("ImageLocality", False, True, weight=1),
    Builtin("NodeDeclaredFeatures", True, False),
    # Known to the legacy Policy only.
    Builtin("NodeLabel", True, True, args.NodeLabelArgs, is_default=False),
    Builtin("ServiceAffinity", True, True, args.ServiceAffinityArgs, is_default=False),
    Builtin("SelectorSpread", False, True, args.SelectorSpreadArgs, is_default=False),
    Builtin("NodePreferAvoidPods", False, True, is_default=False),
    Builtin("NodeResourcesLeastAllocated", False, True, args.ResourcesArgs, is_default=False),
    Builtin("NodeResourcesMostAllocated", False, True, args.ResourcesArgs, is_default=False),
    Builtin(
        "RequestedToCapacityRatio", False, True, args.RequestedToCapacityRatioArgs, is_default=False
    ),
    Builtin("ResourceLimits", False, True, is_default=False),
    Builtin("EqualPriority", False, True, is_default=False),
)

BUILTINS: Final = {builtin.name: builtin for builtin in _LISTED}
POSITIONS: Final = {builtin.name: index for index, builtin in enumerate(_LISTED)}

# Plugins of the default profile that neither filter nor score: the engine, queue and binder do
# their part always.
ALWAYS_ON: Final = frozenset({"SchedulingGates", "PrioritySort", "DefaultBinder"})
PREEMPTION: Final = "DefaultPreemption"


def filled(model: BaseModel) -> dict[str, Any]:
    """Arguments as the program holds them: camelCase, defaults filled in, absent ones left out."""
    dumped: dict[str, Any] = model.model_dump(by_alias=True, exclude_none=True)
    strategy = dumped.get("scoringStrategy", dumped)
    for resource in strategy.get("resources", ()):
        resource["weight"] = resource["weight"] or 1
    return dumped
