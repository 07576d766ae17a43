"""`kpolicy init`: what it writes passes its own checks, and nothing that is there is replaced."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kpolicy import cli
from kpolicy.policy.compile import shipped_names

FILES = (
    "policies/ours.yaml",
    "policies/ours.test.yaml",
    "kpolicy.toml",
    ".github/workflows/kpolicy.yaml",
    ".pre-commit-config.yaml",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return tmp_path


def commands(file: Path) -> list[str]:
    """The kpolicy commands of a CI file or of hooks."""
    text = file.read_text()
    yaml.safe_load(text)
    parts = [line.partition("kpolicy ")[2] for line in text.splitlines() if "kpolicy " in line]
    return [part for part in parts if part.split()[0] in ("fmt", "lint", "test")]


@pytest.mark.parametrize("base", shipped_names())
def test_what_is_written_passes_the_checks_of_its_own_ci(
    base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["init", "--name", "ours", "--base", base]) == 0
    assert all(Path(name).is_file() for name in FILES)
    checks = commands(Path(FILES[3])) + commands(Path(FILES[4]))
    assert len(checks) >= 6
    for command in checks:
        assert cli.main(command.split()) == 0, (command, capsys.readouterr())
    assert "100.0 %" in capsys.readouterr().out


def test_gitlab_reads_the_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["init", "here", "--ci", "gitlab", "--no-pre-commit"]) == 0
    assert not Path("here/.pre-commit-config.yaml").exists()
    os.chdir("here")
    assert [cli.main(each.split()) for each in commands(Path(".gitlab-ci.yml"))] == [0, 0, 0]
    assert Path("lint.xml").is_file()
    assert Path("tests.xml").is_file()
    assert "next: kpolicy lint here/policies" in capsys.readouterr().err


def test_a_file_that_is_there_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    Path("kpolicy.toml").write_text("[lint]\n")
    assert cli.main(["init"]) == 0
    assert Path("kpolicy.toml").read_text() == "[lint]\n"
    assert "kept kpolicy.toml, which was there already" in capsys.readouterr().err
    assert cli.main(["init", "--force"]) == 0
    assert "deny" in Path("kpolicy.toml").read_text()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--base", "gpu-pool"], "did you mean `gpu-pools`?"),
        (["--name", "a/b"], "`a/b` is not a name"),
        (["--scheduler-name", "a b"], "`a b` is not a name"),
    ],
)
def test_a_wrong_answer_is_refused_before_anything_is_written(
    flags: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["init", *flags]) == 2
    assert message in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_on_a_terminal_it_asks(folder: Path) -> None:
    ours, theirs = pty.openpty()
    # An answer that cannot be used is asked for again.
    os.write(ours, b"my own\nmine\nteam-scheduler\nbin-packin\nbin-packing\nnone\nno\n")
    done = subprocess.run(
        [sys.executable, "-m", "kpolicy", "init"],
        stdin=theirs,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stderr.count("name of the policy [first-policy]: ") == 2
    assert "`my own` is not a name" in done.stderr
    assert "did you mean `bin-packing`?" in done.stderr
    written = yaml.safe_load((folder / "policies" / "mine.yaml").read_text())
    assert written["spec"]["base"] == "bin-packing"
    assert written["spec"]["profiles"] == [{"schedulerName": "team-scheduler"}]
    assert sorted(path.name for path in folder.iterdir()) == ["kpolicy.toml", "policies"]
