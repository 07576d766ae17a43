"""What `kpolicy lint` reports: levels, and the file beside the policies."""

from __future__ import annotations

from pathlib import Path

import pytest

from kpolicy import cli

TEXT = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: a}
spec:
  profiles: [{schedulerName: kpolicy}]
  predicates:
    - {name: zone, expression: "node.labels['zone'] == 'a'"}
    - {name: pods, expression: "!node.pods.exists(p, p.priority < pod.priority)"}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.yaml").write_text(TEXT, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, list[str]]:
    code = cli.main(["lint", "a.yaml", "-o", "concise", *flags])
    return code, [line.split(" ")[1] for line in capsys.readouterr().out.splitlines()]


@pytest.mark.usefixtures("folder")
def test_levels_by_prefix(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(capsys) == (0, ["warning[KP301]", "warning[KP403]"])
    assert lint(capsys, "--level", "KP3=error") == (1, ["error[KP301]", "warning[KP403]"])
    levels = ("--level", "KP=off", "--level", "KP30=info")
    assert lint(capsys, *levels) == (0, ["info[KP301]"])
    assert lint(capsys, "--deny", "KP403") == (1, ["warning[KP301]", "error[KP403]"])
    assert lint(capsys, "--deny", "warnings") == (1, ["error[KP301]", "error[KP403]"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kpolicy.toml", '[lint]\nignore = ["KP403"]\n[lint.levels]\nKP301 = "error"\n'),
        (
            "pyproject.toml",
            '[tool.kpolicy.lint]\nignore = ["KP4"]\nlevels = {KP301 = "error"}\n',
        ),
    ],
)
def test_a_file_says_it_for_a_folder_and_flags_come_on_top(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str,
) -> None:
    (folder / name).write_text(text)
    assert lint(capsys) == (1, ["error[KP301]"])
    assert lint(capsys, "--ignore", "KP3") == (0, ["warning[KP403]"])
    assert lint(capsys, "--level", "KP301=info") == (0, ["info[KP301]"])
    assert lint(capsys, "--isolated") == (0, ["warning[KP301]", "warning[KP403]"])
    below = folder / "below"
    below.mkdir()
    (below / "a.yaml").write_text(TEXT)
    monkeypatch.chdir(below)
    assert lint(capsys) == (1, ["error[KP301]"])


@pytest.mark.parametrize(
    "text",
    [
        "[lint]\nselekt = []\n",
        "[lint]\nselect = 'KP3'\n",
        "[lint]\nselect = ['XY']\n",
        "[lint.levels]\nKP3 = 'loud'\n",
        "lint = 5\n",
        "[lint\n",
    ],
)
def test_a_file_that_cannot_be_meant_is_two(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (folder / "kpolicy.toml").write_text(text)
    assert lint(capsys)[0] == 2


def test_a_comment_silences_a_block(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = TEXT.replace(
        "{name: zone, expression: \"node.labels['zone'] == 'a'\"}",
        "name: zone\n      expression: |  # kpolicy: ignore[KP301] by our provider\n"
        "        node.ready\n          && node.labels['zone'] == 'a'",
    )
    (folder / "a.yaml").write_text(text)
    assert lint(capsys) == (0, ["warning[KP403]"])
