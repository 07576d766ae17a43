"""V and Q-09: what is served about ourselves, also while the API server is away."""

from __future__ import annotations

import http.client
import json
import urllib.request
from collections.abc import Iterator

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.judged import BROKEN_LAG_S
from tests.e2e.rights import SCENARIO_RULES
from tests.e2e.scenarios.conftest import POLICY, play
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import Stage
from tests.unit.telemetry.exposition import parsed

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def own(
    control_plane_binary: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ControlPlane, SchedulerProcess]]:
    """A control plane of its own, which the test may break."""
    log = tmp_path_factory.mktemp("serving") / "log"
    with ControlPlane() as plane:
        plane.grant(NORMAL, SCENARIO_RULES)
        flags = ("--no-leader-elect",)  # which would end it after ten seconds without the server
        with SchedulerProcess(plane.kubeconfig(NORMAL), POLICY, log, flags) as process:
            yield plane, process


@pytest.fixture
def fragile(
    own: tuple[ControlPlane, SchedulerProcess], request: pytest.FixtureRequest
) -> Iterator[Stage]:
    yield from play(*own, request.node.name, lag_s=BROKEN_LAG_S)


def test_v01_health_by_name_and_in_words(stage: Stage) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        assert stage.scheduler.status(path) == (200, "ok")
        status, text = stage.scheduler.status(f"{path}?verbose")
        assert status == 200
        assert "[+]ping ok" in text
        assert text.endswith(f"{path[1:]} check passed\n")
    status, text = stage.scheduler.status("/livez?verbose")
    tasks = (
        "engine",
        "informer-pods",
        "informer-nodes",
        "cycle",
        "settle",
        "events",
        "policy-source",
    )
    for task in tasks:
        assert f"[+]{task} ok\n" in text
    assert stage.scheduler.status("/readyz/sched-handler-sync") == (200, "ok")
    assert stage.scheduler.status("/readyz/no-such")[0] == 404
    assert stage.scheduler.status("/debug/pprof")[0] == 404


def test_v02_configz_tells_options_and_policy_but_no_secret(stage: Stage) -> None:
    shown = json.loads(stage.scheduler.get("/configz"))
    assert shown["policy"]["profiles"] == ["kpolicy", "kpolicy-plug"]
    assert shown["server"] == stage.plane.server
    assert stage.plane.token(NORMAL) not in stage.scheduler.get("/configz")


def tells_of_an_outage(plane: ControlPlane, scheduler: SchedulerProcess) -> None:
    """Kill the API server, and start it again."""
    assert scheduler.status("/readyz") == (200, "ok")
    plane.api_server.kill()
    failures = scheduler.metric("kpolicy_watch_failures_total", resource="pods")
    wait_for(lambda: scheduler.status("/readyz")[0] == 500, "readyz to tell of it")
    wait_for(
        lambda: scheduler.metric("kpolicy_watch_failures_total", resource="pods") > failures + 1,
        "a try in vain",
    )
    status, text = scheduler.status("/readyz")
    assert status == 500
    assert "[-]api-server failed: " in text
    for path in ("/livez", "/healthz"):
        assert scheduler.status(path) == (200, "ok"), (
            "liveness must not fail, because a restart would not help"
        )
    assert "scheduler_pending_pods" in scheduler.get("/metrics")
    plane.start_api_server()
    wait_for(lambda: scheduler.status("/readyz") == (200, "ok"), "readiness", timeout_s=60)


def test_v03_not_ready_but_alive_while_the_api_server_is_away(fragile: Stage) -> None:
    tells_of_an_outage(fragile.plane, fragile.scheduler)
    fragile.node("only")
    fragile.pod("after")
    fragile.bound("after", "only")


def test_v03_over_tls(
    own: tuple[ControlPlane, SchedulerProcess], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of another profile, beside the first. Its log says it once, and once that it is over."""
    plane, _ = own
    folder = tmp_path_factory.mktemp("tls")
    policy = folder / "policy.yaml"
    policy.write_text(POLICY.read_text().replace("schedulerName: kpolicy", "schedulerName: tls"))
    with SchedulerProcess(
        plane.kubeconfig(NORMAL), policy, folder / "log", ("--no-leader-elect",), tls=folder
    ) as scheduler:
        with pytest.raises(http.client.HTTPException, match="closed"):  # nothing in the clear
            urllib.request.urlopen(scheduler.address.replace("https:", "http:") + "/livez")
        before = len(scheduler.log().splitlines())
        tells_of_an_outage(plane, scheduler)
        wait_for(
            lambda: all(value == 1 for _, value in scheduler.samples("kpolicy_watch_reachable")),
            "every watch to be back",
            timeout_s=60,
        )
        lines = [json.loads(line) for line in scheduler.log().splitlines()[before:]]
        watches = len(scheduler.samples("kpolicy_watch_failures_total"))
        assert scheduler.terminate() == 0, scheduler.tail()
    assert watches >= 12
    away, back = (line for line in lines if line["logger"] == "kpolicy.cluster.outages")
    assert away["msg"].startswith("the API server is away: cannot ")
    assert (away["level"], away["code"]) == ("warning", "KPC201")
    assert away["hint"] == "is the API server running, and is the port right?"
    assert (back["level"], back["msg"]) == (
        "info",
        f"the API server is back after {back['seconds']} s",
    )
    assert {line["logger"] for line in lines if line["level"] != "info"} == {away["logger"]}


def test_v04_metrics_are_prometheus_text(stage: Stage) -> None:
    stage.node("only")
    stage.pod("pod")
    stage.bound("pod")
    families = parsed(stage.scheduler.get("/metrics"))
    assert len(families) > 30
    wanted = {
        "scheduler_schedule_attempts_total",
        "scheduler_pending_pods",
        "scheduler_scheduling_attempt_duration_seconds",
        "scheduler_pod_scheduling_sli_duration_seconds",
        "scheduler_queue_incoming_pods_total",
    }
    assert wanted <= set(families)


def test_q09_an_outage_of_the_api_server_needs_no_restart(fragile: Stage) -> None:
    """Hours of it are for the simulation, which has a clock of its own."""
    plane, scheduler = fragile.plane, fragile.scheduler
    fragile.node("only", cpu="2")
    fragile.pod("before", cpu="1")
    fragile.bound("before", "only")
    fragile.pod("waits", cpu="2")
    fragile.parked("waits", "1 Insufficient cpu")
    pid = scheduler.pid
    plane.api_server.kill()
    wait_for(
        lambda: scheduler.metric("kpolicy_watch_failures_total", resource="pods") >= 3,
        "a few tries in vain",
        timeout_s=60,
    )
    plane.start_api_server()
    fragile.delete_pod("before")
    fragile.bound("waits", "only", timeout_s=60)
    assert scheduler.pid == pid
