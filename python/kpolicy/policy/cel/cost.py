"""The most an expression may cost, in the units of cel-go.

Owns the static bound: a node costs one, text a tenth of a byte, a loop its range times its body.
Assumes the sizes of the catalogue. The engine counts what is really spent.
"""

from __future__ import annotations

from .rows import Family
from .tree import Tree

_COST_MAX = 2**62


def of_call(family: Family, args: list[Tree]) -> int:
    sizes = [arg.size for arg in args] or [1]
    if family.cost == "text":
        return 1 + sum(sizes) // 10
    if family.cost == "same":
        return 1 + min(sizes) // 10
    if family.cost == "regex":
        return 1 + sizes[0] * (1 + sizes[-1] // 4) // 10
    if family.cost == "items":
        return 1 + max(sizes)
    if family.cost == "product":
        return 1 + sizes[0] * sizes[-1]
    return 1


def size_of(family: Family, args: list[Tree]) -> int:
    """A bound of the items or bytes of the result."""
    if family.id == "add":
        return min(sum(arg.size for arg in args), _COST_MAX)
    if family.id == "to_string":
        return max([32, *(arg.size for arg in args)])
    return max((arg.size for arg in args), default=1)


def of_tree(tree: Tree) -> int:
    """The bound for the whole; a variable is evaluated once, however often it is used."""
    return _of(tree, set())


def _of(tree: Tree, seen: set[str]) -> int:
    if tree.op == "variable":
        if tree.name in seen:
            return 1
        seen.add(tree.name)
    if tree.op == "conditional":
        condition, *branches = (_of(arg, seen) for arg in tree.args)
        return min(tree.cost + condition + max(branches), _COST_MAX)
    if tree.op == "loop":
        range_, *body = tree.args
        inside = sum(_of(arg, seen) for arg in body)
        return min(_of(range_, seen) + tree.cost + range_.size * (1 + inside), _COST_MAX)
    return min(tree.cost + sum(_of(arg, seen) for arg in tree.args), _COST_MAX)
