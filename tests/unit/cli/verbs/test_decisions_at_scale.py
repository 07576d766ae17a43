"""`explain` and `diff` of many pods share their work, and their progress is true.

Times are compared with those of `simulate` in the same run; with a full explanation of each pod,
`explain` took fifty times as long as it, and `diff` ten times.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kpolicy import Snapshot, cli, compile_policy
from kpolicy.offline.answers.pod_decisions import Explaining, simulate
from kpolicy.offline.answers.policy_diff import diff
from kpolicy.offline.limits import REASONS_MAX
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import shipped_source
from kpolicy.testing import node, pod

NODES, PODS, ALIKE, ON_NODES = 1_500, 600, 20, 50


def program(name: str) -> Program:
    compiled = compile_policy([shipped_source(name)], every_pod=True).program
    assert compiled is not None
    return compiled


@pytest.fixture(scope="module")
def cluster() -> list[dict[str, Any]]:
    """Every third pod fits nowhere."""
    pods = [
        pod(
            f"p{number:03}",
            cpu=f"{100 + 10 * (number // ALIKE)}m",
            labels={"app": f"app-{number // ALIKE}"},
            node_selector={"disk": "nvme"} if number % 3 == 0 else None,
        )
        for number in range(PODS)
    ]
    placed = (pod(f"o{at}", cpu="1", node_name=f"n{at}") for at in range(ON_NODES))
    return [*(node(f"n{at}", cpu="8") for at in range(NODES)), *pods, *placed]


def seconds(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def test_explain_and_diff_take_a_few_times_as_long_as_simulate(
    cluster: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": cluster}))
    snapshot = ["-s", str(tmp_path / "c.json")]
    times = {
        name: min(seconds(partial(cli.main, [*arguments, *snapshot])) for _ in range(2))
        for name, arguments in {
            "simulate": ["simulate"],
            "explain": ["explain"],
            "diff": ["diff", "kube-scheduler-default", "bin-packing", "--every-pod"],
        }.items()
    }
    out = capsys.readouterr().out
    assert out.count(f": fits none of {NODES:,} nodes\n") == 2 * PODS // 3
    assert "400 of 600 pods would be decided differently" in out
    assert times["explain"] < 8 * times["simulate"], times
    assert times["diff"] < 12 * times["simulate"], times


def rising(calls: list[tuple[int, int]], total: int) -> bool:
    done = [each for each, _ in calls]
    return {all_ for _, all_ in calls} == {total} and done == sorted(done) and done[-1] == total


def test_progress_counts_the_pods_that_are_done(cluster: list[dict[str, Any]]) -> None:
    snapshot = Snapshot.of(cluster)
    old, new = program("kube-scheduler-default"), program("bin-packing")
    calls: list[tuple[int, int]] = []

    def seen(done: int, total: int) -> None:
        calls.append((done, total))

    lines = list(Explaining(snapshot, old).brief_lines(seen))
    assert (len(lines), len(calls)) == (PODS, 3)
    assert rising(calls, PODS)
    calls.clear()
    found = diff(snapshot, old, new, all_pods=True, progress=seen)
    assert found.pods == PODS + ON_NODES
    # One by one while differences are explained, and pods on nodes always.
    assert len(calls) > REASONS_MAX + ON_NODES
    assert rising(calls, PODS + ON_NODES)


def test_a_diff_places_pods_as_simulate_does(cluster: list[dict[str, Any]]) -> None:
    snapshot = Snapshot.of(cluster)
    old, new = program("kube-scheduler-default"), program("bin-packing")
    found = diff(snapshot, old, new)
    for program_, side in ((old, "old"), (new, "new")):
        nodes = {each.pod: each.node for each in simulate(snapshot, program_).pods}
        assert all(nodes[pair.pod] == getattr(pair, side).node for pair in found.differences)
    assert len(found.differences) == 2 * PODS // 3
