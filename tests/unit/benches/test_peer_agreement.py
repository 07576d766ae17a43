"""The check that both schedulers agree: it accepts equal answers, and finds every possible
difference.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benches.peer import ours
from benches.peer.agreement import NOTHING, Agreement, compare, compare_sampled
from benches.peer.theirs import Answer
from kpolicy.engine import ClaimWork, Engine, JudgedNodes, KeptNode
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.bench.generated_cluster import Size

SIZE = Size(nodes=20, existing=20, pods=5)
FULL = Size(nodes=20, existing=80, pods=5)


def engine_of(workload: str, size: Size, folder: Path) -> Engine:
    path = folder / "world.json"
    path.write_bytes(b"".join(generated_cluster.as_list(workload, size)))
    return ours.engine_of(path, seed=1)


def answers(workload: str, size: Size, folder: Path) -> list[Answer]:
    """As another scheduler with other chance would give them: an engine with another seed."""
    engine = engine_of(workload, size, folder)
    differences = []
    for index in range(size.pods):
        name = f"default/pod-{index:06d}"
        explained = json.loads(engine.explain(json.dumps({"pods": [name]}).encode(), 0))
        decision = engine.schedule([generated_cluster.uid(index)], 0).decisions[0]
        totals = {
            node["name"]: node["total"] for node in explained["nodes"] if "filter" not in node
        }
        message = "" if decision.node else explained["message"]
        claims = tuple(written(work) for work in decision.writes)
        differences.append(
            Answer(name, totals, decision.node, decision.nominated_node, message, claims)
        )
    return differences


def written(work: object) -> dict[str, Any]:
    """A claim as the other scheduler writes it."""
    assert isinstance(work, ClaimWork)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": work.claim, "namespace": "default", "uid": work.claim_uid},
        "spec": {"devices": {"requests": []}},
        "status": {"allocation": json.loads(work.allocation)},
    }


def differing(workload: str, size: Size, folder: Path, expected: list[Answer]) -> Agreement:
    engine = ours.engine_of(folder / "world.json", seed=2)
    return compare(engine, workload, size, expected)


@pytest.mark.parametrize(
    ("workload", "size"),
    [
        ("mixed", SIZE),
        ("affinity", SIZE),
        ("preemption", FULL),
        ("unschedulable", SIZE),
        ("claims", SIZE),
        ("claims-partitioned", SIZE),
    ],
)
def test_right_answers_agree_whatever_ties_fall(workload: str, size: Size, tmp_path: Path) -> None:
    expected = answers(workload, size, tmp_path)
    found = differing(workload, size, tmp_path, expected)
    assert found.differences == ()
    assert (found.pods, found.nodes) == (5, 100)
    assert found.scores == sum(len(answer.totals) for answer in expected)
    assert found.sentence.startswith("same placements possible: 5 of 5 pods checked (100 verdicts")


class TestDifferences:
    def test_other_devices_on_the_same_node(self, tmp_path: Path) -> None:
        expected = answers("claims", SIZE, tmp_path)
        engine = ours.engine_of(tmp_path / "world.json", seed=1)
        (claim,) = expected[0].claims
        (result,) = claim["status"]["allocation"]["devices"]["results"]
        assert result["device"] == "gpu-0"
        result["device"] = "gpu-1"
        (found,) = compare(engine, "claims", SIZE, expected).differences
        pool = result["pool"]
        assert found.endswith(f": devices {pool}/gpu-0 here, {pool}/gpu-1 there")

    def test_a_node_that_passes_only_there(self, tmp_path: Path) -> None:
        expected = answers("affinity", SIZE, tmp_path)
        expected[2] = replace(expected[2], totals={**expected[2].totals, "node-999999": 1})
        found = differing("affinity", SIZE, tmp_path, expected)
        assert found.differences == (
            "affinity, default/pod-000002: nodes that pass only here none, only there node-999999",
        )
        assert "4 of 5 pods" in found.sentence

    def test_a_node_that_passes_only_here(self, tmp_path: Path) -> None:
        expected = answers("basic", SIZE, tmp_path)
        lost = next(name for name in expected[0].totals if name != expected[0].node)
        totals = {name: total for name, total in expected[0].totals.items() if name != lost}
        found = differing(
            "basic", SIZE, tmp_path, [replace(expected[0], totals=totals), *expected[1:]]
        )
        assert found.differences[0].endswith(f"only here {lost}, only there none")

    def test_a_score_that_is_one_off(self, tmp_path: Path) -> None:
        expected = answers("mixed", SIZE, tmp_path)
        total = expected[4].totals["node-000003"]
        expected[4] = replace(expected[4], totals={**expected[4].totals, "node-000003": total + 1})
        [difference] = differing("mixed", SIZE, tmp_path, expected).differences
        where = "mixed, default/pod-000004: 1 nodes score differently"
        assert difference == f"{where}, node-000003 {total} here, {total + 1} there"

    def test_a_choice_that_is_not_among_the_best(self, tmp_path: Path) -> None:
        expected = answers("prefaffinity", SIZE, tmp_path)
        worst = min(expected[3].totals, key=lambda name: expected[3].totals[name])
        assert expected[3].totals[worst] < expected[3].totals[expected[3].node]
        expected[3] = replace(expected[3], node=worst)
        [difference] = differing("prefaffinity", SIZE, tmp_path, expected).differences[:1]
        assert f"{worst} there, of the best" in difference

    def test_a_pod_that_finds_no_node_there(self, tmp_path: Path) -> None:
        expected = answers("basic", SIZE, tmp_path)
        expected[4] = replace(expected[4], node="")
        [difference] = differing("basic", SIZE, tmp_path, expected).differences
        assert difference.endswith("here, '' there")

    def test_another_reason(self, tmp_path: Path) -> None:
        expected = answers("unschedulable", SIZE, tmp_path)
        expected[1] = replace(expected[1], message="0/20 nodes are available: 20 Too many pods.")
        [difference] = differing("unschedulable", SIZE, tmp_path, expected).differences
        assert "Insufficient cpu" in difference
        assert "Too many pods" in difference

    @pytest.mark.parametrize("nominated", ["", "node-999999"])
    def test_room_made_elsewhere_or_nowhere(self, nominated: str, tmp_path: Path) -> None:
        expected = answers("preemption", FULL, tmp_path)
        expected[4] = replace(expected[4], nominated=nominated)
        [difference] = differing("preemption", FULL, tmp_path, expected).differences
        assert "room made on" in difference

    def test_answers_that_are_missing(self, tmp_path: Path) -> None:
        expected = answers("basic", SIZE, tmp_path)[:4]
        assert differing("basic", SIZE, tmp_path, expected).differences == (
            "basic: 4 answers for 5 pods",
        )


LARGE = Size(nodes=250, existing=250, pods=6)


class TestSampled:
    def engine(self, folder: Path, seed: int) -> Engine:
        path = folder / "large.json"
        path.write_bytes(b"".join(generated_cluster.as_list("mixed", LARGE)))
        return ours.engine_of(path, seed=seed, program=ours.sampling_program())

    def answers(self, folder: Path) -> list[Answer]:
        """Of an engine with another seed. Totals are known only of the node that was chosen."""
        engine = self.engine(folder, 1)
        made = []
        for index in range(LARGE.pods):
            uid = generated_cluster.uid(index)
            found = engine.filter(uid, 0)
            kept = [KeptNode(node) for node in found.feasible]
            decision = engine.choose(uid, JudgedNodes(found.token, kept), 0)
            totals = {**dict.fromkeys(found.feasible, 0), decision.node: decision.score}
            made.append(Answer(f"default/pod-{index:06d}", totals, decision.node, "", ""))
        return made

    def test_both_find_the_same_nodes_and_stop_before_the_last(self, tmp_path: Path) -> None:
        expected = self.answers(tmp_path)
        assert [len(answer.totals) for answer in expected] == [120] * LARGE.pods
        assert expected[0].totals.keys() != expected[1].totals.keys()
        found = compare_sampled(self.engine(tmp_path, 1), "mixed", LARGE, expected)
        assert found.differences == ()
        assert (found.pods, found.scores) == (6, 720)

    def test_another_node_or_score_is_a_difference(self, tmp_path: Path) -> None:
        expected = self.answers(tmp_path)
        lost = next(name for name in expected[2].totals if name != expected[2].node)
        fewer = {name: 0 for name in expected[2].totals if name != lost}
        expected[2] = replace(expected[2], totals=fewer)
        node = expected[4].node
        higher = {**expected[4].totals, node: expected[4].totals[node] + 1}
        expected[4] = replace(expected[4], totals=higher)
        found = compare_sampled(self.engine(tmp_path, 1), "mixed", LARGE, expected)
        first, second = found.differences
        assert first.endswith(f"nodes found only here {lost}, only there none")
        assert second.endswith("there")
        assert f"{node} scores" in second


def test_sums_are_of_all_workloads() -> None:
    total = NOTHING + Agreement(2, 20, 7, ("a",)) + Agreement(3, 30, 8, ())
    assert total == Agreement(5, 50, 15, ("a",))
    assert total.line()["differences"] == ["a"]
