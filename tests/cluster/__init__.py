"""A real cluster for tests: etcd, kube-apiserver, kube-scheduler and kube-controller-manager, from
one Go binary built here, started in seconds on loopback with nothing left behind.

    with ControlPlane() as plane:
        plane.admin.create_nodes(3)
        plane.admin.create_pod("p", scheduler_name="kpolicy")
        run_something("--kubeconfig", plane.kubeconfig(NORMAL))
        assert binds(plane.audit_events())

Standard library only. Must not import kpolicy, which it is there to test from outside.
"""

from tests.cluster.audit import AuditEvent, Bind, binds
from tests.cluster.build import ControlPlaneBinary, Harness, control_plane_binary
from tests.cluster.client import Client, wait_for
from tests.cluster.connection import ApiError, Response
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import ControlPlaneError
from tests.cluster.process import Process
from tests.cluster.rights import Rule
from tests.cluster.users import (
    ADMIN,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
    NORMAL,
    User,
    default_users,
)

__all__ = [
    "ADMIN",
    "KUBE_CONTROLLER_MANAGER",
    "KUBE_SCHEDULER",
    "NORMAL",
    "ApiError",
    "AuditEvent",
    "Bind",
    "Client",
    "ControlPlane",
    "ControlPlaneBinary",
    "ControlPlaneError",
    "Harness",
    "Process",
    "Response",
    "Rule",
    "User",
    "binds",
    "control_plane_binary",
    "default_users",
    "wait_for",
]
