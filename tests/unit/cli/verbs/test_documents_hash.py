"""`kpolicy hash`: the hash that a running scheduler would write on what it binds."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kpolicy import Source, compile_policy
from kpolicy.cli import main

Capture = pytest.CaptureFixture[str]

POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: hashed}
spec:
  profiles: [{schedulerName: kpolicy}]
  params: {floor: {type: int, default: 3}}
  predicates:
    - {name: floor, expression: "pod.priority >= params.floor", message: too low}
"""
OTHER = POLICY.replace("hashed", "other").replace("kpolicy}", "another}")


def hashed(capsys: Capture, *arguments: str) -> str:
    assert main(["hash", *arguments]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    (line,) = printed.out.splitlines()
    return line


def hash_of(*texts: str) -> str:
    program = compile_policy([Source(f"{at}.yaml", text) for at, text in enumerate(texts)]).program
    assert program is not None
    return program.hash


def test_it_is_the_hash_of_the_program(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    assert hashed(capsys, str(path)) == hash_of(POLICY)
    assert hashed(capsys, str(path), "--param", "floor=3") == hash_of(POLICY)
    assert hashed(capsys, str(path), "--param", "floor=4") != hash_of(POLICY)


def test_all_that_is_given_is_one(tmp_path: Path, capsys: Capture) -> None:
    for name, text in (("a", POLICY), ("b", OTHER)):
        (tmp_path / f"{name}.yaml").write_text(text)
    first, second = (str(tmp_path / f"{name}.yaml") for name in "ab")
    assert hashed(capsys, str(tmp_path)) == hash_of(POLICY, OTHER)
    assert hashed(capsys, first, second) == hash_of(POLICY, OTHER)
    assert hashed(capsys, second, first) == hash_of(OTHER, POLICY)
    assert len({hash_of(POLICY, OTHER), hash_of(OTHER, POLICY), hash_of(POLICY)}) == 3


def test_tests_beside_a_policy_do_not_count(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "policy.test.yaml").write_text(
        "apiVersion: kpolicy.dev/v1alpha1\nkind: PolicyTest\nmetadata: {name: t}\n"
    )
    assert hashed(capsys, str(tmp_path)) == hash_of(POLICY)


def test_stdin_and_the_names_of_shipped_policies(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(POLICY.encode())))
    assert hashed(capsys) == hash_of(POLICY)
    assert hashed(capsys, "kube-scheduler-default") != hash_of(POLICY)


def test_a_policy_with_errors_has_none(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY.replace("pod.priority", "pod.urgency"))
    assert main(["hash", str(path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "error[KP" in printed.err
