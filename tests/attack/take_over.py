"""Two replicas and one lease on a real API server: the leader hangs, and the other one takes over.

The time counts from the hang until the other replica has bound a pod that was created after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import PROFILE

POLICY: Final = Path(__file__).parents[1] / "e2e" / "policies" / "scenarios.yaml"
# What the documentation promises for the default lease.
TAKE_OVER_S_MAX: Final = 25.0
WITHIN_S: Final = 90.0


def leads(process: SchedulerProcess) -> bool:
    return process.metric("leader_election_master_status") == 1


@dataclass(frozen=True, slots=True)
class Pair:
    """The leader, the replica that waits, and the namespace of their lease and their pods."""

    plane: ControlPlane
    leader: SchedulerProcess
    other: SchedulerProcess
    namespace: str

    def pod(self, name: str) -> None:
        self.plane.admin.create_pod(
            name, namespace=self.namespace, scheduler_name=PROFILE, cpu="10m"
        )

    def bound(self, name: str) -> None:
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}"
        wait_for(
            lambda: self.plane.admin.get(path)["spec"].get("nodeName"),
            f"{name} to be bound",
            timeout_s=WITHIN_S,
        )

    def take_over_s(self, hang: Callable[[], None]) -> float:
        """How long it takes from the hang until a new pod is bound by the other replica."""
        hang()
        began = time.monotonic()
        self.pod("after")
        self.bound("after")
        took_s = time.monotonic() - began
        assert leads(self.other), "the leader itself has bound it: nothing was stopped"
        return took_s


@contextmanager
def pair(
    plane: ControlPlane, folder: Path, namespace: str, leader: SchedulerProcess | None = None
) -> Iterator[Pair]:
    """A pair that has bound a pod. `leader`: another process than `kpolicy run` for the first."""
    plane.admin.create_namespace(namespace)
    plane.admin.create_node(f"{namespace}-node", cpu="8")
    try:
        first = leader or replica(plane, folder / f"{namespace}-1.log", namespace)
        with first:
            wait_for(lambda: leads(first), "the first to lead", timeout_s=WITHIN_S)
            with replica(plane, folder / f"{namespace}-2.log", namespace) as second:
                scene = Pair(plane, first, second, namespace)
                scene.pod("before")
                scene.bound("before")
                yield scene
    finally:
        plane.admin.delete(f"/api/v1/namespaces/{namespace}/pods")
        plane.admin.delete(f"/api/v1/nodes/{namespace}-node")


def replica(plane: ControlPlane, log: Path, namespace: str) -> SchedulerProcess:
    return SchedulerProcess(
        plane.kubeconfig(NORMAL), POLICY, log, (f"--lease-namespace={namespace}",)
    )
