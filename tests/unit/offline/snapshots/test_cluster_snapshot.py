"""Snapshots: every form gives the same cluster, and problems are values."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from kpolicy import PolicyRefusedError, Snapshot
from kpolicy.offline.snapshots.snapshot_problem import (
    CUT_SHORT,
    NOT_A_SNAPSHOT,
    NOT_READABLE,
    NOT_YAML,
)
from kpolicy.testing import node, pod
from tests.unit.offline.worlds import Object, cluster, listed, program


def as_list(folder: Path, items: list[Object]) -> list[Path]:
    (folder / "all.json").write_text(listed(items))
    return [folder / "all.json"]


def as_packed(folder: Path, items: list[Object]) -> list[Path]:
    (folder / "all.json.gz").write_bytes(gzip.compress(listed(items).encode()))
    return [folder / "all.json.gz"]


def as_yaml(folder: Path, items: list[Object]) -> list[Path]:
    (folder / "all.yaml").write_text(yaml.safe_dump_all(items, explicit_start=True))
    return [folder / "all.yaml"]


def as_flow_yaml(folder: Path, items: list[Object]) -> list[Path]:
    (folder / "all.yaml").write_text(
        yaml.safe_dump({"items": items, "kind": "List"}, default_flow_style=True)
    )
    return [folder / "all.yaml"]


def as_json_called_yaml(folder: Path, items: list[Object]) -> list[Path]:
    (folder / "all.yaml").write_text("\n".join(map(json.dumps, items[:1])))
    (folder / "rest.json").write_text("\ufeff" + "\n".join(map(json.dumps, items[1:])))
    return [folder / "all.yaml", folder / "rest.json"]


def as_folder(folder: Path, items: list[Object]) -> list[Path]:
    for position, item in enumerate(items):
        (folder / f"{position}.json").write_text(json.dumps(item))
    return [folder]


FORMS = [as_list, as_packed, as_yaml, as_flow_yaml, as_json_called_yaml, as_folder]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_cluster(
    form: Callable[[Path, list[Object]], list[Path]], tmp_path: Path
) -> None:
    want = Snapshot.of(cluster()).engine(program())
    snapshot = Snapshot.load(form(tmp_path, cluster()))
    engine = snapshot.engine(program())
    assert snapshot.problems == ()
    assert engine.pending() == want.pending()
    assert engine.explain(b"{}", 0) == want.explain(b"{}", 0)
    assert len(engine.pending()) == 3
    assert len(list(snapshot.objects())) == len(cluster())


def test_a_text_that_is_cut_short_costs_what_comes_after(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    text = listed(cluster())
    path.write_text(text[: text.index('"giant"') + 100])
    snapshot = Snapshot.load([path])
    engine = snapshot.engine(program())
    assert [pod.name for pod in engine.pending()] == ["fits"]
    [problem] = snapshot.problems
    assert (problem.code, problem.source) == (CUT_SHORT, str(path))
    assert problem.object == "Pod default/giant (items[6])"
    assert "cut short or broken at line" in problem.message


def test_an_object_that_cannot_be_read_costs_only_itself() -> None:
    bad = pod("bad")
    bad["spec"]["nodeName"] = 5
    snapshot = Snapshot.of([bad, node("n"), {"kind": "Pod", "metadata": {}}, pod("good")], "a.json")
    first, second = snapshot.problems
    assert (first.code, first.source, first.object) == ("BadField", "a.json", "Pod default/bad")
    assert first.message.startswith("spec.nodeName: ")
    assert (second.code, second.object) == ("NoName", "document 0 items[2]")
    assert [pod.name for pod in snapshot.engine(program()).pending()] == ["good"]
    assert snapshot.problems == (first, second)


def test_problems_of_files_stand_beside_what_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(listed(cluster()))
    (tmp_path / "b.yaml").write_text("a: [")
    (tmp_path / "c.yaml").write_text("just words\n")
    snapshot = Snapshot.load([tmp_path / "none.json", tmp_path])
    assert [problem.code for problem in snapshot.problems] == [
        NOT_READABLE,
        NOT_YAML,
        NOT_A_SNAPSHOT,
    ]
    assert snapshot.file_problems == snapshot.problems
    assert len(snapshot.engine(program()).pending()) == 3


def test_files_are_reported_as_they_are_read(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.json").write_text("{}")
    reports: list[tuple[int, int]] = []
    Snapshot.load(
        [tmp_path / "a.json", tmp_path / "b.json"], progress=lambda *at: reports.append(at)
    )
    assert reports == [(1, 2), (2, 2)]


def test_the_seed_decides_only_ties() -> None:
    items = [node(f"n{number}", cpu="4") for number in range(20)] + [pod("p", cpu="1")]
    uids = ["default/p"]
    spread = replace(
        program(), bytes=program().bytes.replace(b'"tieBreak":"name"', b'"tieBreak":"random"')
    )

    def placed(seed: int) -> str:
        return Snapshot.of(items).engine(spread, seed=seed).schedule(uids, 0).decisions[0].node

    assert placed(3) == placed(3)
    assert len({placed(seed) for seed in range(20)}) > 1


def test_a_program_that_the_engine_does_not_take_is_reported_with_its_reasons() -> None:
    strange = replace(program(), bytes=program().bytes.replace(b"TaintToleration", b"Telepathy"))
    with pytest.raises(PolicyRefusedError, match="Telepathy") as caught:
        Snapshot.of(cluster()).engine(strange)
    assert caught.value.refusals[0].place.startswith("$.profiles")


@pytest.mark.parametrize(
    "text",
    [b"\xff\xfe\x00", b"\0" * 1000, b"[" * 50_000, b'{"a": ' * 50_000, b"a: b: c", b"\x1f\x8b"],
)
@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_arbitrary_bytes_are_problems_and_never_exceptions(
    tmp_path: Path, name: str, text: bytes
) -> None:
    (tmp_path / name).write_bytes(text)
    snapshot = Snapshot.load(tmp_path / name)
    assert snapshot.problems
    assert snapshot.inventory.entries == {}
    assert snapshot.engine(program()).pending() == []
