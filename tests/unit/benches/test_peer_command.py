"""`python -m benches peer` with stand-ins for the Go program: sizes, exit codes, output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benches import __main__ as driver
from benches.peer import command, theirs
from benches.peer.agreement import Agreement
from benches.peer.build import KubeScheduler
from benches.peer.timing import Timing
from kpolicy.offline.bench.generated_cluster import Size
from kpolicy.offline.bench.workloads import WORKLOADS
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from tests.cluster.errors import ModulesUnavailableError

PEER = KubeScheduler(Path("kubescheduler"), "v1.36.2")
SMALL = ("peer", "--workload", "basic", "--nodes", "10", "--pods", "20", "--turns", "2")


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, float]]:
    """Of kube-scheduler: a cycle of it takes ten seconds, and it decides five pods."""
    ran: list[tuple[int, float]] = []

    def timed(_binary: Path, _world: Path, percentage: int, budget_s: float) -> Timing:
        ran.append((percentage, budget_s))
        return Timing(5, (10_000_000_000,) * 5, 50_000)

    monkeypatch.setattr(command, "kube_scheduler", lambda: PEER)
    monkeypatch.setattr(command, "check", lambda *_: Agreement(120, 7200, 7000, ()))
    monkeypatch.setattr(command, "check_sampled", lambda *_: Agreement(120, 12000, 12000, ()))
    monkeypatch.setattr(theirs, "timed", timed)
    return ran


class TestSizes:
    def test_are_those_of_the_matrix(self) -> None:
        assert command.size_of("basic", 5_000, None, None) == Size(5_000, 5_000, 10_000)
        assert command.size_of("preemption", 5_000, None, None) == Size(5_000, 20_000, 1_000)
        assert command.size_of("preemption", 100_000, None, None).pods == 200
        assert command.size_of("unique-labels", 5_000, None, None) == Size(5_000, 5_000, 10_000)

    def test_between_them_as_many_pods_are_on_a_node(self) -> None:
        assert command.size_of("preemption", 60, None, 9) == Size(60, 240, 9)
        assert command.size_of("basic", 10, 3, None) == Size(10, 3, 10_000)


def test_both_modes_run_in_every_turn_and_the_table_has_them(
    runs: list[tuple[int, float]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert driver.main([*SMALL, "--seconds", "3"]) == 0
    assert runs == [(0, 3.0), (100, 3.0)] * 2
    printed = capsys.readouterr()
    first, title, _, *rows = printed.out.splitlines()
    assert first == (
        "same placements possible: 240 of 240 pods checked (19,200 verdicts, 19,000 scores)"
    )
    assert "kube-scheduler v1.36.2" in title
    assert [row.split()[-9:-7] for row in rows[1:]] == [["sampled", "5"], ["all", "5"]]
    assert all(row.endswith("x") for row in rows[1:])
    assert rows[0].split()[:6] == ["basic", "10", "kpolicy", "all", "20", "20"]
    assert "basic, 10 nodes" in printed.err


def test_json_has_all_figures_and_nothing_else_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert driver.main([*SMALL, "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kubernetes"] == "v1.36.2"
    assert document["agreement"]["pods"] == 240
    assert [row["scored"] for row in document["rows"]] == ["all", "sampled", "all"]
    ours, sampled, _ = document["rows"]
    assert (ours["scheduled"], ours["waiting"], sampled["podsPerSecond"]) == (20, 20, 0.1)
    assert sampled["ratio"] > 1


def test_every_workload_is_checked_and_none_timed_where_only_the_check_is_asked_for(
    runs: list[tuple[int, float]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    checked: list[tuple[str, Size]] = []

    def check(_binary: Path, workload: str, size: Size, _path: Path) -> Agreement:
        checked.append((workload, size))
        return Agreement(size.pods, 0, 0, ())

    monkeypatch.setattr(command, "check", check)
    monkeypatch.setattr(command, "check_sampled", check)
    assert driver.main(["peer", "--check-only"]) == 0
    assert [workload for workload, _ in checked[::2]] == list(WORKLOADS)
    assert [workload for workload, _ in checked[1::2]] == list(WORKLOADS)
    assert {(size.nodes, size.pods) for _, size in checked} == {(60, 120), (250, 120)}
    assert runs == []
    assert f"{240 * len(WORKLOADS):,} of" in capsys.readouterr().out


def test_a_difference_ends_it_before_anything_is_timed(
    runs: list[tuple[int, float]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = Agreement(120, 7200, 7000, ("basic, default/pod-000001: node-000001 scores 3, not 4",))
    monkeypatch.setattr(command, "check", lambda *_: found)
    assert driver.main([*SMALL]) == 1
    printed = capsys.readouterr()
    assert "239 of 240 pods" in printed.out
    assert "pod-000001: node-000001 scores 3, not 4" in printed.err
    assert driver.main([*SMALL, "--output", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["agreement"]["differences"], document["rows"]) == ([*found.differences], [])
    assert runs == []


def test_worlds_are_kept_as_files_that_any_verb_reads(tmp_path: Path) -> None:
    assert driver.main([*SMALL, "--keep", str(tmp_path / "worlds")]) == 0
    kept = sorted(path.name for path in (tmp_path / "worlds").iterdir())
    assert kept == ["basic-check-sampled.json", "basic-check.json", "basic.json"]
    snapshot = Snapshot.load(tmp_path / "worlds" / "basic.json")
    assert snapshot.problems == ()
    assert len(snapshot.engine().pending()) == 20


def test_without_go_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unavailable() -> KubeScheduler:
        raise ModulesUnavailableError("the proxy is down")

    monkeypatch.setattr(command, "kube_scheduler", unavailable)
    assert driver.main([*SMALL]) == 2
    assert "the proxy is down" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--workload", "odd"], ["--nodes", "0"], ["--seconds", "0"], ["--existing", "-1"]]
)
def test_bad_flags_are_two(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        driver.main(["peer", *words])
    assert stopped.value.code == 2
    assert capsys.readouterr().out == ""
