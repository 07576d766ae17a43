"""Two instances and one lease: one leads, the other waits and takes over."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.cluster.audit import Bind, binds
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.nemeses.conftest import LEASE_S, POLICY
from tests.e2e.scenarios.conftest import play
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import PROFILE, Stage
from tests.invariants.check import violations
from tests.invariants.inputs import inputs
from tests.invariants.recording import Recording

pytestmark = pytest.mark.cluster

# The other sees the last renewal within 1 s and looks again when the lease is over; then it binds.
FAILOVER_S_MAX = LEASE_S + 2
PODS = 10


@pytest.fixture
def recorded(plane: ControlPlane) -> Iterator[Recording]:
    """Records from before the first leader until the end."""
    with Recording(plane, users=(NORMAL,), profiles=(PROFILE,)) as running:
        yield running
        assert violations(running.history()) == []
        assert inputs(running.history())["I8"] >= 2 * PODS
        binders = {bind.instance for bind in running.history().binds() if bind.succeeded}
        assert len(binders) == 2, "both have led, one after the other"


@pytest.fixture
def replicas(
    plane: ControlPlane, tmp_path: Path, lease: str, recorded: Recording
) -> Iterator[tuple[SchedulerProcess, SchedulerProcess]]:
    """Two replicas; the first is the leader. I8 checks by the lease that only leaders bind."""
    first, second = (
        SchedulerProcess(plane.kubeconfig(NORMAL), POLICY, tmp_path / name, (lease,))
        for name in ("1", "2")
    )
    with first:
        wait_for(lambda: leads(first), "the first to lead", timeout_s=60)
        with second:
            yield first, second


def leads(process: SchedulerProcess) -> bool:
    return process.metric("leader_election_master_status") == 1


def burst(stage: Stage, prefix: str) -> None:
    stage.admin.create_pods(
        PODS, namespace=stage.namespace, prefix=prefix, scheduler_name=stage.profile, cpu="10m"
    )


def first_binds(stage: Stage) -> None:
    wait_for(lambda: stage.admin.placements(stage.namespace), "the first to bind a pod")


def bound_once(stage: Stage, count: int) -> None:
    """Waits until all pods are bound, each by one bind."""
    placed = stage.all_bound(count)
    assert len(placed) == count
    wait_for(lambda: placed.keys() <= asked_for(stage), "a line of the audit log for each")
    answered = Counter(bind.pod for bind in bind_attempts(stage) if bind.succeeded)
    assert [pod for pod, times in answered.items() if times > 1] == []
    assert answered.keys() <= placed.keys()


def asked_for(stage: Stage) -> set[str]:
    """Pods that may have been bound. For a client that was killed the API server writes 504 to its
    log, also when etcd has taken the bind."""
    codes = {HTTPStatus.CREATED, HTTPStatus.GATEWAY_TIMEOUT}
    return {bind.pod for bind in bind_attempts(stage) if bind.code in codes}


def bind_attempts(stage: Stage) -> tuple[Bind, ...]:
    return binds(stage.plane.audit_events(), stage.namespace)


@pytest.mark.timeout(180)
def test_n_after_a_sigkill_the_other_binds_when_the_lease_is_over(
    plane: ControlPlane, replicas: tuple[SchedulerProcess, SchedulerProcess]
) -> None:
    first, second = replicas
    for stage in play(plane, second, "failover"):
        stage.node("only")
        burst(stage, "before")
        stage.all_bound(PODS)
        burst(stage, "during")
        first.kill()
        began = time.monotonic()
        stage.pod("after")
        stage.bound("after", "only", timeout_s=60)
        took_s = time.monotonic() - began
        print(f"failover: bound {took_s:.1f} s after the SIGKILL")
        assert took_s <= FAILOVER_S_MAX
        bound_once(stage, 2 * PODS + 1)
        assert leads(second)


@pytest.mark.timeout(180)
def test_n_a_leader_that_stood_still_for_longer_than_its_lease_ends_and_binds_nothing(
    plane: ControlPlane, replicas: tuple[SchedulerProcess, SchedulerProcess]
) -> None:
    first, second = replicas
    for stage in play(plane, second, "stood-still"):
        stage.node("only")
        burst(stage, "before")
        stage.all_bound(PODS)
        burst(stage, "during")
        with first.frozen():
            wait_for(lambda: leads(second), "the other to lead", timeout_s=60)
            burst(stage, "after")
            stage.all_bound(3 * PODS)
            stage.pod("last", cpu="8")
            stage.bound("last", "only")
            burst(stage, "late")
        assert first.ended(within_s=LEASE_S) == 1, first.tail()
        assert "KPS301" in first.log()
        bound_once(stage, 4 * PODS + 1)
        assert leads(second)


@pytest.mark.timeout(180)
def test_n_a_leader_that_is_stopped_hands_over_at_once(
    plane: ControlPlane, replicas: tuple[SchedulerProcess, SchedulerProcess]
) -> None:
    """The lease is released, so that nobody waits until it expires."""
    first, second = replicas
    for stage in play(plane, second, "handed-over"):
        stage.node("only")
        burst(stage, "before")
        first_binds(stage)
        assert first.terminate() == 0, first.tail()
        began = time.monotonic()
        wait_for(lambda: leads(second), "the other to lead", timeout_s=60)
        took_s = time.monotonic() - began
        print(f"handed over {took_s:.1f} s after SIGTERM")
        assert took_s < LEASE_S
        burst(stage, "after")
        bound_once(stage, 2 * PODS)
