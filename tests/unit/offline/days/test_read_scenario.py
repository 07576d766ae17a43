"""What is wrong with a scenario is said with a code, a place and a hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kpolicy.diagnostics import Diagnostic
from kpolicy.offline.days.read_scenario import with_values
from kpolicy.offline.days.scenario_course import course_of, read_inputs
from kpolicy.offline.days.scenario_model import Scenario
from tests.unit.offline.days.scenarios import NODE, POD, document, read

COMES = [{"pods": "p", "perHour": 1}]


@pytest.mark.parametrize(
    ("fields", "code", "field", "message"),
    [
        ({"duration": "soon"}, "KP113", "duration", "`soon` is not a duration"),
        ({"duration": "0s"}, "KP113", "duration", "above 0"),
        ({"nodes": []}, "KP511", "nodes", "there are no nodes"),
        ({"nodes": [{**NODE, "count": 0}]}, "KP511", "nodes", "there are no nodes"),
        ({"arrivals": []}, "KP511", "kind", "no pod comes"),
        ({"arrivals": [{"pods": "q", "perHour": 1}]}, "KP510", "arrivals[0].pods", "no kind of"),
        ({"arrivals": [{"pods": "p", "perHour": 1e7}]}, "KP109", "arrivals", "pods would come"),
        ({"arrivals": [{"pods": "p", "perHour": -1}]}, "KP113", "arrivals[0].perHour", "at least"),
        ({"pods": [POD, POD]}, "KP104", "pods[1].name", "two of `pods`"),
        ({"pods": [{**POD, "from": "web"}]}, "KP510", "pods[0].from", "no kind of pods `web`"),
        ({"changes": [{"at": "1h"}]}, "KP114", "changes[0]", "give one of"),
        ({"changes": [{"at": "9h", "drain": "n"}]}, "KP113", "changes[0].at", "after the end"),
        ({"changes": [{"at": "1h", "add": "m"}]}, "KP510", "changes[0].add", "no group of nodes"),
        ({"ndoes": []}, "KP102", "ndoes", "unknown field"),
        ({"pods": [{**POD, "lifetime": {}}]}, "KP114", "pods[0].lifetime", "give `exponential`"),
        ({"sampleEvery": "1ms", "duration": "7d"}, "KP109", "sampleEvery", "samples"),
    ],
)
def test_mistakes(fields: dict[str, Any], code: str, field: str, message: str) -> None:
    found = read(document(**{"arrivals": COMES, **fields}))
    assert found.file is None
    first = found.diagnostics[0]
    assert (first.code, first.field) == (code, field)
    assert message in first.message
    assert first.place is not None


def test_a_file_without_a_scenario() -> None:
    assert [each.code for each in read("kind: Pod\n").diagnostics] == ["KP101"]
    assert read("a: [").file is None


@pytest.mark.parametrize(
    ("values", "code", "message"),
    [
        ({"nodes.m.count": "2"}, "KP510", "nodes.m.count=2: there is no `m`"),
        ({"nodse.n.count": "2"}, "KP510", "the scenario has no `nodse`"),
        ({"nodes.n.count": "x"}, "KP113", "nodes.n.count=x: `count` must be a whole number"),
        ({"nodes.n.count": "0"}, "KP511", "there are no nodes"),
        ({"arrivals.p.perhour": "2"}, "KP102", "unknown field `perhour`"),
    ],
)
def test_values_that_cannot_be_set(values: dict[str, str], code: str, message: str) -> None:
    file = read(document(arrivals=COMES)).file
    assert file is not None
    found = with_values(file, values)
    assert isinstance(found, Diagnostic)
    assert found.code == code
    assert message in found.message


def test_values_are_set_by_name_and_by_number() -> None:
    file = read(document(arrivals=COMES)).file
    assert file is not None
    values = {"nodes.n.count": "7", "arrivals.0.perHour": "2.5", "pods.p.lifetime": "1h"}
    found = with_values(file, values)
    assert isinstance(found, Scenario)
    assert found.nodes[0].count == 7
    assert found.arrivals[0].per_hour == 2.5
    assert found.pods[0].lifetime == "1h"


def test_nodes_that_changes_name_are_there_at_some_time(tmp_path: Path) -> None:
    changes = [{"at": "1h", "add": "n"}, {"at": "2h", "drain": "n-3"}]
    file = read(document(arrivals=COMES, changes=changes), tmp_path).file
    assert file is not None
    inputs = read_inputs(file)
    assert not isinstance(inputs, Diagnostic)
    found = course_of(file, file.model, inputs)
    assert isinstance(found, Diagnostic)
    assert (found.code, found.field) == ("KP510", "changes[1].drain")
    assert "`n-3`" in found.message


def test_a_snapshot_without_nodes(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text('{"kind": "List", "apiVersion": "v1", "items": []}')
    file = read(document(snapshot="empty.json", nodes=[]), tmp_path).file
    assert file is not None
    inputs = read_inputs(file)
    assert not isinstance(inputs, Diagnostic)
    found = course_of(file, file.model, inputs)
    assert isinstance(found, Diagnostic)
    assert (found.code, found.field) == ("KP511", "snapshot")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("template,cpu\np,1\n", 1, "no column `time`"),
        ("time,cpus\n1,1\n", 1, "no column `cpus`"),
        ("time,cpu\n1,1\nsoon,1\n", 3, "`time` is not"),
        ("time,cpu\n1,1,1\n", 2, "3 cells"),
        ("time,template\n1,q\n", 2, "no kind of pods `q`"),
        ("time,cpu\n1,much\n", 2, "`cpu` is `much`"),
        ("time,duration\n1,long\n", 2, "`duration` is `long`"),
    ],
)
def test_mistakes_of_a_trace(tmp_path: Path, text: str, line: int, message: str) -> None:
    (tmp_path / "trace.csv").write_text(text)
    file = read(document(trace="trace.csv"), tmp_path).file
    assert file is not None
    found = read_inputs(file)
    assert isinstance(found, Diagnostic)
    assert found.code == "KP512"
    assert message in found.message
    assert found.place is not None
    assert (found.place.file, found.place.line) == (str(tmp_path / "trace.csv"), line)


@pytest.mark.parametrize("fields", [{"trace": "no.csv"}, {"snapshot": "no.kpsnap"}])
def test_files_that_are_not_there(tmp_path: Path, fields: dict[str, str]) -> None:
    file = read(document(**fields), tmp_path).file
    assert file is not None
    found = read_inputs(file)
    assert isinstance(found, Diagnostic)
    assert found.code == "KP512"
    assert found.place is not None
    assert found.field in fields
