"""Python's side of the Go program; a script prints what the program would print."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benches.peer import theirs
from benches.peer.theirs import Answer, KubeSchedulerError

WORLD = Path("world.json")


def program(folder: Path, body: str) -> Path:
    path = folder / "kubescheduler"
    path.write_text(f"#!{sys.executable}\nimport json, os, sys\n{body}\n")
    path.chmod(0o755)
    return path


def test_a_timed_run_says_how_much_it_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOGC", "off")
    monkeypatch.setenv("KEPT", "yes")
    seen = tmp_path / "seen.json"
    body = (
        f"json.dump([sys.argv[1:], 'GOGC' in os.environ, os.environ['KEPT']], "
        f"open({str(seen)!r}, 'w'))\n"
        "print(json.dumps({'scheduled': 1, 'cycleNs': [5, 7], 'cpuNs': 20}))"
    )
    timing = theirs.timed(program(tmp_path, body), WORLD, theirs.SAMPLED, 1.5)
    assert (timing.scheduled, timing.cycle_ns, timing.cpu_ns) == (1, (5, 7), 20)
    words, is_collector_changed, kept = json.loads(seen.read_text())
    assert words == ["-world", "world.json", "-percentage", "0", "-budget", "1.5s"]
    assert (is_collector_changed, kept) == (False, "yes")


def test_answers_are_of_pods_with_and_without_a_node(tmp_path: Path) -> None:
    body = """print(json.dumps({"answers": [
        {"pod": "default/a", "totals": {"n1": 7}, "node": "n1"},
        {"pod": "default/b", "totals": {}, "nominated": "n2", "message": "no"}]}))"""
    assert theirs.answers(program(tmp_path, body), WORLD) == [
        Answer("default/a", {"n1": 7}, "n1", "", ""),
        Answer("default/b", {}, "", "n2", "no"),
    ]


def test_answers_about_some_nodes_do_not_depend_on_chance(tmp_path: Path) -> None:
    body = """print(json.dumps({"answers": [
        {"pod": " ".join(sys.argv[1:]), "totals": {"n1": 7}, "node": "n1"}]}))"""
    [answer] = theirs.sampled_answers(program(tmp_path, body), WORLD)
    assert answer.pod == "-world world.json -percentage 0 -answers -parallelism 1"


def test_its_failure_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(KubeSchedulerError, match=r"ended with 1:\nworld.json: item 3"):
        theirs.answers(program(tmp_path, "sys.exit('world.json: item 3')"), WORLD)


def test_one_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theirs, "RUN_S_MAX", 0.2)
    with pytest.raises(KubeSchedulerError, match="did not end"):
        theirs.answers(program(tmp_path, "import time; time.sleep(60)"), WORLD)
