"""`python -m benches`: the boundary at a small size, and the matrix of workloads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benches import __main__ as driver, boundary, matrix, startup
from benches.boundary import Run
from benches.crossings import size
from kpolicy import compile_policy
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.bench.workloads import DEVICES, REPEATED
from tests.unit.offline.worlds import POLICY

EVERY_POD = compile_policy(POLICY, every_pod=True).program


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return boundary.measure(nodes=100, pods=500, program=EVERY_POD)


class TestBoundary:
    def test_crossings_follow_batches_and_chunks(self, runs: list[Run]) -> None:
        assert [(run.nodes, run.pods) for run in runs] == [(100, 500), (20, 500), (100, 100)]
        assert boundary.failures(runs) == []
        for run in runs:
            assert run.calls["list_page"] == run.pages == 1
            assert run.calls["watch"] == run.chunks
            assert run.calls["schedule"] >= run.pods / 256
            # Every uid goes in once to be decided and once to be settled, 36 bytes each.
            assert run.bytes_in["schedule"] >= 36 * run.pods
            assert run.bytes_in["settle"] >= 36 * run.pods
            assert run.python_us_a_pod > 0
            assert run.engine_us_a_pod > 0

    def test_a_call_for_every_pod_is_a_failure(self, runs: list[Run]) -> None:
        chatty = replace(runs[0], calls={**runs[0].calls, "schedule": 500})
        [failure] = boundary.failures([chatty])
        calls = 500 + runs[0].calls["settle"]
        assert failure == f"100 nodes, 500 pods: {calls} calls to decide and settle"

    def test_calls_that_grow_with_nodes_are_a_failure(self, runs: list[Run]) -> None:
        grown = replace(runs[0], calls={**runs[0].calls, "schedule": 40, "settle": 0})
        few = replace(runs[1], calls={**runs[1].calls, "schedule": 5, "settle": 0})
        [failure] = boundary.failures([grown, few])
        assert failure == "40 calls to decide and settle with 100 nodes, 5 with 20"

    def test_calls_that_nothing_accounts_for_are_a_failure(self, runs: list[Run]) -> None:
        odd = replace(runs[0], calls={**runs[0].calls, "statistics": 1000})
        assert "are allowed" in boundary.failures([odd])[0]

    def test_the_table_has_every_call(self, runs: list[Run]) -> None:
        text = "\n".join(boundary.table(runs))
        assert all(f" {name} " in text for name in runs[0].calls)
        assert "µs of Python a pod" in text


def test_bytes_are_those_of_texts_and_numbers() -> None:
    assert size(("abc", b"de", 7, True, None, [("x", 1)])) == 3 + 2 + 8 + 1 + 1 + 9


class TestMatrix:
    def test_every_workload_has_a_file_and_every_size(self) -> None:
        cases = matrix.cases()
        assert {case.workload for case in cases} == REPEATED.keys() | DEVICES.keys()
        for workload in REPEATED:
            nodes = [case.size.nodes for case in cases if case.workload == workload]
            assert nodes == [1_000, 5_000, 20_000, 100_000, 1_000_000], workload
        for workload in DEVICES:
            nodes = [case.size.nodes for case in cases if case.workload == workload]
            assert nodes == [500, 5_000], workload
        assert len({(case.name, case.size) for case in cases}) == len(cases)

    def test_quick_is_a_part_and_names_choose(self) -> None:
        quick, full = matrix.chosen([], is_full=False), matrix.chosen([], is_full=True)
        assert 0 < len(quick) < len(full)
        assert {case.name for case in matrix.chosen(["spread"], is_full=True)} == {"spread"}

    def test_what_is_wrong_in_a_file_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "odd.yaml"
        path.write_text("name: odd\nworkload: basic\nabout: x\nsizes: []\nsize: 1\n")
        with pytest.raises(AssertionError, match=r"odd\.yaml"):
            matrix.read(path)


class TestDriver:
    def test_workloads_are_measured_and_printed(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        case = matrix.Case("tiny", "basic", generated_cluster.Size(10, 10, 50), True, 7)
        monkeypatch.setattr(matrix, "cases", lambda: [case])
        assert driver.main(["workloads", "--output", "json"]) == 0
        [line] = json.loads(capsys.readouterr().out)["workloads"]
        assert (line["name"], line["scheduled"], line["reach"]) == ("tiny", 50, 7)
        assert driver.main(["workloads"]) == 0
        assert "basic" in capsys.readouterr().out

    def test_a_boundary_that_is_crossed_too_often_is_one(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(boundary, "CALLS_A_POD_MAX", 0.0)
        assert driver.main(["boundary", "--nodes", "20", "--pods", "300"]) == 1
        assert "calls to decide and settle" in capsys.readouterr().err

    @pytest.mark.parametrize("words", [["speed"], ["boundary", "--nodes", "1", "--pods", "21"]])
    def test_bad_flags_are_two(self, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stopped:
            driver.main(words)
        assert stopped.value.code == 2
        assert capsys.readouterr().out == ""


class TestStartup:
    def test_figures_of_fresh_processes(self) -> None:
        waited = startup.measure(runs=1)
        assert len(waited) == 7
        # Whole commands are told as a multiple of importing pydantic.
        assert [event.times_pydantic > 1 for event in waited] == [False] * 5 + [True, True]
        assert all(0 < event.least <= event.median for event in waited)
        assert all(event.processor > 0 for event in waited)
        lines = startup.table(waited)
        assert [line.endswith((" 250 ms", " 150 ms")) for line in lines[1:]] == [
            True,
            False,
            True,
            *[False] * 4,
        ]

    def test_the_file_has_fifty_rules_without_findings(self) -> None:
        compiled = compile_policy(startup.policy(startup.RULES))
        assert compiled.program is not None
        assert compiled.diagnostics == ()
        [profile] = json.loads(compiled.program.bytes)["profiles"]
        rules = [*profile["filters"], *profile["scores"]]
        own = [rule for rule in rules if "builtin" not in rule]
        assert len(own) == startup.RULES
