"""`python -m benches`: expressions, memory and loading at small sizes, and the picture."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benches import (
    __main__ as driver,
    expressions,
    footprint,
    loading,
    matrix,
    plot,
    plot_threads,
    recorded,
)
from benches.chart import Axis, Chart, Line, spread
from benches.matrix import Case
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.bench.workloads import REPEATED
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot

SVG = "{http://www.w3.org/2000/svg}"


class TestRecorded:
    def test_it_is_a_list_as_kubectl_prints_it(self, tmp_path: Path) -> None:
        size = generated_cluster.Size(3, 20, 0)
        text = "".join(recorded.kubectl_list(size))
        printed = json.dumps(json.loads(text), indent=4, sort_keys=True) + "\n"
        assert text == printed
        (tmp_path / "all.json").write_text(text)
        snapshot = Snapshot.load(tmp_path / "all.json")
        assert snapshot.problems == ()
        kinds = [item["kind"] for _, item in snapshot.objects()]
        assert (kinds.count("Node"), kinds.count("Pod")) == (3, 20)

    def test_a_page_is_one_document(self) -> None:
        items = list(recorded.nodes(generated_cluster.Size(2, 0, 0)))
        page = json.loads(recorded.page("Node", items))
        names = [item["metadata"]["name"] for item in page["items"]]
        assert names == ["node-000000", "node-000001"]


class TestFigures:
    def test_memory_is_that_of_a_process_of_its_own(self) -> None:
        figures = footprint.measure(nodes=20, pods=100)
        assert 0 < figures["started"] < figures["decided"] <= figures["peak"]
        assert figures["statistics"]["nodes"] == 20
        assert figures["statistics"]["pods"] >= 100
        assert "600" in "\n".join(footprint.table(figures))

    def test_loading_reads_all_that_was_written(self) -> None:
        figures = loading.measure(nodes=5, pods=50)
        assert len(figures["runs"]) == loading.RUNS
        assert all((run["nodes"], run["pods"]) == (5, 50) for run in figures["runs"])
        assert "MB/s" in loading.table(figures)[0]

    def test_every_predicate_compiles_and_is_measured(self) -> None:
        costs = expressions.measure(nodes=20, shapes=3, rounds=1)
        assert [cost.about for cost in costs] == [about for about, _ in expressions.PREDICATES]
        assert len(expressions.table(costs)) == len(costs) + 2


SAVED = {
    "commit": "abc",
    "machine": "a <machine>",
    "runs": 2,
    "microsecondsPerDecision": {
        "basic": {"1000": 5.0, "100000": 30.0},
        "mixed": {"1000": 20.0, "100000": 900.0},
    },
}


class TestPlot:
    def test_the_same_data_give_the_same_picture(self) -> None:
        assert plot.picture(SAVED) == plot.picture(json.loads(json.dumps(SAVED)))

    def test_every_line_is_drawn_and_named_and_the_axes_are(self) -> None:
        root = ElementTree.fromstring(plot.picture(SAVED))
        texts = [text.text for text in root.iter(f"{SVG}text")]
        assert {"basic", "mixed", "nodes", "1,000", "100,000"} <= set(texts)
        assert len(list(root.iter(f"{SVG}polyline"))) == 2
        assert len(list(root.iter(f"{SVG}circle"))) == 4

    def test_what_was_saved_has_every_workload_and_is_what_is_drawn(self) -> None:
        saved = plot.saved()
        measured = saved["microsecondsPerDecision"]
        assert set(measured) == set(REPEATED)
        sizes = {"1000", "5000", "20000", "100000"}
        assert all(sizes <= set(points) for points in measured.values())
        assert plot.PICTURE.read_text("utf-8") == plot.picture(saved)

    def test_it_goes_to_a_million_nodes(self) -> None:
        largest = {case.workload: case.size.nodes for case in matrix.cases() if case.is_huge}
        assert largest == dict.fromkeys(REPEATED, 1_000_000)
        assert [case for case in matrix.chosen([], is_full=True) if case.is_huge] == []
        cases = [
            Case("a", "basic", generated_cluster.Size(5, 5, 5), False, 0, is_huge)
            for is_huge in (False, True)
        ]
        assert set(plot.measure(2, cases)["microsecondsPerDecision"]["basic"]) == {"5"}

    def test_drawing_again_measures_nothing(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(plot, "measure", lambda: pytest.fail("it measured"))
        assert driver.main(["plot"]) == 0
        assert "cost-by-nodes.svg" in capsys.readouterr().out

    def test_the_picture_of_threads_is_the_one_of_its_figures(self) -> None:
        saved = plot.saved(plot_threads.DATA)
        measured = saved["microsecondsPerDecision"]
        assert set(measured) == set(plot_threads.WORKLOADS)
        sizes = {str(size.nodes) for size in plot_threads.SIZES}
        for by_threads in measured.values():
            assert set(by_threads) == {"1", "2"}
            assert all(set(points) == sizes for points in by_threads.values())
        assert plot_threads.PICTURE.read_text("utf-8") == plot_threads.picture(saved)

    def test_threads_are_measured_in_turns(self) -> None:
        size = generated_cluster.Size(5, 5, 5)
        measured = plot_threads.measure(("basic",), (size,), 1)["microsecondsPerDecision"]
        assert {threads: set(points) for threads, points in measured["basic"].items()} == {
            "1": {"5"},
            "2": {"5"},
        }

    def test_names_keep_their_distance_and_order(self) -> None:
        assert spread([10.0, 50.0], 5.0) == [10.0, 50.0]
        moved = spread([10.0, 10.0, 11.0, 40.0], 5.0)
        assert sorted(moved) == moved
        assert all(after - before >= 5.0 - 1e-9 for before, after in pairwise(moved))

    def test_an_axis_is_logarithmic(self) -> None:
        axis = Axis(0, 2, 100.0, 300.0)
        assert [axis.at(value) for value in (1, 10, 100)] == [100.0, 200.0, 300.0]
        assert [value for value, is_decade in axis.ticks() if is_decade] == [1.0, 10.0, 100.0]

    def test_texts_are_escaped(self) -> None:
        line = Line("a & b", ((1.0, 1.0), (10.0, 2.0)))
        chart = Chart("<t>", "about", "x", "y", (line,))
        assert "a &amp; b" in chart.svg()
        ElementTree.fromstring(chart.svg())
