"""What a call of a function can cost, in the engine's units, from the sizes of its operands.

One function for each way of charging; `Family.cost` names it. Each follows the charges in
`rust/kpolicy-cel/src/functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kpolicy.policy.cel.call_sizes import (
    flatten_depth,
    flattened,
    formatted_clauses,
    formatted_length,
    range_length,
    replaced_places,
)
from kpolicy.policy.cel.functions_standard import Family
from kpolicy.policy.cel.prices import (
    CALL,
    COMPARED_BYTES,
    LOOKUP,
    MATCH,
    NODE,
    PARSING,
    PART,
    PATTERN_BYTES,
    PATTERN_CLASS,
    PATTERN_COUNTED,
    REQUIREMENT,
    SEARCH,
    TEXT_BYTES,
    WINDOW,
)
from kpolicy.policy.cel.sizes import SIZE_MAX, Size, made, times
from kpolicy.policy.cel.tree import Constant, Tree

# What comparing takes for an item of a list, and for an entry of a map.
_LIST_ITEM: Final = 16
_MAP_ENTRY: Final = 32
_SCALAR_BYTES: Final = 8
_NUMBERS: Final = frozenset({"int", "uint", "double", "bool", "timestamp", "duration"})


def of_call(family: Family, args: list[Tree]) -> int:
    call = CALL
    if family.parses:
        call += PARSING + sum(arg.size.length for arg in args if _may_be(arg, "string"))
    return min(NODE + call + COSTS[family.cost](args), SIZE_MAX)


def _may_be(tree: Tree, name: str) -> bool:
    return tree.type.name in (name, "dyn")


def _text(length: int) -> int:
    """What walking a text takes."""
    return 1 + length // TEXT_BYTES


def _weight(tree: Tree) -> int:
    """What the engine takes a value for, in bytes, when it compares."""
    match tree.type.name:
        case "string" | "bytes":
            return tree.size.length
        case "list":
            return tree.size.length * _LIST_ITEM
        case "map" | "dyn":
            return max(tree.size.length * _MAP_ENTRY, _SCALAR_BYTES)
    return _SCALAR_BYTES


def _equal(a: Size, b: Size) -> int:
    """Comparing what is inside of two values to the end."""
    return min(_compared(a), _compared(b))


def _compared(size: Size) -> int:
    if size.item is None:
        return size.length // COMPARED_BYTES
    return times(size.length, 2 + _compared(size.item))


def _texts(args: list[Tree]) -> int:
    return _text(sum(arg.size.length for arg in args))


def _first_text(args: list[Tree]) -> int:
    return _text(args[0].size.length)


def _add(args: list[Tree]) -> int:
    if all(arg.type.name in _NUMBERS for arg in args):
        return 0
    return 1 + sum(arg.size.length for arg in args) // (
        1 if any(_may_be(arg, "list") for arg in args) else TEXT_BYTES
    )


def _same(args: list[Tree]) -> int:
    return _text(min(map(_weight, args))) + _equal(args[0].size, args[1].size)


def _order(args: list[Tree]) -> int:
    return min(map(_weight, args)) // COMPARED_BYTES


def _contained(args: list[Tree]) -> int:
    """`item in list`, or `key in map`."""
    item, holder = args
    if holder.type.name == "map":
        return LOOKUP
    return LOOKUP + times(holder.size.length, 1 + _equal(item.size, holder.size.inside))


def _size(args: list[Tree]) -> int:
    return _first_text(args) if _may_be(args[0], "string") else 0


def _pattern(args: list[Tree]) -> int:
    text, pattern = args[0].size.length, args[1]
    matching = 1 + times(text, 1 + pattern.size.length // PATTERN_BYTES) // TEXT_BYTES
    if isinstance(pattern, Constant):
        return matching
    return matching + PATTERN_CLASS + times(pattern.size.length, PATTERN_COUNTED)


def _find(args: list[Tree]) -> int:
    return _pattern(args) + MATCH


def _items(args: list[Tree]) -> int:
    return 1 + args[0].size.length


def _search_items(args: list[Tree]) -> int:
    items = args[0].size
    return 1 + times(items.length, 1 + _equal(items.inside, args[1].size))


def _distinct(args: list[Tree]) -> int:
    items = args[0].size
    pairs = times(items.length, items.length) // 2
    return 1 + 2 * items.length + times(pairs, 1 + _compared(items.inside))


def _sets(args: list[Tree]) -> int:
    a, b = args[0].size, args[1].size
    pairs = times(times(a.length, b.length), 1 + _equal(a.inside, b.inside))
    return 2 * pairs + a.length + b.length


def _flatten(args: list[Tree]) -> int:
    spent = 1 + args[0].size.length
    for depth in range(flatten_depth(args)):
        level, result = flattened(args, depth), flattened(args, depth + 1)
        spent += 2 * level.length + result.length
    return spent


def _range(args: list[Tree]) -> int:
    return range_length(args[0])


def _sort(args: list[Tree]) -> int:
    items = args[0].size.length
    return 1 + items + items * (1 + items.bit_length())


def _search_text(args: list[Tree]) -> int:
    text, part = args[0].size.length, args[1].size.length
    return _text(text) + SEARCH + text // 4 + _text(part) + _text(times(text, part))


def _join(args: list[Tree]) -> int:
    items, separator = args[0].size, args[1].size.length if len(args) > 1 else 0
    return times(items.length, _text(items.inside.length + separator))


def _replace(args: list[Tree]) -> int:
    text, old, new = (arg.size.length for arg in args[:3])
    return _text(text) + SEARCH + old + _text(times(replaced_places(args), new))


def _split(args: list[Tree]) -> int:
    text, separator = args[0].size.length, args[1].size.length
    return _text(text) + SEARCH + separator + PART * (text + 1)


def _format(args: list[Tree]) -> int:
    shown = _text(2 * formatted_length(args[0], args[1].size.inside))
    return _first_text(args) + times(formatted_clauses(args), shown)


def of_index(args: list[Tree]) -> int:
    """`operand[key]` and `operand[?key]`."""
    at = args[1]
    key = 0 if at.type.name in _NUMBERS else at.size.length
    return NODE + CALL + LOOKUP + 4 * made(at.type, at.size) + max(key, _weight(at)) // TEXT_BYTES


def _selector(args: list[Tree]) -> int:
    length = args[0].size.length
    return max(_text(length), REQUIREMENT * length if args[0].type.name != "string" else 0)


COSTS: Final[Mapping[str, Callable[[list[Tree]], int]]] = MappingProxyType(
    {
        "unit": lambda _: 0,
        "window": lambda _: WINDOW,
        "texts": _texts,
        "first text": _first_text,
        "last text": lambda args: _text(args[-1].size.length),
        "add": _add,
        "same": _same,
        "order": _order,
        "in": _contained,
        "size": _size,
        "to string": lambda args: _text(max(args[0].size.length, _weight(args[0]))),
        "pattern": _pattern,
        "find": _find,
        "find all": lambda args: _pattern(args) + times(args[0].size.length + 1, MATCH),
        "items": _items,
        # Whichever operand is the list.
        "all items": lambda args: max(arg.size.length for arg in args),
        "search items": _search_items,
        "distinct": _distinct,
        "sets": _sets,
        "flatten": _flatten,
        "range": _range,
        "sort": _sort,
        "search text": _search_text,
        "join": _join,
        "replace": _replace,
        "split": _split,
        "format": _format,
        "selector": _selector,
    }
)
