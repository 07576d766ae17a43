"""SIGTERM: exit 0 in less than eight seconds, whatever hangs, and nothing is lost by it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.nemeses.collectors import black_hole, dead, traced_to
from tests.e2e.nemeses.conftest import POLICY
from tests.e2e.nemeses.faults import Delay, is_bind
from tests.e2e.nemeses.load import survive
from tests.e2e.nemeses.proxy import Proxy
from tests.e2e.scenarios.conftest import play
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster

STOPS_WITHIN_S = 8


@pytest.mark.parametrize("collector", [dead, black_hole], ids=["dead", "black-hole"])
def test_n_a_collector_that_does_not_answer_holds_up_neither_binds_nor_the_end(
    plane: ControlPlane,
    tmp_path: Path,
    lease: str,
    collector: Callable[[], AbstractContextManager[int]],
) -> None:
    with collector() as port:
        process = SchedulerProcess(
            plane.kubeconfig(NORMAL),
            POLICY,
            tmp_path / "log",
            (lease,),
            environment=traced_to(port),
        )
        with process:
            for stage in play(plane, process, "collector"):
                survive(stage, lambda: None)
            assert stopped(process) < STOPS_WITHIN_S


def test_n_binds_under_way_are_waited_for_but_not_for_ever(
    plane: ControlPlane, proxy: Proxy, tmp_path: Path, lease: str
) -> None:
    """If the answer takes longer, the next run finds the pod bound."""
    process = SchedulerProcess(proxy.kubeconfig(NORMAL), POLICY, tmp_path / "log", (lease,))
    with process:
        for stage in play(plane, process, "slow-stop"):
            stage.node("only")
            stage.prove_seen()
            proxy.script(is_bind, Delay(20), times=10)
            stage.pod("slow")
            proxy.seen(lambda call: call.is_bind and "/slow/" in call.path)
            assert stopped(process) < STOPS_WITHIN_S
            proxy.heal()
            process.start()
            process.wait_ready()
            stage.bound("slow", "only")
            stage.pod("next")
            stage.bound("next", "only", timeout_s=60)


@pytest.mark.timeout(240)
def test_n_a_stop_and_a_start_in_the_middle_of_a_burst_lose_nothing(
    plane: ControlPlane, tmp_path: Path, lease: str
) -> None:
    process = SchedulerProcess(plane.kubeconfig(NORMAL), POLICY, tmp_path / "log", (lease,))

    def restart() -> None:
        assert stopped(process) < STOPS_WITHIN_S
        namespace = lease.partition("=")[2]
        path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/kpolicy"
        assert not plane.admin.get(path)["spec"].get("holderIdentity"), "the lease was released"
        process.start()
        process.wait_ready()

    with process:
        wait_for(lambda: process.metric("leader_election_master_status") == 1, "it to lead")
        for stage in play(plane, process, "restarted"):
            survive(stage, restart)


def stopped(process: SchedulerProcess) -> float:
    """How long the shutdown took; the exit code must be 0."""
    began = time.monotonic()
    assert process.terminate() == 0, process.tail()
    took_s = time.monotonic() - began
    print(f"SIGTERM to exit 0: {took_s:.1f} s")
    return took_s
