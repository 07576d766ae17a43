"""The public test kit: builders of API objects, an embedded control plane, policies under test.

What runs against the control plane uses HTTP only. Policies and the engine are used by
`policy_under_test` alone, which is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kpolicy.testing.apiserver.api_calls import (
    AuditEntry,
    Call,
    Drop,
    FaultPolicy,
    FaultRule,
    RequestFault,
    ScriptedFaults,
    WatchFault,
)
from kpolicy.testing.builders import node, pod
from kpolicy.testing.control_plane import ControlPlane
from kpolicy.testing.kubelet import RUN_SECONDS_ANNOTATION, KubeletTimes
from kpolicy.testing.objects.store import StoreSettings

if TYPE_CHECKING:
    from kpolicy.testing.policy_under_test import (
        PolicyDecision,
        PolicyUnderTest,
        PolicyWorld,
        load_policy,
    )

_OF_POLICIES: Final = ("PolicyDecision", "PolicyUnderTest", "PolicyWorld", "load_policy")

__all__ = [
    "RUN_SECONDS_ANNOTATION",
    "AuditEntry",
    "Call",
    "ControlPlane",
    "Drop",
    "FaultPolicy",
    "FaultRule",
    "KubeletTimes",
    "PolicyDecision",
    "PolicyUnderTest",
    "PolicyWorld",
    "RequestFault",
    "ScriptedFaults",
    "StoreSettings",
    "WatchFault",
    "load_policy",
    "node",
    "pod",
]


def __getattr__(name: str) -> Any:
    if name in _OF_POLICIES:
        return getattr(import_module("kpolicy.testing.policy_under_test"), name)
    raise AttributeError(f"module 'kpolicy.testing' has no attribute '{name}'")
