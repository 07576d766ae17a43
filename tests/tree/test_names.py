"""Names in Python are words of the field: a name such as `one` or `said` does not say what it
holds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.tree.sources import ROOT, with_suffix

UNCLEAR = {
    "given", "heard", "it", "lot", "manner", "manners", "one", "ones", "said", "says", "taken",
    "told",
}  # fmt: skip


def defined_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names that a module defines, with their lines. Imported names belong to others."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name):
                yield node.lineno, name
            case _:
                pass


def unclear(path: Path) -> tuple[int, list[str]]:
    """How many names a file defines, and those that say nothing."""
    names = list(defined_names(ast.parse(path.read_text("utf-8"))))
    where = path.relative_to(ROOT)
    return len(names), [
        f"{where}:{line} {name}" for line, name in names if name.strip("_").lower() in UNCLEAR
    ]


def test_no_name_is_unclear() -> None:
    checked = [unclear(path) for path in with_suffix(".py")]
    assert len(checked) > 700
    assert sum(count for count, _ in checked) > 40_000
    assert [text for _, texts in checked for text in texts] == []
