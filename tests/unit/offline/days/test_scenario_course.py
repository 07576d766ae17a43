"""What a scenario makes of its snapshot and its trace."""

from __future__ import annotations

import json
from pathlib import Path

from kpolicy.offline.days.course import NodeIs, PodComes
from kpolicy.offline.days.virtual_days import run_days
from kpolicy.offline.snapshots.cluster_snapshot import default_program
from kpolicy.testing import node, pod
from tests.unit.offline.days.scenarios import course


def test_a_trace_has_a_pod_in_each_row(tmp_path: Path) -> None:
    rows = "time,template,cpu,nvidia.com/gpu,duration\n90,,500m,1,1h\n5s,p,,,\n\n2m,p,2,,60\n"
    (tmp_path / "trace.csv").write_text(rows)
    found = course(tmp_path, trace="trace.csv")
    assert found.resources == ("cpu", "memory", "nvidia.com/gpu")
    pods = [each for each in found.occurrences(0, "kpolicy") if isinstance(each, PodComes)]
    second = 1_000_000_000
    assert [each.at_ns - found.span.begins_ns for each in pods] == [
        5 * second,
        90 * second,
        120 * second,
    ]
    assert [each.lifetime_ns for each in pods] == [1_800 * second, 3_600 * second, 60 * second]
    amounts = [dict(each.texts.amounts) for each in pods]
    assert amounts == [{"cpu": 1_000}, {"cpu": 500, "nvidia.com/gpu": 1_000}, {"cpu": 2_000}]
    assert len({each.uid for each in pods}) == 3


def test_days_begin_in_a_snapshot(tmp_path: Path) -> None:
    items = [
        node("old", cpu="2"),
        pod("there", cpu="1", node_name="old"),
        pod("waits", cpu="1"),
        pod("too-large", cpu="1"),
    ]
    body = {"apiVersion": "v1", "kind": "List", "items": items}
    (tmp_path / "cluster.json").write_text(json.dumps(body))
    begun = course(tmp_path, snapshot="cluster.json", nodes=[], duration="1h")
    assert isinstance(next(begun.occurrences(0, "")), NodeIs)
    result = run_days(begun, default_program())
    assert (result.counts.placed, result.pending) == (1, 1)
    assert result.samples[-1].resources["cpu"].allocation == 1.0
    assert result.samples[-1].running == 2
