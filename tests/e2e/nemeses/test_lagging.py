"""Two API servers on one etcd, and we come from the one that knows to the one that lags behind.

Sieve's stale states: the second server's link to etcd stands still, so it tells the past, and takes
no writes. Whoever comes to it with a version from its future must not go back in time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.judged import SILENT_LAG_S
from tests.e2e.nemeses.conftest import POLICY
from tests.e2e.nemeses.faults import Call, is_watch_of
from tests.e2e.nemeses.link import Link
from tests.e2e.nemeses.proxy import Proxy
from tests.e2e.policy_hash import policy_hash
from tests.e2e.scenarios.conftest import play
from tests.e2e.scheduler_process import SchedulerProcess
from tests.e2e.stage import Stage

pytestmark = pytest.mark.cluster

FLAGS = ("--no-leader-elect",)  # its requests stand still for longer than a lease lives
OK, TOO_LARGE = 200, 504
STALE_POD, CPUS = "past", "2"
WITHIN_S = 180
READS_MORE = """\
  predicates:
    - name: of-a-provider-or-none
      expression: "!has(node.spec.providerID) || node.spec.providerID != 'nobody'"
"""


@dataclass(frozen=True)
class Lagging:
    """Another API server, and its link to etcd."""

    server: str
    link: Link


@pytest.fixture
def lagging(plane: ControlPlane) -> Iterator[Lagging]:
    with Link(plane.etcd_port) as link:
        process, server = plane.start_api_server_beside(link.port)
        yield Lagging(server, link)
        process.kill()


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A copy that the test may change."""
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY.read_text())
    return path


@pytest.fixture
def stage(
    plane: ControlPlane, proxy: Proxy, lagging: Lagging, policy: Path, tmp_path: Path
) -> Iterator[Stage]:
    """Taken down while both servers are there."""
    assert lagging.server
    with SchedulerProcess(proxy.kubeconfig(NORMAL), policy, tmp_path / "log", FLAGS) as process:
        yield from play(plane, process, "lagging", lag_s=SILENT_LAG_S)


def past_and_present(stage: Stage, lagging: Lagging) -> None:
    """The lagging server has a pod that fills the node, and does not know that it was deleted."""
    stage.node("only", cpu=CPUS)
    stage.pod(STALE_POD, cpu=CPUS)
    stage.bound(STALE_POD, "only")
    stage.prove_seen()
    lagging.link.pause()
    stage.delete_pod(STALE_POD)
    stage.pod("present", cpu=CPUS)
    stage.bound("present", "only")
    stage.prove_seen()


@pytest.mark.timeout(600)
def test_n_from_the_server_that_knows_to_one_that_lags_nothing_goes_back(
    stage: Stage, proxy: Proxy, lagging: Lagging, policy: Path
) -> None:
    """Watches go on from a version of its future; a list, which a policy needs that reads more of
    each node, asks for that version too and is refused."""
    past_and_present(stage, lagging)
    before = len(proxy.calls())
    proxy.redirect(lagging.server)
    proxy.reset_watches()
    for resource in ("pods", "nodes"):
        proxy.seen(is_watch_of(resource), count=2, timeout_s=WITHIN_S)
    policy.write_text(policy.read_text() + READS_MORE)
    assert stage.recorded is not None
    stage.recorded.offer(policy_hash(policy.read_text()))
    stage.scheduler.hang_up()
    wait_for(
        lambda: any(call.status == TOO_LARGE for call in proxy.calls()[before:]),
        "the lagging server to refuse a version of its future",
        timeout_s=WITHIN_S,
    )
    stage.pod("future", cpu=CPUS)
    stage.node("late", cpu=CPUS)
    lagging.link.resume()
    stage.bound("future", "late", timeout_s=WITHIN_S)
    asked = proxy.calls(lambda call: not call.writes and call.version > 0)
    assert len(asked) > 30
    assert went_back(asked) == []


@pytest.mark.timeout(600)
def test_n_a_start_at_a_server_that_lags_waits_and_does_not_believe_it(
    stage: Stage, proxy: Proxy, lagging: Lagging
) -> None:
    """The first list asks for the newest state, which only etcd can give."""
    past_and_present(stage, lagging)
    stage.scheduler.kill()
    stage.delete_pod("present")
    stage.node("late", cpu=CPUS)
    proxy.redirect(lagging.server)
    listed = len(proxy.calls(lists_pods))
    stage.scheduler.start()
    proxy.seen(lists_pods, count=listed + 1, timeout_s=WITHIN_S)
    stage.pod("future", cpu=CPUS)
    stage.pod("another", cpu=CPUS)
    assert stage.scheduler.status("/readyz")[0] != OK, "a list of the lagging server was used"
    lagging.link.resume()
    placed = {stage.bound(pod, timeout_s=WITHIN_S) for pod in ("future", "another")}
    assert placed == {"only", "late"}


def lists_pods(call: Call) -> bool:
    return call.resource == "pods" and not call.is_watch


def went_back(calls: list[Call]) -> list[tuple[str, int, int]]:
    """Where a list or watch asked for an older version than the one before it of its resource."""
    newest: dict[str, int] = defaultdict(int)
    found = []
    for call in calls:
        if call.version < newest[call.resource]:
            found.append((call.resource, newest[call.resource], call.version))
        newest[call.resource] = max(newest[call.resource], call.version)
    return found
