"""The table in docs/internals/scenarios.md and the tests agree: each id has its tests."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "internals" / "scenarios.md"
NEMESES = HERE.parent / "nemeses"
ROW = re.compile(r"^\| ([A-Z]-\d\d) \| .* \| (P\d) \| (test_\w+\.py) \|$", re.MULTILINE)
NAMED = re.compile(r"test_([a-z])(\d\d)_")
N_ROW = re.compile(r"^\| N-(\d\d) \| .* \| (test_[^|]*) \|$", re.MULTILINE)
P0 = 34
# Beside the scenarios: what is played on stages of its own, rows F-08, P and E.
BESIDE = (
    "preemption/test_preemption.py",
    "preemption/test_nominations.py",
    "test_volumes.py",
    "test_extenders.py",
    "test_extender_preemption.py",
)
POLICY = ("test_policy_source.py", "test_policy_nemeses.py")


def names_in(path: Path) -> list[str]:
    found = ast.walk(ast.parse(path.read_text()))
    functions = [node for node in found if isinstance(node, ast.FunctionDef)]
    return [node.name for node in functions if node.name.startswith("test_")]


def test_every_scenario_has_tests_and_every_test_its_row() -> None:
    rows = {found[0]: found for found in ROW.findall(PAGE.read_text())}
    assert len([row for row in rows.values() if row[1] == "P0"]) == P0
    named: Counter[tuple[str, str]] = Counter()
    beside = [HERE.parent / name for name in BESIDE]
    for path in (*HERE.glob("test_*.py"), *beside):
        if path != Path(__file__):
            for name in names_in(path):
                letter, number = NAMED.match(name).groups()  # type: ignore[union-attr]
                named[f"{letter.upper()}-{number}", path.name] += 1
    assert sum(named.values()) > 140
    assert {(id_, file) for id_, _, file in rows.values()} == set(named)


def test_every_file_of_nemeses_is_on_the_page() -> None:
    files = {path.name for path in NEMESES.glob("test_*.py")}
    assert len(files) == 10
    rows = N_ROW.findall(PAGE.read_text())
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    listed = {name for _, names in rows for name in names.split(", ")}
    assert listed == files | set(POLICY)
    for path in NEMESES.glob("test_*.py"):
        assert [name for name in names_in(path) if not name.startswith("test_n_")] == []
