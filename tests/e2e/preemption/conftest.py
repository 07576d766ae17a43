"""One control plane with the admission policies of deploy/kustomize and one scheduler that may
evict for each module, and a stage for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.fenced import OF_DEVICES, OF_VOLUMES, fenced
from tests.e2e.preemption_stage import JUDGED, POLICY, Stage, create_priorities, judged_stage
from tests.e2e.rights import RULES
from tests.e2e.scheduler_process import SchedulerProcess


@pytest.fixture(scope="module")
def cluster(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        plane.grant(NORMAL, RULES)
        create_priorities(plane)
        with fenced(plane, NORMAL, sorted(JUDGED.profiles), without=OF_VOLUMES | OF_DEVICES):
            yield plane


@pytest.fixture(scope="module")
def scheduler(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    log = tmp_path_factory.mktemp("preemption") / "kpolicy.log"
    with SchedulerProcess(cluster.kubeconfig(NORMAL), POLICY, log) as process:
        yield process


@pytest.fixture
def stage(cluster: ControlPlane, scheduler: SchedulerProcess) -> Iterator[Stage]:
    yield from judged_stage(cluster, scheduler)
    wait_for(
        lambda: scheduler.metric("scheduler_cache_size", type="nodes") == 0,
        "the scheduler to see the stage cleared",
    )
