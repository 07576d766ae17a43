"""The built-ins of the engine. Written by `make generated`."""

from __future__ import annotations

from typing import Final

# In the order of filters: name, whether it filters, whether it scores, whether kube-scheduler's
# default profile has it, its weight there.
BUILTIN_TABLE: Final[tuple[tuple[str, bool, bool, bool, int], ...]] = (
    ("NodeUnschedulable", True, False, True, 0),
    ("NodeName", True, False, True, 0),
    ("TaintToleration", True, True, True, 3),
    ("NodeAffinity", True, True, True, 2),
    ("NodePorts", True, False, True, 0),
    ("NodeResourcesFit", True, True, True, 1),
    ("VolumeRestrictions", True, False, True, 0),
    ("EBSLimits", True, False, False, 0),
    ("GCEPDLimits", True, False, False, 0),
    ("NodeVolumeLimits", True, False, True, 0),
    ("AzureDiskLimits", True, False, False, 0),
    ("CinderLimits", True, False, False, 0),
    ("VolumeBinding", True, True, True, 1),
    ("VolumeZone", True, False, True, 0),
    ("PodTopologySpread", True, True, True, 2),
    ("InterPodAffinity", True, True, True, 2),
    ("DynamicResources", True, True, True, 2),
    ("NodeResourcesBalancedAllocation", False, True, True, 1),
    ("ImageLocality", False, True, True, 1),
    ("NodeDeclaredFeatures", True, False, True, 0),
    ("NodeLabel", True, True, False, 0),
    ("ServiceAffinity", True, True, False, 0),
    ("SelectorSpread", False, True, False, 0),
    ("NodePreferAvoidPods", False, True, False, 0),
    ("NodeResourcesLeastAllocated", False, True, False, 0),
    ("NodeResourcesMostAllocated", False, True, False, 0),
    ("RequestedToCapacityRatio", False, True, False, 0),
    ("ResourceLimits", False, True, False, 0),
    ("EqualPriority", False, True, False, 0),
    ("SharedGpus", True, True, False, 0),
)
