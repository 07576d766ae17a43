"""`kpolicy test`: what it prints in each format, its exit codes, --update and --watch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kpolicy import cli
from tests.unit.offline.policy_tests.suites import HEAD, NODES, POLICY

TESTS = """\
tests:
  - name: holds
    pod: {priority: 5000}
    expect: {node: n1}
  - name: does not
    pod: {}
    expect:
      node: n2  # why
      scores: {n1: {ssd: 81}}
"""
TEXT = """\
suite.test.yaml
  ok    holds                                                             - ms
  FAIL  does not                                                          - ms
        expected node  n2
        got            n1
        expected scores.n1.ssd  81
        got                     80

        | default/pod: fits 2 of 2 nodes; n1 is the best
        |
        |   scores of 2 nodes, raw → weighted
        |     node  total       ssd
        |     n1      240  80 → 240  selected
        |     n2       60   20 → 60

coverage  policy.yaml  2/4 rules, 13/17 branches (76.5 %)
  policy.yaml:19:13  rack                  never reached
  policy.yaml:21:42  'rack' in pod.labels  never true
  policy.yaml:23:13  noisy                 never false

1 failed, 1 passed
"""
GITHUB = (
    "::error file=suite.test.yaml,line=16,col=13,endLine=16,endColumn=15,title=test::"
    "does not: expected node n2, got n1\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "suite.test.yaml").write_text(HEAD + "policies: [policy.yaml]\n" + NODES + TESTS)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(["test", *words])
    captured = capsys.readouterr()
    text = re.sub(r"[ 0-9.,]{8}[0-9] ms", "     - ms", captured.out)
    return code, text, captured.err


def test_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = printed(capsys)
    assert out == TEXT
    assert code == 1


def test_what_is_left_out_says_nothing_of_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = printed(capsys, "--run", "holds")
    assert (code, out.splitlines()[-1]) == (0, "1 passed, 1 not run")
    assert "coverage" not in out


def test_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = printed(capsys, "-o", "github")
    lines = out.splitlines(keepends=True)
    assert lines[0] == GITHUB
    assert all("title=KP503::" in line for line in lines[2:])
    assert (code, len(lines)) == (1, 5)


def test_junit(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["test", "--output", "junit=out.xml", "-o", "json"])
    root = ElementTree.parse("out.xml").getroot()
    assert (code, root.get("tests"), root.get("failures")) == (1, "2", "1")
    [holds, fails] = root.iter("testcase")
    assert (holds.get("name"), len(holds)) == ("holds", 0)
    assert fails[0].get("message") == "node: expected n2, got n1"
    run = json.loads(capsys.readouterr().out)
    assert (run["passed"], run["failed"], run["fine"]) == (1, 1, False)
    assert run["suites"][0]["tests"][1]["mismatches"][0]["got"] == "n1"
    assert run["coverage"][0]["branches"] == 17


def test_an_error_of_a_document_is_shown_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "suite.test.yaml").read_text()
    (folder / "suite.test.yaml").write_text(text.replace("node: n1", "nod: n1"))
    code, out, _ = printed(capsys)
    assert code == 1
    assert "        error[KP102]: unknown field `nod`" in out
    assert "did you mean `node`?" in out


def test_update_writes_and_runs_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "suite.test.yaml").read_text()
    code, out, err = printed(capsys, "--update")
    assert (code, out.splitlines()[-1]) == (0, "2 passed")
    assert err == "suite.test.yaml: 2 values written\n"
    after = before.replace("node: n2  # why", "node: n1  # why").replace("ssd: 81", "ssd: 80")
    assert (folder / "suite.test.yaml").read_text() == after


def test_update_leaves_ranges_and_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "suite.test.yaml"
    ranged = path.read_text().replace("ssd: 81", "ssd: {between: [81, 90]}")
    path.write_text(ranged)
    code, _, err = printed(capsys, "--update")
    assert code == 1
    assert err == (
        "suite.test.yaml: 1 value written\n"
        "1 expectation is left: a range, a pattern or an error is yours to change\n"
    )
    assert "ssd: {between: [81, 90]}" in path.read_text()


def test_a_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["test", "--update"])
    capsys.readouterr()
    assert printed(capsys, "--coverage-min", "76%")[0] == 0
    code, out, _ = printed(capsys, "--coverage-min", "77")
    assert code == 1
    assert "(76.5 %)  below 77 %" in out
    assert out.splitlines()[-1] == "2 passed; coverage below threshold"


def test_other_policies_and_params(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "other.yaml").write_text(POLICY.replace("80 : 20", "20 : 80"))
    code, out, _ = printed(capsys, "--policy", "other.yaml", "--param", "critical=9000")
    assert code == 1
    assert "FAIL  holds" in out
    assert "coverage  other.yaml" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.yaml"], "nothing.yaml cannot be read: No such file or directory"),
        (["--run", "zzz"], "no test has a name that contains `zzz`"),
        (["--run", "("], "argument --run: not a regular expression"),
        (["-j", "0"], "argument --jobs/-j: `0` is not a whole number of at least 1"),
        (["--coverage-min", "101"], "argument --coverage-min: from 0 to 100"),
        (["--param", "x"], "argument --param: write NAME=JSON"),
        (["-o", "xml"], "there is no format `xml`; one of text, json, jsonl, junit, github"),
    ],
)
def test_what_cannot_work(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = printed(capsys, *words)
    assert (code, out) == (2, "")
    assert message in err


def test_a_folder_without_tests(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "suite.test.yaml").unlink()
    code, _, err = printed(capsys)
    assert (code, err) == (2, "kpolicy: there is no test file (*.test.yaml) in .\n")


def test_watching_sees_policies_and_goes_on_after_what_cannot_work(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, text = folder / "policy.yaml", POLICY
    edits: Iterator[Callable[[], object]] = iter(
        [
            lambda: policy.write_text(text.replace("80 : 20", "81 : 20")),
            lambda: None,
            lambda: (folder / "suite.test.yaml").rename(folder / "gone"),
            lambda: (folder / "gone").rename(folder / "suite.test.yaml"),
        ]
    )

    def edit(_: float) -> None:
        next(edits, _interrupted)()

    monkeypatch.setattr("kpolicy.cli.verbs.test.time.sleep", edit)
    code, out, err = printed(capsys, "--watch")
    assert code == 130
    assert [line for line in out.splitlines() if "failed" in line] == ["1 failed, 1 passed"] * 3
    assert out.count("expected scores.n1.ssd  81") == 1
    assert err == "kpolicy: there is no test file (*.test.yaml) in .\n"


def _interrupted() -> None:
    raise KeyboardInterrupt


def test_help_shows_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    assert "test" in capsys.readouterr().out


def test_a_cross_check_compares_every_rule_with_cel_python(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = printed(capsys, "--run", "holds", "--cross-check")
    assert code == 0
    assert re.search(r"^cross-check  \d+ evaluations compared with cel-python, 0 known", out, re.M)
    policy, rack = (folder / "policy.yaml").read_text(), "'rack' in pod.labels"
    differing = policy.replace(rack, f"(string(true) == 'true' ? {rack} : !({rack}))")
    (folder / "policy.yaml").write_text(differing)
    code, out, _ = printed(capsys, "--run", "holds", "--cross-check", "-o", "json")
    assert code == 0
    known = json.loads(out)["crossCheck"]["known"][0]
    assert "`string(true)`: kpolicy gives `'true'`, cel-python `'True'`" in known
    monkeypatch.setattr("kpolicy.offline.answers.cel_python.KNOWN_DIFFERENCES", ())
    code, out, _ = printed(capsys, "--run", "holds", "--cross-check")
    assert code == 1
    assert "cel-python: `'True'`" in out
