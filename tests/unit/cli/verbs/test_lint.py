"""`kpolicy lint`: formats, choices, exit codes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kpolicy import cli

HEAD = "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: a}\n"
SOUND = HEAD + "spec: {profiles: [{schedulerName: kpolicy}]}\n"
WARNED = SOUND.replace("{name: a}", "{name: a, labels: {country: no}}")
BROKEN = Path(__file__).parents[3] / "spec" / "lint" / "corpus" / "snapshot" / "broken.yaml"

FULL = """\
error[KP104]: two priorities are called `never`
  --> broken.yaml:26:13
   |
23 |     - name: never
   |             ----- first here
26 |     - name: never
   |             ^^^^^

"""
OPERANDS = """\
error[KP204]: `>` needs two numbers or two strings; left is int (milli-cpu), right is string
  --> broken.yaml:12:38
   |
12 |       expression: pod.request('cpu') > '500m'
   |                   ------------------ ^ ------ string
   |                   int (milli-cpu)
   = hint: write `cpu('500m')` (fixable, unsafe)

"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "broken.yaml").write_text(BROKEN.read_text("utf-8"), "utf-8")
    (tmp_path / "sound.yaml").write_text(SOUND, "utf-8")
    (tmp_path / "warned.yaml").write_text(WARNED, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
class TestLint:
    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            (["sound.yaml"], 0),
            (["warned.yaml"], 0),
            (["warned.yaml", "--error-on-warning"], 1),
            (["warned.yaml", "--error-on-warning", "--ignore", "KP1"], 0),
            (["broken.yaml"], 1),
            (["broken.yaml", "--exit-zero"], 0),
            (["broken.yaml", "--select", "KP6"], 0),
            (["broken.yaml", "--select", "KP9"], 2),
            (["warned.yaml", "--deny", "warnings"], 1),
            (["warned.yaml", "--deny", "KP106"], 1),
            (["warned.yaml", "--deny", "KP3"], 0),
            (["warned.yaml", "--deny", "warnings", "--level", "KP106=info"], 0),
            (["warned.yaml", "--level", "KP=error", "--level", "KP106=warning"], 0),
            (["warned.yaml", "--level", "KP=error"], 1),
            (["warned.yaml", "--level", "KP106"], 2),
            (["warned.yaml", "--level", "KP106=loud"], 2),
            (["warned.yaml", "--unsafe-fixes"], 2),
            (["broken.yaml", "--level", "KP=info"], 1),
            (["nothing.yaml"], 2),
            (["sound.yaml", "--output", "nope"], 2),
        ],
    )
    def test_exit_codes(self, arguments: list[str], code: int) -> None:
        assert cli.main(["lint", *arguments]) == code

    def test_a_sound_file_says_nothing_on_stdout(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["lint", "sound.yaml"]) == 0
        assert capsys.readouterr() == ("", "no findings in 1 file\n")

    def test_snippets_have_carets_and_second_places(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(["lint", "broken.yaml"]) == 1
        out, err = capsys.readouterr()
        assert FULL in out
        assert OPERANDS in out
        assert "\x1b" not in out
        assert "findings: " in err

    def test_concise_is_a_line_each(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["lint", "broken.yaml", "--output", "concise", "--select", "KP102"]) == 1
        assert capsys.readouterr().out == (
            "broken.yaml:21:7: error[KP102] unknown field `wieght` in a priority\n"
        )

    def test_json_has_every_place(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["lint", "broken.yaml", "--output", "json", "--select", "KP103"]) == 1
        out, err = capsys.readouterr()
        assert json.loads(out)["findings"] == [
            {
                "code": "KP103",
                "level": "error",
                "message": "there is no built-in predicate `NodeResourceFit`",
                "hint": "did you mean `NodeResourcesFit`?",
                "file": "broken.yaml",
                "line": 8,
                "column": 16,
                "endLine": 8,
                "endColumn": 31,
                "field": "spec.predicates[0].builtin",
                "fix": {
                    "safe": True,
                    "edits": [
                        {
                            "line": 8,
                            "column": 16,
                            "endLine": 8,
                            "endColumn": 31,
                            "text": "NodeResourcesFit",
                        }
                    ],
                },
            }
        ]
        assert err == ""

    def test_json_of_a_sound_file_is_an_empty_list(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(["lint", "sound.yaml", "--output", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["findings"] == []

    def test_several_formats_in_one_run(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        outputs = ["--output", "jsonl", "--output", "sarif=o.sarif", "--output", "junit=o.xml"]
        assert cli.main(["lint", "broken.yaml", "sound.yaml", *outputs]) == 1
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert len(lines) >= 7
        run = json.loads((folder / "o.sarif").read_text())["runs"][0]
        assert run["columnKind"] == "unicodeCodePoints"
        assert [result["ruleId"] for result in run["results"]] == [line["code"] for line in lines]
        for result in run["results"]:
            assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        suite = ElementTree.fromstring((folder / "o.xml").read_text())
        assert (suite.get("tests"), suite.get("failures")) == ("2", "1")

    def test_github_annotations_are_escaped(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["lint", "broken.yaml", "--output", "github", "--select", "KP104"]) == 1
        assert capsys.readouterr().out == (
            "::error file=broken.yaml,line=26,col=13,endLine=26,endColumn=18,title=KP104::"
            "two priorities are called `never`\n"
        )

    def test_other_arguments_can_be_extended(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        child = SOUND.replace("name: a}", "name: b}").replace("spec: {", "spec: {base: a, ")
        (folder / "child.yaml").write_text(child)
        assert cli.main(["lint", "child.yaml", "--output", "concise"]) == 1
        assert "KP120" in capsys.readouterr().out
        assert cli.main(["lint", "child.yaml", "sound.yaml"]) == 0

    def test_a_folder_is_checked_as_one_and_other_kinds_are_passed_over(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        many = folder / "many"
        many.mkdir()
        (many / "a.yaml").write_text(SOUND)
        (many / "b.yaml").write_text(SOUND)
        (many / "deployment.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\n")
        assert cli.main(["lint", "many", "--output", "concise"]) == 1
        assert capsys.readouterr().out.startswith("many/b.yaml:3:18: error[KP104]")

    def test_an_empty_folder_is_no_policy(self, folder: Path) -> None:
        (folder / "empty").mkdir()
        assert cli.main(["lint", "empty"]) == 2

    def test_stdin_is_read_when_asked(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"kind: [")))
        assert cli.main(["lint", "-", "--output", "concise"]) == 1
        assert capsys.readouterr().out.startswith("<stdin>:1:")

    def test_bytes_that_are_no_text_are_shown_all_the_same(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "bytes.yaml").write_bytes(b"a: \xff\n")
        assert cli.main(["lint", "bytes.yaml"]) == 1
        assert "byte 0xff is not UTF-8" in capsys.readouterr().out

    def test_a_legacy_file_can_be_read_as_a_release_did(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "scheduler.json").write_text('{"kind": "Policy", "priorities": []}')
        assert cli.main(["lint", "scheduler.json", "--release", "1.9", "-o", "concise"]) == 0
        assert "as up to release 1.9" in capsys.readouterr().out
