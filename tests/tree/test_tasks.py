"""Every task of the product belongs to a task group, so that nothing outlives it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tree.sources import ROOT, with_suffix

# These start tasks that nothing waits for, or lose what all but the first task raise.
BARE = {"ensure_future", "gather", "run_coroutine_threadsafe"}
GROUPS = {"group", "_group"}


def bare_tasks(tree: ast.AST) -> Iterator[str]:
    """Calls that start a task outside of a task group."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called, receiver = called_name(node.func)
        is_bare = called in BARE or (called == "create_task" and receiver not in GROUPS)
        if is_bare:
            yield f"{node.lineno}: {ast.unparse(node.func)}"


def called_name(func: ast.expr) -> tuple[str, str]:
    """`b` and `a` of `x.a.b(…)`."""
    match func:
        case ast.Attribute(value=ast.Attribute(attr=receiver) | ast.Name(id=receiver), attr=name):
            return name, receiver
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name, ""
    return "", ""


def test_every_task_belongs_to_a_task_group() -> None:
    product = [
        path
        for path in with_suffix(".py")
        if any(path.is_relative_to(ROOT / folder) for folder in ("python", "benches"))
    ]
    trees = {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in product}
    assert len(trees) > 300
    begun = [
        node
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called_name(node.func)[0] == "create_task"
    ]
    assert len(begun) > 25
    found = [f"{name}:{call}" for name, tree in trees.items() for call in bare_tasks(tree)]
    assert found == []


def test_a_bare_task_is_found() -> None:
    text = """
group.create_task(work())
self._group.create_task(work())
asyncio.create_task(work())
asyncio.get_running_loop().create_task(work())
asyncio.ensure_future(work())
await gather(work(), work())
"""
    found = [call.partition(":")[0] for call in bare_tasks(ast.parse(text))]
    assert found == ["4", "5", "6", "7"]
