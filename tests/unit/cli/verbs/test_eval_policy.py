"""`kpolicy eval --policy`: expressions with what a policy defines, and the expressions of rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpolicy.cli import main
from kpolicy.testing import node, pod
from tests.unit.cli.verbs.test_eval import Capture, asked

BASE = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: base}
spec:
  params:
    cap: {type: int, default: 4, maximum: 9}
    pools: {type: 'map(string, list(string))', default: {ml: [a100]}}
  variables:
    - {name: team, expression: "'team' in pod.labels ? pod.labels['team'] : 'unknown'"}
    - {name: pool, expression: "node.labels['gpu']"}
  predicates:
    - {builtin: NodeName}
    - {name: capped, expression: node.podCount < params.cap}
"""
CHILD = """\
---
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: child}
spec:
  profiles: [{schedulerName: kpolicy}]
  base: base
  params:
    cap: {type: int, default: 2}
  variables:
    - {name: both, expression: "variables.team + '/' + variables.pool"}
  predicates:
    - {name: team-pool, expression: "node.labels['gpu'] in params.pools[variables.team]"}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    items = [
        node("n1", labels={"gpu": "a100"}),
        node("n2"),
        pod("train", namespace="lab", labels={"team": "ml"}),
    ]
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    policy = tmp_path / "policy.yaml"
    policy.write_text(BASE + CHILD)
    return "--policy", str(policy), "--snapshot", str(cluster)


AT_N1 = ("--pod", "lab/train", "--node", "n1")
AT_N2 = ("--pod", "lab/train", "--node", "n2")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("variables.both", "ml/a100"),
        ("variables.team", "ml"),
        ("params.cap + 1", 3),
        ("params.pools['ml'].size() == 1 && variables.pool == 'a100'", True),
    ],
)
def test_variables_and_params_are_those_of_the_policy(
    expression: str, value: object, files: tuple[str, ...], capsys: Capture
) -> None:
    code, line, _ = asked(capsys, expression, *files, *AT_N1)
    assert (code, line["value"]) == (0, value)


def test_a_param_that_is_given_counts_and_is_checked(
    files: tuple[str, ...], capsys: Capture
) -> None:
    code, line, _ = asked(capsys, "params.cap", *files, "--param", "cap=7")
    assert (code, line["value"]) == (0, 7)
    code, line, messages = asked(capsys, "params.cap", *files, "--param", "cap=x")
    assert (code, line) == (1, None)
    assert "error[KP113]" in messages
    code, line, messages = asked(capsys, "params.cap", *files, "--param", "cup=1")
    assert (code, line) == (1, None)
    assert "error[KP124]" in messages


@pytest.mark.parametrize("rule", ["team-pool", "child/team-pool"])
def test_a_rule_is_evaluated_as_it_stands(
    rule: str, files: tuple[str, ...], capsys: Capture
) -> None:
    code, line, _ = asked(capsys, "--rule", rule, *files, *AT_N1)
    assert (code, line) == (0, {"type": "bool", "value": True})
    code, line, _ = asked(capsys, "--rule", rule, *files, *AT_N2)
    assert code == 1
    assert line["error"]["message"] == "no such key: gpu"


def test_an_inherited_rule_has_the_params_of_its_heir(
    files: tuple[str, ...], capsys: Capture
) -> None:
    _, line, _ = asked(capsys, "params.cap", "--rule", "capped", *files)
    assert line["value"] == 2
    code, line, _ = asked(capsys, "--rule", "capped", *files, *AT_N1)
    assert (code, line["value"]) == (0, True)


def test_an_error_in_a_variable_says_in_which(files: tuple[str, ...], capsys: Capture) -> None:
    code, line, _ = asked(capsys, "variables.both", *files, *AT_N2)
    assert code == 1
    assert line["error"]["message"] == "no such key: gpu"
    assert line["error"]["hint"] == "in `variables.pool`: `node.labels['gpu']`"


def test_a_variable_that_needs_a_flag_says_which(files: tuple[str, ...], capsys: Capture) -> None:
    code, line, _ = asked(capsys, "1 > 0 && variables.both != ''", *files, "--pod", "lab/train")
    assert code == 1
    assert line["error"] == {
        "code": "KP201",
        "message": "in `variables.pool`: `node` is not known here",
        "hint": "give a node, or a variable `node`",
        "start": 9,
        "end": 23,
    }


def test_sub_expressions_go_into_variables(files: tuple[str, ...], capsys: Capture) -> None:
    assert main(["eval", "variables.both + 'x'", *files, *AT_N1, "--explain"]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert any(line[-2:] == ["variables.both", '"ml/a100"'] for line in shown)
    assert any(line[-2:] == ["variables.pool", '"a100"'] for line in shown)
    assert any("node.labels['gpu']" in line and '"a100"' in line for line in shown)


def test_a_batch_sees_them_too(files: tuple[str, ...], tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "lines"
    path.write_text('{"expr": "variables.team"}\n{"expr": "variables.teem"}\n')
    assert main(["eval", "--batch", str(path), *files, *AT_N1]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first == {"type": "string", "value": "ml"}
    assert second["error"]["code"] == "KP201"
    assert "team" in second["error"]["hint"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rule", "NodeName"), "is a built-in"),
        (("--rule", "team-pol"), "did you mean `team-pool`?"),
        (("--batch", "-", "1"), "not both"),
        ((), "is needed"),
    ],
)
def test_what_cannot_be_meant(
    arguments: tuple[str, ...], message: str, files: tuple[str, ...], capsys: Capture
) -> None:
    code, line, messages = asked(capsys, *arguments, *files)
    assert (code, line) == (2, None)
    assert message in messages


def test_a_rule_needs_a_policy(capsys: Capture) -> None:
    code, _, messages = asked(capsys, "1", "--rule", "a")
    assert code == 2
    assert "need --policy" in messages


def test_of_several_policies_a_rule_says_which(tmp_path: Path, capsys: Capture) -> None:
    other = BASE.replace("name: base", "name: other").replace("default: 4", "default: 8")
    profile = "spec:\n  profiles: [{schedulerName: kpolicy}]\n"
    policies = tmp_path / "p.yaml"
    policies.write_text("---\n".join(text.replace("spec:\n", profile) for text in (BASE, other)))
    code, _, messages = asked(capsys, "params.cap", "--policy", str(policies))
    assert code == 2
    assert "2 policies: `base`, `other`" in messages
    code, _, messages = asked(capsys, "params.cap", "--policy", str(policies), "--rule", "capped")
    assert code == 2
    assert "say which: `base/capped`, `other/capped`" in messages
    flags = ("--policy", str(policies), "--rule", "other/capped")
    assert asked(capsys, "params.cap", *flags)[:2] == (0, {"type": "int", "value": 8})


def test_a_policy_with_errors_is_refused(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(BASE.replace("params.cap", "params.cup"))
    code, line, messages = asked(capsys, "1", "--policy", str(path))
    assert (code, line) == (1, None)
    assert "error[KP201]" in messages
