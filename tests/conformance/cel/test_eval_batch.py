"""CEL conformance through `kpolicy eval --batch`, run as an outside user would run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kpolicy.cli import main

from .decided_by_kubernetes import FAILING
from .suite import Case, cases, normal, variable_json
from .test_conformance import DATA, G1, G2, G3, PASSED


def _exact(line: dict[str, Any]) -> Any:
    """The value of a line, read by what docs/internals/expressions.md says of it."""
    value = line["value"]
    if "exact" in line:
        return line["exact"]
    if line["type"] in ("uint", "double", "bytes", "timestamp", "duration", "type"):
        return {line["type"]: value}
    if line["type"].startswith("google.protobuf."):
        return {line["type"].rpartition(".")[2].lower(): value}
    if line["type"] == "optional_type":
        return {"optional": list(map(_read, value))}
    return _read(value)


def _read(value: Any) -> Any:
    if isinstance(value, float):
        return {"double": value}
    if isinstance(value, list):
        return list(map(_read, value))
    if isinstance(value, dict):
        return {"map": [[key, _read(item)] for key, item in value.items()]}
    return value


def _passes(case: Case, line: dict[str, Any]) -> bool:
    if case.fails:
        return "error" in line
    return "value" in line and bool(normal(_exact(line)) == normal(case.expected))


def test_all_gates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No line says whether the type checker is on: what it refuses is evaluated all the same."""
    todo = [case for file in (*G1, *G2, *G3) for case in cases(DATA, file) if not case.unsupported]
    lines = [
        {
            "expr": case.expression,
            "vars": {name: variable_json(value) for name, value in case.variables.items()},
        }
        for case in todo
    ]
    batch = tmp_path / "batch.jsonl"
    batch.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["eval", "--batch", str(batch)]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(answers) == len(todo) == sum(PASSED.values()) + len(FAILING)
    failed = {
        case.id: f"{case.expression}: wanted {case.expected}, got {answer}"
        for case, answer in zip(todo, answers, strict=True)
        if not _passes(case, answer)
    }
    assert {case: why for case, why in failed.items() if case not in FAILING} == {}
    assert failed.keys() == FAILING
