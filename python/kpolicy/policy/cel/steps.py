"""Facts that are steps of a path and nothing else: objects that are asked for what they hold.

Owns finding them where a value is wanted. Assumes a checked tree, in which a path is one fact. Must
not know how paths are put together.
"""

from __future__ import annotations

from typing import Final

from .catalogue import PATHS_ONLY
from .scope import Scope
from .tree import Fact, Present, Tree, Variable, own_operands

_MEMBERS_SHOWN_MAX: Final = 4


def report_steps(scope: Scope, tree: Tree, *, is_variable: bool) -> None:
    """A policy variable may hold such an object: its users go on from there.

    The values of the variables used here were looked at where they are defined.
    """
    waiting, seen = [tree], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        held = _held(node)
        if _is_step(scope, held) and not (is_variable and node is tree):
            _report(scope, node, held)
        waiting.extend(own_operands(node))


def _held(tree: Tree) -> Tree:
    while isinstance(tree, Variable):
        tree = tree.value
    return tree


def _is_step(scope: Scope, tree: Tree) -> bool:
    read = tree.read if isinstance(tree, Present) else tree
    if not isinstance(read, Fact):
        return False
    return read.name in PATHS_ONLY or read.name in scope.environment.catalogue.roots


def _report(scope: Scope, node: Tree, held: Tree) -> None:
    described = scope.environment.catalogue.object_type(held.type)
    members = described.members if described is not None else {}
    shown = [
        f"`{name}(…)`" if member.method else f"`{name}`"
        for name, member in list(members.items())[:_MEMBERS_SHOWN_MAX]
    ]
    more = ", …" if len(members) > len(shown) else ""
    scope.report(
        "KP209",
        f"a {held.type} is no value by itself",
        node.span,
        f"ask for what it holds: {', '.join(shown)}{more}",
    )
