"""The most an expression may cost, in the units of cel-go.

The static bound: a node costs 1, text a tenth of a unit a byte, a loop its range times its body.
The sizes are those of the catalogue; the engine counts what is really spent.
"""

from __future__ import annotations

from kpolicy.policy.cel.functions_standard import Family
from kpolicy.policy.cel.tree import Conditional, Constant, Loop, Tree, Variable

_COST_MAX = 2**62
# The longest list that the engine's `lists.range` makes.
_RANGE_ITEMS_MAX = 10_000


def of_call(family: Family, args: list[Tree]) -> int:
    sizes = [arg.size for arg in args] or [1]
    if family.id in {
        "lists_range",
        "replace",
        "join",
    }:  # their result is larger than what they read
        sizes.append(size_of(family, args))
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
    match family.id, args:
        case "lists_range", [Constant(value=int(items))]:
            return max(0, min(items, _RANGE_ITEMS_MAX))
        case "lists_range", _:
            return _RANGE_ITEMS_MAX
        case "replace", [text, _, new, *_]:  # each character by the new text, and one at the end
            return min((text.size + 1) * (new.size + 1), _COST_MAX)
        case "join", [items, separator]:
            return min(items.size * (separator.size + 1), _COST_MAX)
    if family.id == "to_string":
        return max([32, *(arg.size for arg in args)])
    return max((arg.size for arg in args), default=1)


def of_tree(tree: Tree) -> int:
    """The bound for the whole; a variable is evaluated once, however often it is used."""
    return _of(tree, set())


def _of(tree: Tree, seen: set[str]) -> int:
    match tree:
        case Variable(name=name):
            if name in seen:
                return 1
            seen.add(name)
            return min(tree.cost + _of(tree.value, seen), _COST_MAX)
        case Conditional():
            test, yes, no = (_of(operand, seen) for operand in tree.operands)
            return min(tree.cost + test + max(yes, no), _COST_MAX)
        case Loop(over=over):
            inside = sum(_of(operand, seen) for operand in tree.body)
            return min(_of(over, seen) + tree.cost + over.size * (1 + inside), _COST_MAX)
    return min(tree.cost + sum(_of(operand, seen) for operand in tree.operands), _COST_MAX)
