"""The public test kit: builders of API objects and an embedded control plane.

Owns the names tests import. Assumes nothing of who uses it. Must not know the scheduler, policies
or the engine: what runs against the control plane meets it over HTTP only.
"""

from kpolicy.testing.audit import AuditEntry
from kpolicy.testing.builders import node, pod
from kpolicy.testing.calls import Call
from kpolicy.testing.control_plane import ControlPlane
from kpolicy.testing.faults import (
    Drop,
    FaultPolicy,
    FaultRule,
    RequestFault,
    ScriptedFaults,
    WatchFault,
)
from kpolicy.testing.kubelet import RUN_SECONDS_ANNOTATION, KubeletTimes

__all__ = [
    "RUN_SECONDS_ANNOTATION",
    "AuditEntry",
    "Call",
    "ControlPlane",
    "Drop",
    "FaultPolicy",
    "FaultRule",
    "KubeletTimes",
    "RequestFault",
    "ScriptedFaults",
    "WatchFault",
    "node",
    "pod",
]
