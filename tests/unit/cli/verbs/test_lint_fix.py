"""`kpolicy lint --fix`: what is corrected, what is left as it was, and that it ends."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from kpolicy import cli
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.format.fixes import fixed
from kpolicy.policy.yaml.source import Source

CORPUS = Path(__file__).parents[3] / "spec" / "lint" / "corpus"

BEFORE = """\
# The policy of the batch team.
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata:
  name: batch   # as in the runbook
  labels: {country: no, "shift": 22:30}
spec:
  order: 012
  profiles: [{schedulerName: kpolicy}]
  predicates:
    - builtin: PodFitsResources      # since 2016
    - "builtin": 'TaintTolerations'
    # kpolicy: ignore[KP404]
    - name: ready
      expression: node.ready         # kpolicy: ignore[KP301] every node has it
  priorities:
    - name: spare
      wieght: 3
      expression: "label(node, 'disk') == 'ssd' ? 100 : 0"
"""
AFTER = """\
# The policy of the batch team.
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata:
  name: batch   # as in the runbook
  labels: {country: "no", "shift": "22:30"}
spec:
  base: none
  order: 12
  profiles: [{schedulerName: kpolicy}]
  predicates:
    - builtin: NodeResourcesFit      # since 2016
    - "builtin": 'TaintToleration'
    - name: ready
      expression: node.ready
  priorities:
    - name: spare
      weight: 3
      expression: "label(node, 'disk') == 'ssd' ? 100 : 0"
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "batch.yaml"
    path.write_text(BEFORE, "utf-8")
    return path


def test_a_file_is_changed_only_where_it_must_be(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["lint", "batch.yaml", "--fix"]) == 0
    out, err = capsys.readouterr()
    assert file.read_text("utf-8") == AFTER
    # A document of rules that were all it had says so now, and what it ignores.
    assert out.startswith("warning[KP325]")
    assert "batch.yaml:18:7: fixed KP102: unknown field `wieght` in a priority" in err
    assert err.splitlines()[-2:] == [
        "fixed 9 findings in batch.yaml",
        "1 finding: 1 warning",
    ]


def test_a_second_run_changes_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["lint", "batch.yaml", "--fix"])
    capsys.readouterr()
    assert cli.main(["lint", "batch.yaml", "--fix"]) == 0
    assert file.read_text("utf-8") == AFTER
    assert "fixed " not in capsys.readouterr().err


def test_a_diff_shows_and_changes_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", "batch.yaml", "--diff"]) == 1
    out, _ = capsys.readouterr()
    assert "-      wieght: 3\n+      weight: 3\n" in out
    assert out.startswith("--- batch.yaml\n+++ batch.yaml\n")
    assert file.read_text("utf-8") == BEFORE
    file.write_text(AFTER, "utf-8")
    assert cli.main(["lint", "batch.yaml", "--diff"]) == 0
    assert capsys.readouterr() == ("", "nothing to mend\n")


def test_only_chosen_codes_are_corrected(file: Path) -> None:
    cli.main(["lint", "batch.yaml", "--fix", "--select", "KP102"])
    assert file.read_text("utf-8") == BEFORE.replace("wieght", "weight")


def test_unsafe_fixes_are_asked_for(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = AFTER.replace("node.ready", "pod.request('cpu') > '500m'")
    file.write_text(text, "utf-8")
    assert cli.main(["lint", "batch.yaml", "--fix"]) == 1
    assert file.read_text("utf-8") == text
    assert cli.main(["lint", "batch.yaml", "--fix", "--unsafe-fixes"]) == 0
    assert "expression: pod.request('cpu') > cpu('500m')\n" in file.read_text("utf-8")
    assert capsys.readouterr().out.count("(fixable, unsafe)") == 1


@pytest.mark.parametrize(
    ("written", "corrected"),
    [
        ("pod.request('cpu') > '5m'", "pod.request('cpu') > cpu('5m')"),
        ("'pod.request(\"cpu\") > ''5m'''", "'pod.request(\"cpu\") > cpu(''5m'')'"),
        ('"pod.request(\'cpu\') > \\"5m\\""', "\"pod.request('cpu') > cpu('5m')\""),
        (">-\n        node.freee('cpu')\n        > 5", ">-\n        node.free('cpu')\n        > 5"),
        ("|\n        nod.ready\n          || true", "|\n        node.ready\n          || true"),
    ],
)
def test_expressions_are_corrected_in_every_style(written: str, corrected: str) -> None:
    text = AFTER.replace("node.ready", written)
    done = fixed([Source("p.yaml", text)], compile_policy, is_unsafe=True)
    assert done.sources[0].text == AFTER.replace("node.ready", corrected)


def test_a_config_map_is_corrected_inside() -> None:
    indented = "".join(f"    {line}\n" for line in BEFORE.splitlines())
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p}\ndata:\n  p.yaml: |\n"
    expected = "".join(f"    {line}\n" for line in AFTER.splitlines())
    done = fixed([Source("p.yaml", head + indented)], compile_policy)
    corrected = str(done.sources[0].text).replace("# kpolicy: ignore[KP404]\n", "")
    assert "weight: 3" in corrected
    assert 'country: "no"' in corrected
    assert done.compiled.program is not None
    assert len(corrected.splitlines()) >= len((head + expected).splitlines())


def test_a_field_that_is_there_already_is_not_written_twice() -> None:
    text = AFTER.replace("weight: 3", "weight: 3\n      wieght: 4")
    done = fixed([Source("p.yaml", text)], compile_policy)
    assert done.sources[0].text == text


def test_line_ends_and_bytes_stay() -> None:
    text = BEFORE.replace("\n", "\r\n").encode()
    done = fixed([Source("p.yaml", text)], compile_policy)
    assert done.sources[0].text == AFTER.replace("\n", "\r\n").encode()


def test_stdin_can_be_shown_but_not_changed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BEFORE.encode())))
    assert cli.main(["lint", "-", "--diff"]) == 1
    assert "+      weight: 3" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BEFORE.encode())))
    assert cli.main(["lint", "-", "--fix"]) == 2


def test_the_corpus_keeps_its_meaning_and_mending_ends() -> None:
    """Whatever compiled before means the same; what did not has no more errors than before."""
    files = sorted(path for path in CORPUS.rglob("*.*") if path.name != "expected.json")
    changed = sound = restored = 0
    for path in files:
        source = Source(path.name, path.read_bytes())
        before = compile_policy([source])
        done = fixed([source], compile_policy)
        again = fixed(done.sources, compile_policy)
        assert again.sources == done.sources, path
        changed += done.sources[0].text != source.text
        if before.program is not None:
            sound += 1
            assert done.compiled.program is not None, path
            if any(finding.code == "KP126" for finding in done.findings):
                restored += 1
                assert b"base: none" in done.sources[0].encoded
                assert done.compiled.program.hash != before.program.hash
            elif any(finding.code == "KP352" for finding in done.findings):
                assert b"freesDevices: false" in done.sources[0].encoded, "true had no effect"
            else:
                assert done.compiled.program.hash == before.program.hash, path
    assert restored >= 1
    assert len(files) >= 70
    assert changed >= 9
    assert sound >= 15
