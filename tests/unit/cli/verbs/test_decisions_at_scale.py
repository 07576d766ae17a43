"""`explain` and `diff` of many pods share their work, and their progress is true.

With a question for each pod, `explain` took fifty times as long as `simulate`, and `diff` ten
times: calls are counted here, and `python -m benches offline` prints times.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kpolicy import Snapshot, cli, compile_policy
from kpolicy.engine import Engine, Verdict
from kpolicy.offline.answers import policy_diff
from kpolicy.offline.answers.pod_decisions import Explaining, simulate
from kpolicy.offline.answers.policy_diff import diff
from kpolicy.offline.limits import BATCH_PODS, REASONS_MAX
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


def test_explain_and_diff_tell_of_every_pod(
    cluster: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": cluster}))
    snapshot = ["-s", str(tmp_path / "c.json")]
    cli.main(["explain", *snapshot])
    out = capsys.readouterr().out
    assert out.count(f": fits none of {NODES:,} nodes\n") == PODS // 3
    cli.main(["diff", "kube-scheduler-default", "bin-packing", "--every-pod", *snapshot])
    assert "400 of 600 pods would be decided differently" in capsys.readouterr().out


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
    # One by one while differences are explained; pods on nodes many at a time.
    assert len(calls) > REASONS_MAX
    assert rising(calls, PODS + ON_NODES)


class Calls:
    """Counts how often the engine is asked, by the name of the function."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
        self.counts: Counter[str] = Counter()
        for name in names:
            monkeypatch.setattr(Engine, name, self._counted(name))

    def _counted(self, name: str) -> Callable[..., object]:
        real = getattr(Engine, name)

        def counted(*arguments: object, **options: object) -> object:
            self.counts[name] += 1
            return real(*arguments, **options)

        return counted


def test_a_diff_builds_each_snapshot_once_and_asks_for_many_pods_at_a_time(
    cluster: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    more = [pod(f"m{at}", cpu="10m", node_name=f"n{at}") for at in range(2 * BATCH_PODS)]
    old, new = program("kube-scheduler-default"), program("bin-packing")
    snapshot = Snapshot.of([*cluster, *more])
    monkeypatch.setattr(policy_diff, "AGAIN_PODS", BATCH_PODS)
    calls = Calls(monkeypatch, "load_objects", "watch", "decide_again", "explain", "schedule")
    found = diff(snapshot, old, new, all_pods=True)
    assert found.pods == PODS + ON_NODES + 2 * BATCH_PODS
    assert (calls.counts["load_objects"], calls.counts["watch"]) == (2, 0)
    assert calls.counts["decide_again"] == 2 * 3
    explained = sum(each.reason is not None for each in found.differences)
    assert explained > REASONS_MAX, "of pending pods and of those on nodes"
    assert calls.counts["explain"] <= 2 * (REASONS_MAX + 1), "those on nodes together"


def test_deciding_again_leaves_no_trace(cluster: list[dict[str, Any]]) -> None:
    engine = Snapshot.of(cluster).engine(program("kube-scheduler-default"), seed=7)
    before = engine.holdings()
    uids = [f"default/o{at}" for at in range(ON_NODES)]
    again, pending = engine.decide_again([*uids, "default/p001", "nobody"], 0), "default/p001"
    assert all(decision.node for decision in again[:ON_NODES])
    assert {decision.verdict for decision in again[ON_NODES:]} == {Verdict.GONE}
    assert engine.holdings() == before
    fresh = Snapshot.of(cluster).engine(program("kube-scheduler-default"), seed=7)
    [first], [second] = (each.schedule([pending], 0).decisions for each in (engine, fresh))
    assert first.node == second.node


def test_a_diff_places_pods_as_simulate_does(cluster: list[dict[str, Any]]) -> None:
    snapshot = Snapshot.of(cluster)
    old, new = program("kube-scheduler-default"), program("bin-packing")
    found = diff(snapshot, old, new)
    for program_, side in ((old, "old"), (new, "new")):
        nodes = {each.pod: each.node for each in simulate(snapshot, program_).pods}
        assert all(nodes[pair.pod] == getattr(pair, side).node for pair in found.differences)
    assert len(found.differences) == 2 * PODS // 3
