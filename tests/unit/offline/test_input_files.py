"""Files of a snapshot: which are read, and what a broken one gives."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from kpolicy.offline import input_files
from kpolicy.offline.input_files import File, read_files
from kpolicy.offline.snapshots.snapshot_problem import (
    CUT_SHORT,
    NO_FILES,
    NOT_A_SNAPSHOT,
    NOT_READABLE,
    TOO_LARGE,
    Problem,
)


def read(path: Path) -> tuple[dict[str, bytes], list[Problem]]:
    found = list(read_files(path))
    texts = {
        Path(finding.name).name: finding.text for finding in found if isinstance(finding, File)
    }
    return texts, [finding for finding in found if isinstance(finding, Problem)]


def test_a_folder_gives_its_files_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.yaml", "a.json", "deep/c.yml", "notes.txt", ".hidden.json", "d.json.tar"):
        (tmp_path / name).write_text(name)
    (tmp_path / "e.json.gz").write_bytes(gzip.compress(b"packed"))
    texts, problems = read(tmp_path)
    assert list(texts.items()) == [
        ("a.json", b"a.json"),
        ("b.yaml", b"b.yaml"),
        ("c.yml", b"deep/c.yml"),
        ("e.json.gz", b"packed"),
    ]
    assert problems == []


def test_gzip_is_known_by_its_bytes_and_may_have_several_parts(tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(gzip.compress(b"one ") + gzip.compress(b"two"))
    assert read(path) == ({"dump": b"one two"}, [])


@pytest.mark.parametrize("cut", [30, 200])
def test_what_a_broken_gzip_gave_until_it_broke_is_used(tmp_path: Path, cut: int) -> None:
    plain = b"".join(b"%d " % (number * number) for number in range(3000))
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(plain)[:-cut])
    texts, [problem] = read(path)
    assert plain.startswith(texts["a.json.gz"])
    assert len(texts["a.json.gz"]) > len(plain) // 2
    assert problem.code == CUT_SHORT
    path.write_bytes(gzip.compress(plain)[:100] + b"\xff" * 100)
    _, [problem] = read(path)
    assert problem.code == CUT_SHORT


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"text")))
    assert list(read_files("-")) == [File("<stdin>", b"text")]


def test_what_cannot_be_read_is_a_problem_of_the_whole(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "prod.kpsnap").write_bytes(b"\0")
    expected = {"missing.json": NOT_READABLE, "empty": NO_FILES, "prod.kpsnap": NOT_A_SNAPSHOT}
    for name, code in expected.items():
        texts, [problem] = read(tmp_path / name)
        assert (texts, problem.code, problem.source) == ({}, code, str(tmp_path / name))
        assert problem.is_of_whole_source
    assert "No such file" in str(next(iter(read_files(tmp_path / "missing.json"))))
    assert "kpolicy snapshot record" in str(next(iter(read_files(tmp_path / "prod.kpsnap"))))


def test_files_and_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "FILES_MAX", 2)
    monkeypatch.setattr(input_files, "FILE_BYTES_MAX", 100)
    for name in "abc":
        (tmp_path / f"{name}.json").write_bytes(gzip.compress(b"x" * 1000))
    texts, problems = read(tmp_path)
    assert {name: len(text) for name, text in texts.items()} == {"a.json": 100, "b.json": 100}
    assert [problem.code for problem in problems] == [TOO_LARGE] * 3
