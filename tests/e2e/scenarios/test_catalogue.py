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
P0 = 33


def names_in(path: Path) -> list[str]:
    found = ast.walk(ast.parse(path.read_text()))
    functions = [node for node in found if isinstance(node, ast.FunctionDef)]
    return [node.name for node in functions if node.name.startswith("test_")]


def test_every_scenario_has_tests_and_every_test_its_row() -> None:
    rows = {found[0]: found for found in ROW.findall(PAGE.read_text())}
    assert len([row for row in rows.values() if row[1] == "P0"]) == P0
    named: Counter[tuple[str, str]] = Counter()
    for path in HERE.glob("test_*.py"):
        if path != Path(__file__):
            for name in names_in(path):
                letter, number = NAMED.match(name).groups()  # type: ignore[union-attr]
                named[f"{letter.upper()}-{number}", path.name] += 1
    assert sum(named.values()) > 80
    assert {(id_, file) for id_, _, file in rows.values()} == set(named)


def test_every_file_of_nemeses_is_on_the_page() -> None:
    files = {path.name for path in NEMESES.glob("test_*.py")}
    assert len(files) == 8
    listed = PAGE.read_text().partition("## Nemeses")[2]
    assert {name for name in files if name in listed} == files
    for path in NEMESES.glob("test_*.py"):
        assert [name for name in names_in(path) if not name.startswith("test_n_")] == []
