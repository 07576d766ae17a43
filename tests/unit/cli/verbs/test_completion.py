"""`kpolicy completion`: in a real bash, and the other shells' scripts in form."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kpolicy.cli import VERBS, main
from kpolicy.cli.verbs.completion import command_tree
from kpolicy.policy.codes.registry import pages

Capture = pytest.CaptureFixture[str]
# As the Makefile, this needs it.
BASH = shutil.which("bash") or "bash"


def script(capsys: Capture, shell: str) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def completed(folder: Path, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    asked = " ".join(f"'{word}'" for word in words)
    run = (
        f"source {folder}/completion.bash; COMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}; "
        '_kpolicy; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", run],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return sorted(done.stdout.split())


def test_bash(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "completion.bash").write_text(script(capsys, "bash"))
    (tmp_path / "policy.yaml").touch()
    verbs = sorted(VERBS)
    assert completed(tmp_path, "kpolicy", "") == verbs
    assert completed(tmp_path, "kpolicy", "sch") == ["schema"]
    assert completed(tmp_path, "kpolicy", "--v") == ["--version"]
    assert completed(tmp_path, "kpolicy", "explain", "--to") == ["--top"]
    assert completed(tmp_path, "kpolicy", "explain", "--output", "") == ["json", "jsonl", "table"]
    assert completed(tmp_path, "kpolicy", "explain", "--output", "=", "j") == ["json", "jsonl"]
    assert completed(tmp_path, "kpolicy", "explain", "--seed", "") == []
    assert completed(tmp_path, "kpolicy", "explain", "-s", "pol") == ["policy.yaml"]
    assert completed(tmp_path, "kpolicy", "lint", "pol") == ["policy.yaml"]
    assert completed(tmp_path, "kpolicy", "lint", "--exit") == ["--exit-zero"]
    assert completed(tmp_path, "kpolicy", "rule", "KP20") == [
        code for code in pages() if code.startswith("KP20")
    ]
    assert "info" in completed(tmp_path, "kpolicy", "snapshot", "")
    assert completed(tmp_path, "kpolicy", "snapshot", "info", "--out") == ["--output"]
    assert completed(tmp_path, "kpolicy", "completion", "") == ["bash", "fish", "zsh"]


def test_every_verb_and_every_long_flag_is_in_every_script(capsys: Capture) -> None:
    commands = [command for command in command_tree().walk() if command.words]
    assert {command.words[0] for command in commands} == set(VERBS)
    flags = {name for command in commands for flag in command.flags for name in flag.names}
    assert len(flags) > 20
    for shell, spelled in (("bash", ""), ("zsh", ""), ("fish", "-l ")):
        text = script(capsys, shell)
        assert [command.words for command in commands if command.words[-1] not in text] == []
        left = [name for name in flags if name.startswith("--")]
        wanted = [f"{spelled}{name[2:]}" if spelled else name for name in left]
        assert [name for name in wanted if name not in text] == []


def test_an_unknown_shell_is_refused() -> None:
    assert main(["completion", "powershell"]) == 2
