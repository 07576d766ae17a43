"""`kpolicy lint --tenant-of` checks a policy as a scheduler checks a tenant's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpolicy import cli

TENANT = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: red}
spec:
  predicates: [{name: own-pool, expression: "label(node, 'pool') == 'red'"}]
"""
OPERATOR = "kube-scheduler-default"


def lint(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, *flags: str
) -> tuple[int, list[str]]:
    path = folder / "tenant.yaml"
    path.write_text(text, "utf-8")
    code = cli.main(["lint", "--isolated", str(path), "-o", "jsonl", *flags])
    found = map(json.loads, capsys.readouterr().out.splitlines())
    return code, [finding["code"] for finding in found if "code" in finding]


def test_rules_that_narrow_are_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(tmp_path, capsys, TENANT, "--tenant-of", OPERATOR) == (0, [])


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ("  base: none\n", "KP135"),
        ("  profiles: [{schedulerName: other}]\n", "KP131"),
        ("  extenders: [{urlPrefix: 'http://10.0.0.1:80'}]\n", "KP135"),
        ("  preemption: {policy: Never}\n", "KP135"),
        ("  priorities: [{name: a, weight: 11, expression: '50'}]\n", "KP136"),
    ],
)
def test_what_only_the_operator_may_set_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], extra: str, code: str
) -> None:
    status, codes = lint(tmp_path, capsys, TENANT + extra, "--tenant-of", OPERATOR)
    assert status == 1
    assert code in codes


def test_the_weight_is_what_the_operator_grants(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heavy = TENANT + "  priorities: [{name: a, weight: 11, expression: 'node.podCount'}]\n"
    flags = ("--tenant-of", OPERATOR, "--tenant-weight", "11")
    assert "KP136" not in lint(tmp_path, capsys, heavy, *flags)[1]


def test_a_broken_operator_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    operator = tmp_path / "operator.yaml"
    operator.write_text("spec: [", "utf-8")
    path = tmp_path / "tenant.yaml"
    path.write_text(TENANT, "utf-8")
    assert cli.main(["lint", "--isolated", str(path), "--tenant-of", str(operator)]) == 2
    assert f"run `kpolicy lint {operator}`" in capsys.readouterr().err
