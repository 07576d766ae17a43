"""`kpolicy fmt`: files in place, --check, --diff, standard input."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kpolicy.cli import main

Capture = pytest.CaptureFixture[str]
HERE = Path(__file__).parents[2] / "policy/format"
UNTIDY = (HERE / "untidy.yaml").read_text()
TIDY = (HERE / "tidy.yaml").read_text()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p").mkdir()
    (tmp_path / "p/untidy.yaml").write_text(UNTIDY)
    (tmp_path / "p/tidy.yaml").write_text(TIDY)
    (tmp_path / "p/other.json").write_text('{"a":1}')
    return tmp_path


def test_files_are_written_in_place(folder: Path, capsys: Capture) -> None:
    (folder / "p/untidy.yaml").chmod(0o600)
    (folder / "link.yaml").symlink_to(folder / "p/untidy.yaml")
    assert main(["fmt", "link.yaml"]) == 0
    assert (folder / "link.yaml").is_symlink()
    assert (folder / "p/untidy.yaml").read_text() == TIDY
    assert (folder / "p/untidy.yaml").stat().st_mode & 0o777 == 0o600
    assert main(["fmt", "p"]) == 0
    assert "3 files: 0 formatted, 3 unchanged" in capsys.readouterr().err
    assert sorted(path.name for path in (folder / "p").iterdir()) == [
        "other.json",
        "tidy.yaml",
        "untidy.yaml",
    ]


def test_check_lists_and_writes_nothing(folder: Path, capsys: Capture) -> None:
    assert main(["fmt", "--check", "p"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "p/untidy.yaml\n"
    assert "1 would change, 2 unchanged" in captured.err
    assert (folder / "p/untidy.yaml").read_text() == UNTIDY
    assert main(["fmt", "--check", "p/tidy.yaml"]) == 0


def test_diff_shows_and_writes_nothing(folder: Path, capsys: Capture) -> None:
    assert main(["fmt", "--diff", "p"]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("--- p/untidy.yaml\n+++ p/untidy.yaml (formatted)\n")
    assert "-apiVersion:   kpolicy.dev/v1alpha1\n" in shown
    assert "+apiVersion: kpolicy.dev/v1alpha1\n" in shown
    assert (folder / "p/untidy.yaml").read_text() == UNTIDY


def test_standard_input_goes_to_standard_output(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stdin:
        @staticmethod
        def isatty() -> bool:
            return False

        buffer = io.BytesIO(UNTIDY.encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    assert main(["fmt"]) == 0
    assert capsys.readouterr().out == TIDY


def test_what_cannot_be_read_is_reported_and_kept(folder: Path, capsys: Capture) -> None:
    broken = "apiVersion: kpolicy.dev/v1alpha1\nkind: [\n"
    (folder / "p/broken.yaml").write_text(broken)
    assert main(["fmt", "p"]) == 1
    printed = capsys.readouterr().err
    assert "error[KP101]" in printed
    assert "4 files: 1 formatted, 2 unchanged, 1 not read" in printed
    assert (folder / "p/broken.yaml").read_text() == broken
    assert main(["fmt", "nowhere.yaml"]) == 2
