"""Answers about a snapshot are as of its time, or of one that is given: the same at any time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kpolicy
from kpolicy import Snapshot, Source, compile_policy
from kpolicy.api_times import api_time, time_of
from kpolicy.offline.answers.pod_decisions import explain, simulate
from kpolicy.offline.answers.policy_diff import diff
from kpolicy.offline.reports import explanation_text
from kpolicy.offline.snapshot_file.reader import Origin
from kpolicy.offline.snapshot_file.writer import write_snapshot
from kpolicy.policy.assembly.assemble import Program
from kpolicy.testing import node, pod

NOON, NIGHT = (time_of(f"2026-11-27T{clock}:00Z") for clock in ("12:00", "22:30"))
OBJECTS = (node("n"), pod("a"))


def policy(expression: str) -> Program:
    spec = {
        "profiles": [{"schedulerName": "kpolicy"}],
        "base": "none",
        "predicates": [{"name": "rule", "expression": expression}],
    }
    head = {"apiVersion": "kpolicy.dev/v1alpha1", "kind": "SchedulingPolicy"}
    text = json.dumps({**head, "metadata": {"name": "p"}, "spec": spec})
    program = compile_policy([Source("p.yaml", text)]).program
    assert program is not None
    return program


AT_NIGHT = policy("now.within('0 22 * * *', duration('8h'))")
BY_DAY = policy("!now.within('0 22 * * *', duration('8h'))")


@pytest.mark.parametrize(("now_ns", "placed"), [(None, 1), (NOON, 0), (NIGHT, 1)])
def test_as_of_the_time_of_the_snapshot(now_ns: int | None, placed: int) -> None:
    snapshot = Snapshot.of(OBJECTS)
    snapshot.now_ns = now_ns
    [explained] = explain(snapshot, AT_NIGHT).explanations
    assert ("selected" in explained) == bool(placed)
    assert explained["time"] == api_time(now_ns or 0)
    shown = "\n".join(explanation_text.text(explained))
    assert ("the files do not say when they were recorded" in shown) is (now_ns is None)
    assert simulate(snapshot, AT_NIGHT).summary.placed == placed
    [difference] = diff(snapshot, AT_NIGHT, BY_DAY).differences
    assert bool(difference.old.node) == bool(placed)


def test_the_time_of_a_recorded_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "cluster.kpsnap"
    assert write_snapshot(path, OBJECTS, Origin(recorded=api_time(NIGHT))) == []
    snapshot = Snapshot.load(path)
    assert snapshot.now_ns == NIGHT
    assert kpolicy.evaluate("now", snapshot=snapshot).value == "2026-11-27T22:30:00Z"
    assert kpolicy.evaluate("now", snapshot=snapshot, now_ns=NOON).value == "2026-11-27T12:00:00Z"


def test_without_a_time_there_is_no_now() -> None:
    evaluated = kpolicy.evaluate("now")
    assert evaluated.is_refused
    assert evaluated.findings[0].hint == "give a time (`--now`), or a snapshot that was recorded"


def test_times_that_are_none() -> None:
    for text in ("", "now", "2026-11-27", "2026-11-27T22:30:00"):
        with pytest.raises(ValueError, match=r".+"):
            time_of(text)
    assert time_of("2026-11-27T22:30:00.5+01:00") == NIGHT - 3_600_000_000_000 + 500_000_000
