"""One control plane and one scheduler for all scenarios, and another scheduler behind a proxy; each
test gets an empty stage."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.judged import (
    BROKEN_LAG_S,
    REST_BROKEN_S,
    REST_FULL_S,
    REST_S,
    Judged,
    judge,
    offered_from_the_start,
    recording,
)
from tests.e2e.nemeses.proxy import Proxy
from tests.e2e.rights import SCENARIO_RULES
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import PROFILE, Stage

POLICY = Path(__file__).parents[1] / "policies" / "scenarios.yaml"
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def scenario_plane(control_plane_binary: object) -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        plane.grant(NORMAL, SCENARIO_RULES)
        yield plane


@pytest.fixture(scope="session")
def scenario_scheduler(
    scenario_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    log = tmp_path_factory.mktemp("scenarios") / "kpolicy.log"
    with SchedulerProcess(scenario_plane.kubeconfig(NORMAL), POLICY, log) as process:
        yield process


@pytest.fixture
def stage(
    scenario_plane: ControlPlane,
    scenario_scheduler: SchedulerProcess,
    request: pytest.FixtureRequest,
) -> Iterator[Stage]:
    yield from play(
        scenario_plane,
        scenario_scheduler,
        request.node.name,
        trouble_free=True,
        rest_s=rest_of(request),
    )


@pytest.fixture(scope="session")
def proxy(
    scenario_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    with Proxy(scenario_plane, tmp_path_factory.mktemp("proxy")) as running:
        yield running


@pytest.fixture(scope="session")
def proxied_scheduler(
    scenario_plane: ControlPlane, proxy: Proxy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchedulerProcess]:
    """Of other profiles than the one that all scenarios share, and beside it."""
    folder = tmp_path_factory.mktemp("proxied")
    policy = folder / "policy.yaml"
    policy.write_text(
        POLICY.read_text().replace("schedulerName: kpolicy", "schedulerName: proxied")
    )
    with SchedulerProcess(
        proxy.kubeconfig(NORMAL), policy, folder / "log", ("--no-leader-elect",)
    ) as process:
        yield process


@pytest.fixture
def proxied(
    scenario_plane: ControlPlane,
    scenario_scheduler: SchedulerProcess,
    proxied_scheduler: SchedulerProcess,
    proxy: Proxy,
    request: pytest.FixtureRequest,
) -> Iterator[Stage]:
    for stage in play(
        scenario_plane,
        proxied_scheduler,
        request.node.name,
        profile="proxied",
        lag_s=BROKEN_LAG_S,
        rest_s=rest_of(request),
    ):
        yield stage
        proxy.heal()


def play(
    plane: ControlPlane,
    scheduler: SchedulerProcess,
    name: str,
    *,
    profile: str = PROFILE,
    lag_s: float = 0.0,
    trouble_free: bool = False,
    rest_s: float = REST_BROKEN_S,
) -> Iterator[Stage]:
    """A stage, and at its end what must hold after every scenario."""
    words = re.sub(r"[^a-z0-9]+", "-", name.lower())[:36].strip("-")
    how = Judged(
        frozenset({profile, f"{profile}-plug"}),
        lag_s=lag_s,
        trouble_free=trouble_free,
        rest_s=rest_s,
    )
    with recording(plane, how) as recorded:
        offered_from_the_start(recorded, scheduler)
        stage = Stage(plane, scheduler, f"{words}-{next(_numbers)}", profile)
        stage.recorded = recorded
        try:
            yield stage
            assert scheduler.alive, scheduler.tail()
            if not stage.placements():
                stage.prove_seen()  # who parks all must still bind, and is judged by that
            stage.settled()
            stage.check()
            judge(scheduler, recorded)
            stage.clear()
        finally:
            stage.remove()  # whatever failed: the next test finds no nodes


def rest_of(request: pytest.FixtureRequest, otherwise: float = REST_S) -> float:
    """How long nothing may move at the end."""
    return REST_FULL_S if request.node.get_closest_marker("full") else otherwise
