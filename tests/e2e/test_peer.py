"""The comparison with the real kube-scheduler: both are asked the same question, and both answer.
Agreement is asserted, never time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benches import __main__ as driver
from benches.peer import theirs
from benches.peer.build import KubeScheduler, kube_scheduler
from kpolicy.offline.bench.generated_cluster import Size, as_list
from tests.cluster.errors import ModulesUnavailableError

# The first of them compiles: minutes when nothing is cached.
pytestmark = [pytest.mark.peer, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def peer() -> KubeScheduler:
    try:
        return kube_scheduler()
    except ModulesUnavailableError as error:  # where the control plane is Debian's, too
        pytest.skip(str(error))


@pytest.mark.usefixtures("peer")
def test_both_see_the_same_nodes_and_scores_for_every_pod_of_every_workload(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert driver.main(["peer", "--check-only", "--output", "json"]) == 0
    agreement = json.loads(capsys.readouterr().out)["agreement"]
    assert agreement["differences"] == []
    # Every pod twice: about all nodes, and where each cycle ends once it has found enough of them.
    pods, of_all_nodes = 2_640, 158_400
    assert agreement["pods"] == 2 * pods
    assert agreement["verdicts"] > of_all_nodes + 80 * pods
    assert agreement["scores"] > 30_000


@pytest.mark.usefixtures("peer")
def test_every_mode_is_measured_in_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ("--nodes", "150", "--existing", "150", "--pods", "40", "--turns", "1")
    assert driver.main(["peer", "--workload", "spread", *sizes, "--output", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["scheduler"], row["scored"]) for row in rows] == [
        ("kpolicy", "all"),
        ("kube-scheduler", "sampled"),
        ("kube-scheduler", "all"),
    ]
    assert [(row["pods"], row["scheduled"]) for row in rows] == [(40, 40)] * 3


def test_a_world_that_it_does_not_understand_is_an_error(
    peer: KubeScheduler, tmp_path: Path
) -> None:
    path = tmp_path / "world.json"
    world = b"".join(as_list("basic", Size(3, 3, 3)))
    path.write_bytes(world.replace(b'"kind":"Pod"', b'"kind":"Pood"', 1))
    with pytest.raises(theirs.KubeSchedulerError, match=r'unknown kind "Pood"'):
        theirs.answers(peer.path, path)
