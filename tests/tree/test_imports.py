"""Boundary B4 where import contracts do not reach: the compiled module has one importer."""

from __future__ import annotations

import ast

from tests.tree.sources import ROOT, with_suffix

ENGINE = ROOT / "python" / "kpolicy" / "engine" / "compiled.py"
COMPILED = "kpolicy._engine"


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for found in ast.walk(tree):
        if isinstance(found, ast.Import):
            names |= {alias.name for alias in found.names}
        elif isinstance(found, ast.ImportFrom) and found.module:
            names |= {found.module} | {f"{found.module}.{alias.name}" for alias in found.names}
    return names


def test_one_module_imports_the_compiled_engine() -> None:
    package = [
        path for path in with_suffix(".py") if path.is_relative_to(ROOT / "python" / "kpolicy")
    ]
    assert len(package) > 150
    importers = {path for path in package if COMPILED in imported(ast.parse(path.read_text()))}
    assert importers == {ENGINE}
    assert not any(
        "import_module" in path.read_text() and "_engine" in path.read_text() for path in package
    )
