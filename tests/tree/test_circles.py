"""No module of the product imports itself in a circle, type-only imports included."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from tests.tree.sources import ROOT, with_suffix

SOURCE = ROOT / "python"


def import_graph() -> dict[str, set[str]]:
    """Which modules each module of the product imports, anywhere in its text."""
    modules = {}
    for path in with_suffix(".py"):
        if path.is_relative_to(SOURCE):
            parts = path.relative_to(SOURCE).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {}
    for name, path in modules.items():
        targets: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                # `from package import module` is an import of the module, not of the package.
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    compiled = SOURCE.joinpath(*inner.split(".")).with_suffix(".pyi").exists()
                    if not compiled:
                        targets.add(inner if inner in modules else node.module)
        graph[name] = (targets & modules.keys()) - {name}
    return graph


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The sets of modules that reach each other: Tarjan's algorithm."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = lowest[name] = len(index)
        stack.append(name)
        for target in sorted(graph[name]):
            if target not in index:
                visit(target)
                lowest[name] = min(lowest[name], lowest[target])
            elif target in stack:
                lowest[name] = min(lowest[name], index[target])
        if lowest[name] == index[name]:
            position = stack.index(name)
            component = sorted(stack[position:])
            del stack[position:]
            if len(component) > 1:
                found.append(component)

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return found


def test_modules_import_each_other_in_no_circle() -> None:
    graph = import_graph()
    assert len(graph) > 150
    assert sum(len(targets) for targets in graph.values()) > 500
    assert circles(graph) == []


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
