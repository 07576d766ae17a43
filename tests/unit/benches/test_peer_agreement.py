"""The check that both schedulers agree: it accepts equal answers, and finds every possible
difference.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benches.peer import ours
from benches.peer.agreement import NOTHING, Agreement, compare
from benches.peer.theirs import Answer
from kpolicy.engine import Engine
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
    said = []
    for index in range(size.pods):
        name = f"default/pod-{index:06d}"
        explained = json.loads(engine.explain(json.dumps({"pods": [name]}).encode(), 0))
        decision = engine.schedule([generated_cluster.uid(index)], 0).decisions[0]
        totals = {
            node["name"]: node["total"] for node in explained["nodes"] if "filter" not in node
        }
        message = "" if decision.node else explained["message"]
        said.append(Answer(name, totals, decision.node, decision.nominated_node, message))
    return said


def differing(workload: str, size: Size, folder: Path, given: list[Answer]) -> Agreement:
    engine = ours.engine_of(folder / "world.json", seed=2)
    return compare(engine, workload, size, given)


@pytest.mark.parametrize(
    ("workload", "size"),
    [("mixed", SIZE), ("affinity", SIZE), ("preemption", FULL), ("unschedulable", SIZE)],
)
def test_right_answers_agree_whatever_ties_fall(workload: str, size: Size, tmp_path: Path) -> None:
    given = answers(workload, size, tmp_path)
    found = differing(workload, size, tmp_path, given)
    assert found.differences == ()
    assert (found.pods, found.nodes) == (5, 100)
    assert found.scores == sum(len(one.totals) for one in given)
    assert found.sentence.startswith("same placements possible: 5 of 5 pods checked (100 verdicts")


class TestDifferences:
    def test_a_node_that_passes_only_there(self, tmp_path: Path) -> None:
        given = answers("affinity", SIZE, tmp_path)
        given[2] = replace(given[2], totals={**given[2].totals, "node-999999": 1})
        found = differing("affinity", SIZE, tmp_path, given)
        assert found.differences == (
            "affinity, default/pod-000002: nodes that pass only here none, only there node-999999",
        )
        assert "4 of 5 pods" in found.sentence

    def test_a_node_that_passes_only_here(self, tmp_path: Path) -> None:
        given = answers("basic", SIZE, tmp_path)
        lost = next(name for name in given[0].totals if name != given[0].node)
        totals = {name: total for name, total in given[0].totals.items() if name != lost}
        found = differing("basic", SIZE, tmp_path, [replace(given[0], totals=totals), *given[1:]])
        assert found.differences[0].endswith(f"only here {lost}, only there none")

    def test_a_score_that_is_one_off(self, tmp_path: Path) -> None:
        given = answers("mixed", SIZE, tmp_path)
        total = given[4].totals["node-000003"]
        given[4] = replace(given[4], totals={**given[4].totals, "node-000003": total + 1})
        [said] = differing("mixed", SIZE, tmp_path, given).differences
        where = "mixed, default/pod-000004: 1 nodes score differently"
        assert said == f"{where}, node-000003 {total} here, {total + 1} there"

    def test_a_choice_that_is_not_among_the_best(self, tmp_path: Path) -> None:
        given = answers("prefaffinity", SIZE, tmp_path)
        worst = min(given[3].totals, key=lambda name: given[3].totals[name])
        assert given[3].totals[worst] < given[3].totals[given[3].node]
        given[3] = replace(given[3], node=worst)
        [said] = differing("prefaffinity", SIZE, tmp_path, given).differences[:1]
        assert f"{worst} there, of the best" in said

    def test_a_pod_that_finds_no_node_there(self, tmp_path: Path) -> None:
        given = answers("basic", SIZE, tmp_path)
        given[4] = replace(given[4], node="")
        [said] = differing("basic", SIZE, tmp_path, given).differences
        assert said.endswith("here, '' there")

    def test_another_reason(self, tmp_path: Path) -> None:
        given = answers("unschedulable", SIZE, tmp_path)
        given[1] = replace(given[1], message="0/20 nodes are available: 20 Too many pods.")
        [said] = differing("unschedulable", SIZE, tmp_path, given).differences
        assert "Insufficient cpu" in said
        assert "Too many pods" in said

    @pytest.mark.parametrize("nominated", ["", "node-999999"])
    def test_room_made_elsewhere_or_nowhere(self, nominated: str, tmp_path: Path) -> None:
        given = answers("preemption", FULL, tmp_path)
        given[4] = replace(given[4], nominated=nominated)
        [said] = differing("preemption", FULL, tmp_path, given).differences
        assert "room made on" in said

    def test_answers_that_are_missing(self, tmp_path: Path) -> None:
        given = answers("basic", SIZE, tmp_path)[:4]
        assert differing("basic", SIZE, tmp_path, given).differences == (
            "basic: 4 answers for 5 pods",
        )


def test_sums_are_of_all_workloads() -> None:
    total = NOTHING + Agreement(2, 20, 7, ("a",)) + Agreement(3, 30, 8, ())
    assert total == Agreement(5, 50, 15, ("a",))
    assert total.line()["differences"] == ["a"]
