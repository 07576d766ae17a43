"""The cluster for all measurements of failover: nodes, namespace, policy, and the binds in its
audit log. The audit policy must record binds with their bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from benches.cluster.policy_map import PROFILE, PolicyMap
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.rights import RULES
from tests.e2e.scheduler_process import SchedulerProcess
from tests.invariants.history import BINDING, DECISION_ID, POLICY_HASH, Write
from tests.invariants.recording import Recording, writes_of

SPACE: Final = "streamed"
NODES: Final = 50
WITHIN_S: Final = 120.0
# Each look reads the whole audit log.
_LOOK_EVERY_S: Final = 0.2


class Scene:
    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane = plane
        self._folder = folder
        plane.grant(NORMAL, RULES)
        plane.admin.create_nodes(NODES)
        plane.admin.create_namespace(SPACE)
        self.policy = PolicyMap(plane)

    def scheduler(
        self, name: str, environment: Mapping[str, str] | None = None
    ) -> SchedulerProcess:
        """A scheduler with a Lease at its default timings, and the policy from a ConfigMap."""
        return SchedulerProcess(
            self.plane.kubeconfig(NORMAL),
            None,
            self._folder / f"{name}.log",
            self.policy.flags,
            environment=environment,
        )

    def recording(self) -> Recording:
        return Recording(self.plane, users=(NORMAL,), profiles=(PROFILE,))

    def binds(self) -> list[Write]:
        """Successful binds so far, in the order of their answers."""
        writes = writes_of(self.plane.audit_events())
        return [write for write in writes if write.what == BINDING and write.succeeded]

    def until_bound(self, names: set[str]) -> None:
        """Waits until all of these pods are bound."""
        self.until_some_bound(lambda: names, len(names))

    def until_some_bound(self, names: Callable[[], set[str]], count: int) -> None:
        """Waits until this number of pods is bound; more pods may follow."""
        wait_for(
            lambda: len(names() & {bind.name for bind in self.binds()}) >= count,
            f"{count} of the pods that came to be bound",
            timeout_s=WITHIN_S,
            every_s=_LOOK_EVERY_S,
        )

    def clear(self) -> None:
        self.plane.admin.delete(f"/api/v1/namespaces/{SPACE}/pods")


def leads(process: SchedulerProcess) -> bool:
    return process.metric("leader_election_master_status") == 1


def policy_of(bind: Write) -> str:
    return bind.in_request("metadata", "annotations", POLICY_HASH)


def decision_of(bind: Write) -> int:
    """The number of the decision, counted by its instance."""
    return int(bind.in_request("metadata", "annotations", DECISION_ID).rpartition("-")[2])
