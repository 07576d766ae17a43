"""The network between kpolicy and the API server fails, while pods are being bound."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.judged import BROKEN_LAG_S, SILENT_LAG_S
from tests.e2e.nemeses.conftest import POLICY
from tests.e2e.nemeses.faults import Answer, Call, Cut, Delay, Drop, LoseAnswer, is_bind
from tests.e2e.nemeses.load import survive
from tests.e2e.nemeses.proxy import Proxy
from tests.e2e.scenarios.conftest import play, rest_of
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import Stage

pytestmark = pytest.mark.cluster

HALF_OPEN_RECOVERS_WITHIN_S = 80


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
        for played in play(plane, process, request.node.name, lag_s=lag_s, rest_s=rest_of(request)):
            yield played
            proxy.heal()


def is_other(call: Call) -> bool:
    return not call.is_bind


BURSTS: dict[str, tuple[Callable[[Call], bool], Answer | Drop | LoseAnswer | Delay, int]] = {
    "binds-429": (is_bind, Answer(429, retry_after_s=1), 8),
    "binds-500": (is_bind, Answer(500), 8),
    "binds-503": (is_bind, Answer(503), 8),
    "binds-504": (is_bind, Answer(504), 8),
    "binds-lost": (is_bind, Drop(), 8),
    "answers-of-binds-lost": (is_bind, LoseAnswer(), 8),
    "binds-slow": (is_bind, Delay(6), 4),
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
    proxy.script(when, fault, times=times)
    survive(stage, proxy.reset_watches)
    met = times - proxy.pending()
    assert met >= min(times, 4), f"{met} of {times} faults were met"


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
    """Half-open: the connection stays, and nothing comes any more."""
    stage.node("only")
    stage.prove_seen()
    proxy.silence_watches()
    began = time.monotonic()
    stage.pod("unheard")
    wait_for(
        lambda: stage.get("unheard")["spec"].get("nodeName"), "the pod to be bound",
        timeout_s=HALF_OPEN_RECOVERS_WITHIN_S,
    )  # fmt: skip
    print(f"half-open watch: bound {time.monotonic() - began:.1f} s after it fell silent")
