"""`kpolicy policies`, and names of shipped policies that are misspelt."""

from __future__ import annotations

import json

import pytest

from kpolicy import cli
from kpolicy.policy.compile import shipped_names, shipped_source

Capture = pytest.CaptureFixture[str]


def test_it_lists_the_policies_that_other_verbs_take(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    assert cli.main(["policies"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == list(shipped_names())
    assert max(map(len, lines)) <= 72
    assert cli.main(["policies", "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [policy["name"] for policy in document["policies"]] == list(shipped_names())
    assert all(policy["about"] for policy in document["policies"])


def test_it_prints_one(capsys: Capture) -> None:
    assert cli.main(["policies", "gpu-pools"]) == 0
    assert capsys.readouterr().out == shipped_source("gpu-pools").decoded


@pytest.mark.parametrize(
    ("name", "hint"),
    [("gpu-pool", "did you mean `gpu-pools`?"), (__file__, "`kpolicy policies` lists them")],
)
def test_it_prints_nothing_else(name: str, hint: str, capsys: Capture) -> None:
    assert cli.main(["policies", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"comes with kpolicy; {hint}" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["lint", "gpu-pool"],
        ["hash", "gpu-pool"],
        ["bench", "-w", "basic", "--policy", "gpu-pool"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_misspelt_name_is_answered_with_the_right_one(
    arguments: list[str], capsys: Capture
) -> None:
    if arguments[0] == "bench":
        from kpolicy.offline.bench.workloads import WORKLOADS

        arguments = [*arguments[:2], next(iter(WORKLOADS)), *arguments[3:]]
    assert cli.main(arguments) == 2
    message = "gpu-pool cannot be read: there is no such file and no shipped policy; "
    assert f"{message}did you mean `gpu-pools`?" in capsys.readouterr().err
