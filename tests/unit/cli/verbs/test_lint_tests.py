"""`kpolicy lint` checks tests of policies as `kpolicy test` does before it runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpolicy import cli
from kpolicy.offline.policy_tests.session import run_tests
from tests.unit.offline.policy_tests.suites import HEAD, POLICY

TESTS = f"""\
{HEAD}policies: [small.yaml]
nodes: [{{name: n1}}]
tests:
  - {{name: good, pod: {{}}, expect: {{decision: place}}}}
  - {{name: nothing, pod: {{}}}}
  - {{name: field, pod: {{}}, expect: {{nod: n1}}}}
  - {{name: rule, pod: {{}}, expect: {{errors: [{{rule: rak}}]}}}}
  - {{name: profile, profile: kpolcy, pod: {{}}, expect: {{decision: place}}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(POLICY)
    (tmp_path / "small.test.yaml").write_text(TESTS)
    return tmp_path


def codes(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str, int]]:
    listed = json.loads(capsys.readouterr().out)["findings"]
    return [(finding["code"], Path(finding["file"]).name, finding["line"]) for finding in listed]


@pytest.mark.parametrize("named", ["", "small.test.yaml"])
def test_findings_are_those_of_a_run(
    folder: Path, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["lint", "-o", "json", "--select", "KP1,KP5", str(folder / named)]) == 1
    found = codes(capsys)
    assert found == [
        ("KP502", "small.test.yaml", 9),
        ("KP102", "small.test.yaml", 10),
        ("KP501", "small.test.yaml", 11),
        ("KP501", "small.test.yaml", 12),
    ]
    run = run_tests(folder / "small.test.yaml")
    diagnostics = [diagnostic for _, test in run.tests() for diagnostic in test.diagnostics]
    assert [
        (diagnostic.code, diagnostic.place.line) for diagnostic in diagnostics if diagnostic.place
    ] == [(code, line) for code, _, line in found]


def test_tests_that_are_sound_lint_clean(folder: Path) -> None:
    sound = "".join(TESTS.splitlines(keepends=True)[:8])
    (folder / "small.test.yaml").write_text(sound)
    assert cli.main(["lint", str(folder / "small.test.yaml")]) == 0


def test_a_policy_that_a_test_names_and_that_is_broken_is_reported_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "small.yaml").write_text(POLICY.replace("node.name +", "node.nam +"))
    assert cli.main(["lint", "-o", "json", "--select", "KP201", str(folder)]) == 1
    assert [(code, file) for code, file, _ in codes(capsys)] == [("KP201", "small.yaml")]


def test_params_are_given_to_policies_and_to_tests(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = str(folder / "small.yaml")
    assert cli.main(["lint", "-o", "json", policy, "--param", "critical=9"]) == 0
    capsys.readouterr()
    assert (
        cli.main(["lint", "-o", "json", "--select", "KP1", policy, "--param", 'critical="x"']) == 1
    )
    assert codes(capsys) == [("KP113", "small.yaml", 9)]
    assert cli.main(["lint", "-o", "json", policy, "--param", "crtical=9"]) == 1
    assert "KP124" in capsys.readouterr().out
    assert cli.main(["lint", policy, "--param", "critical"]) == 2
