"""The network between kpolicy and the API server fails, while pods are being bound."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.judged import BROKEN_LAG_S, REST_BROKEN_S, SILENT_LAG_S
from tests.e2e.nemeses.conftest import POLICY
from tests.e2e.nemeses.faults import (
    Answer,
    Call,
    CloseAfter,
    Cut,
    Delay,
    Drop,
    Failing,
    LoseAnswer,
    is_bind,
)
from tests.e2e.nemeses.load import survive
from tests.e2e.nemeses.proxy import Proxy
from tests.e2e.scenarios.conftest import play, rest_of
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import Stage

pytestmark = pytest.mark.cluster

HALF_OPEN_RECOVERS_WITHIN_S = 80
SLOW_S, SLOW_BINDS = 60, 6


@pytest.fixture
def stage(
    plane: ControlPlane, proxy: Proxy, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Stage]:
    # Faults that hit every request hit the lease too; what then follows has a file of its own.
    flags = ("--no-leader-elect",)
    kubeconfig = proxy.kubeconfig(NORMAL)
    with SchedulerProcess(kubeconfig, POLICY, tmp_path / "log", flags) as process:
        half_open = request.node.get_closest_marker("full") is not None
        lag_s = SILENT_LAG_S if half_open else BROKEN_LAG_S
        for played in play(
            plane, process, request.node.name, lag_s=lag_s, rest_s=rest_of(request, REST_BROKEN_S)
        ):
            yield played
            proxy.heal()


def is_other(call: Call) -> bool:
    return not call.is_bind


def is_settled(call: Call) -> bool:
    """Whether the call has an answer that ends."""
    return not call.is_watch


# GOAWAY (`--goaway-chance`) is sent to HTTP/2 clients only; to us the same is said by closing the
# connection with an answer.
BURSTS: dict[str, tuple[Callable[[Call], bool], Failing, int]] = {
    "binds-429": (is_bind, Answer(429, retry_after_s=1), 8),
    "binds-500": (is_bind, Answer(500), 8),
    "binds-503": (is_bind, Answer(503), 8),
    "binds-504": (is_bind, Answer(504), 8),
    "binds-lost": (is_bind, Drop(), 8),
    "answers-of-binds-lost": (is_bind, LoseAnswer(), 8),
    "binds-slow": (is_bind, Delay(6), 4),
    "binds-and-goodbye": (is_bind, CloseAfter(), 24),
    "all-and-goodbye": (is_settled, CloseAfter(), 40),
    "all-429": (lambda _: True, Answer(429, retry_after_s=1), 20),
    "all-503": (lambda _: True, Answer(503), 20),
    "others-lost": (is_other, Drop(), 12),
    "answers-of-others-lost": (lambda call: not call.is_bind and call.writes, LoseAnswer(), 12),
}


@pytest.mark.parametrize("name", BURSTS)
@pytest.mark.timeout(240)
def test_n_nothing_is_lost_with(stage: Stage, proxy: Proxy, name: str) -> None:
    when, fault, times = BURSTS[name]
    stage.prove_seen()

    def nemesis() -> None:
        proxy.script(when, fault, times=times)
        proxy.reset_watches()

    survive(stage, nemesis, all_met=lambda: proxy.pending() == 0)


@pytest.mark.timeout(240)
def test_n_a_repeated_watch_event_counts_once(stage: Stage, proxy: Proxy) -> None:
    stage.prove_seen()
    opened = len(proxy.calls(lambda call: call.is_watch))
    proxy.duplicate_events()
    proxy.reset_watches()
    proxy.seen(lambda call: call.is_watch and call.resource == "pods", count=2)
    survive(stage, lambda: None)
    assert len(proxy.calls(lambda call: call.is_watch)) > opened
    assert stage.compared()["differences"] == 0


@pytest.mark.parametrize("late", ["nodes", "pods", "namespaces"])
@pytest.mark.timeout(240)
def test_n_watches_that_overtake_each_other(stage: Stage, proxy: Proxy, late: str) -> None:
    """The events of one resource arrive long after those of the others."""
    stage.node("early", cpu="4")
    stage.prove_seen()
    proxy.hold_watches(late)
    try:
        overtaken(stage, late)
    finally:
        proxy.release_watches()
    survive(stage, lambda: None)
    stage.bound("on-the-late", "late", timeout_s=60)


def overtaken(stage: Stage, late: str) -> None:
    """A node, and a pod that only fits there; a node that is deleted, and a node that other watches
    know."""
    stage.node("late", cpu="2", labels={"late": "yes"})
    stage.pod("on-the-late", cpu="1", spec={"nodeSelector": {"late": "yes"}})
    stage.pod("anywhere", cpu="100m")
    if late == "nodes":  # then the pods come without the node
        stage.parked("on-the-late", "didn't match Pod's node affinity/selector")
        stage.bound("anywhere", "early")
    stage.delete_node("early")
    stage.node("last", cpu="4")
    if late == "pods":  # then the nodes come without the pods
        there = len(stage.admin.list("/api/v1/nodes"))
        metric = stage.scheduler.metric
        wait_for(lambda: metric("scheduler_cache_size", type="nodes") == there, "its nodes")
        assert metric("scheduler_pending_pods") == 0


@pytest.mark.parametrize("how", list(Cut), ids=lambda how: how.value)
def test_n_a_watch_that_breaks_in_the_middle_of_a_line_goes_on(
    stage: Stage, proxy: Proxy, how: Cut
) -> None:
    def cut() -> None:
        proxy.cut_watches(how)

    stage.prove_seen()
    reconnects = stage.scheduler.metric("kpolicy_watch_reconnects_total", resource="pods")
    survive(stage, cut)
    assert stage.scheduler.metric("kpolicy_watch_reconnects_total", resource="pods") > reconnects


@pytest.mark.full
@pytest.mark.timeout(240)
def test_n_a_watch_that_falls_silent_is_noticed_in_time(stage: Stage, proxy: Proxy) -> None:
    """Half-open: the connection stays, and nothing arrives any more."""
    stage.node("only")
    stage.prove_seen()
    proxy.silence_watches()
    began = time.monotonic()
    stage.pod("unheard")
    wait_for(
        lambda: stage.get("unheard")["spec"].get("nodeName"),
        "the pod to be bound",
        timeout_s=HALF_OPEN_RECOVERS_WITHIN_S,
    )
    print(f"half-open watch: bound {time.monotonic() - began:.1f} s after it fell silent")


@pytest.mark.full
@pytest.mark.timeout(400)
def test_n_slow_binds_and_a_late_watch_together(stage: Stage, proxy: Proxy) -> None:
    """The answer of a bind arrives after a minute, and so does its watch event."""

    def slow() -> None:
        proxy.hold_watches("pods")
        proxy.seen(lambda call: call.is_bind, count=SLOW_BINDS)
        time.sleep(SLOW_S)
        proxy.release_watches()

    stage.prove_seen()
    proxy.script(is_bind, Delay(SLOW_S), times=SLOW_BINDS)
    survive(stage, slow)
    assert proxy.pending() == 0
