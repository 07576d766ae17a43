"""The API server or etcd goes away, stands still or forgets, while pods are being bound.

`kpolicy run` is supervised as by a kubelet: when the lease cannot be renewed in time it ends, which
is right, and is started again.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.judged import BROKEN_LAG_S, REST_BROKEN_S
from tests.e2e.nemeses.conftest import LEASE_S, POLICY, RENEWALS_APART_S_MAX
from tests.e2e.nemeses.load import survive
from tests.e2e.scenarios.conftest import play, rest_of
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import WITHIN_S, Stage
from tests.e2e.supervised import Supervised

pytestmark = pytest.mark.cluster

LEASE_LOST = 1
STANDS_STILL_S, STANDS_STILL_LONG_S = 3.0, 2 * LEASE_S


@pytest.fixture(scope="module")
def supervised(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Supervised]:
    log = tmp_path_factory.mktemp("supervised") / "log"
    with Supervised(SchedulerProcess(plane.kubeconfig(NORMAL), POLICY, log)) as running:
        yield running


@pytest.fixture
def stage(
    plane: ControlPlane, supervised: Supervised, request: pytest.FixtureRequest
) -> Iterator[Stage]:
    yield from play(
        plane,
        supervised.process,
        request.node.name,
        lag_s=BROKEN_LAG_S,
        rest_s=rest_of(request, REST_BROKEN_S),
    )
    assert {end.code for end in supervised.ends} <= {LEASE_LOST}, supervised.process.tail()


def kill(plane: ControlPlane) -> None:
    plane.restart_api_server()


def terminate(plane: ControlPlane) -> None:
    plane.restart_api_server(gracefully=True)


def stand_still(plane: ControlPlane) -> None:
    with plane.api_server.frozen():
        time.sleep(STANDS_STILL_S)


def kill_etcd(plane: ControlPlane) -> None:
    plane.restart_etcd()


@pytest.mark.parametrize(
    "nemesis",
    [
        kill,
        terminate,
        stand_still,
        kill_etcd,
    ],
    ids=lambda nemesis: nemesis.__name__,
)
@pytest.mark.timeout(300)
def test_n_nothing_is_lost_when_it(
    stage: Stage, plane: ControlPlane, nemesis: Callable[[ControlPlane], None]
) -> None:
    survive(stage, lambda: nemesis(plane))


@pytest.mark.full
@pytest.mark.timeout(300)
def test_n_a_frozen_leader_ends_before_its_lease_expires(
    stage: Stage, plane: ControlPlane, supervised: Supervised
) -> None:
    """What it sent until then the server receives when it goes on, and others may lead by then:
    that nobody has sent more for as long as others could not lead is seen here alone."""
    assert stage.recorded is not None
    recorded, ends_before = stage.recorded, len(supervised.ends)
    led_s: list[float] = []

    def nemesis() -> None:
        with recorded.standstill(), plane.api_server.frozen():
            began_s = time.monotonic()
            time.sleep(STANDS_STILL_LONG_S)
            led_s.extend(end.at_s - began_s for end in supervised.ends[ends_before:])

    survive(stage, nemesis)
    assert led_s, "it stayed leader while it could not renew the lease"
    print(f"it ended {led_s[0]:.1f} s after the API server stopped")
    assert led_s[0] < LEASE_S - RENEWALS_APART_S_MAX, "the last renewal may be as old as that"


@pytest.mark.timeout(300)
def test_n_a_version_that_was_compacted_away_is_listed_again(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """410: the watch cannot go on where it was; what changed meanwhile is found all the same."""
    flags = ("--no-leader-elect",)  # it stands still for as long as a restart of the server takes
    process = SchedulerProcess(plane.kubeconfig(NORMAL), POLICY, tmp_path / "log", flags)
    with process:
        for stage in play(plane, process, "compacted", lag_s=BROKEN_LAG_S):
            _forget(stage)


def _forget(stage: Stage) -> None:
    stage.node("only", cpu="2")
    stage.pod("gone", cpu="2")
    stage.bound("gone", "only")
    stage.pod("waits", cpu="2")
    stage.parked("waits", "1 Insufficient cpu")
    with stage.scheduler.frozen():
        stage.delete_pod("gone")
        for number in range(5):
            stage.patch_node("only", {"metadata": {"labels": {"changed": str(number)}}})
        compact(stage.plane)
        stage.plane.restart_api_server()
        stage.patch_node("only", {"metadata": {"labels": {"changed": "last"}}})
    stage.bound("waits", "only", timeout_s=90)
    # What was told last may have been in the sockets' buffers: of nodes that is the newest version,
    # of all others an old one, and that their watches cannot go on is found then.
    stage.node("late")
    stage.pod("after", cpu="1")
    stage.bound("after", "late")
    wait_for(
        lambda: all(
            stage.scheduler.metric("kpolicy_watch_relists_total", resource=resource) >= 1
            for resource in ("pods", "services", "namespaces")
        ),
        "the lists after the 410",
        timeout_s=WITHIN_S,
    )


def compact(plane: ControlPlane) -> None:
    revision = int(_etcd(plane, "/v3/maintenance/status", {})["header"]["revision"])
    _etcd(plane, "/v3/kv/compaction", {"revision": revision, "physical": True})


def _etcd(plane: ControlPlane, path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
    asked = urllib.request.Request(plane.etcd_server + path, json.dumps(body).encode())
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return dict(json.load(answer))
