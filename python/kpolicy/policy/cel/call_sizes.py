"""How large the results of functions can be, from the sizes of their operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kpolicy.policy.cel.prices import RANGE_MAX
from kpolicy.policy.cel.sizes import SCALAR, SIZE_MAX, Size, larger, times
from kpolicy.policy.cel.tree import Constant, Tree, text_of
from kpolicy.policy.cel.types import (
    DYN,
    Type,
)

# The longest text of a number, a time, an address or a quantity: a double has up to 325 digits.
_NUMBER_BYTES_MAX: Final = 330
# A formatting clause may ask for so many decimal places.
_PRECISION_MAX: Final = 1_000
# What a named format has against a text, besides the text.
_COMPLAINTS_MAX: Final = 4
_COMPLAINT_BYTES_MAX: Final = 512


def size_of_call(family: str, args: list[Tree]) -> Size:
    """A bound of the result. `family` is the id of the function's family."""
    found = SIZES.get(family)
    return found(args) if found is not None and args else SCALAR


def _first(args: list[Tree]) -> Size:
    return args[0].size


def _optional_inside(args: list[Tree]) -> Size:
    """The operand may be inside an optional itself."""
    inside = args[0].size.inside
    return Size(1, larger(inside, inside.inside))


def _added(args: list[Tree]) -> Size:
    a, b = (arg.size for arg in args)
    item = larger(a.inside, b.inside) if a.item or b.item else None
    return Size(min(a.length + b.length, SIZE_MAX), item)


def _written(args: list[Tree]) -> Size:
    return Size(max(_NUMBER_BYTES_MAX, args[0].size.length))


def _quoted(args: list[Tree]) -> Size:
    return Size(2 * args[0].size.length + 2)


def _base64(args: list[Tree]) -> Size:
    return Size(4 * ((args[0].size.length + 2) // 3))


def _range(args: list[Tree]) -> Size:
    return Size(range_length(args[0]))


def _replaced(args: list[Tree]) -> Size:
    new = times(replaced_places(args), args[2].size.length)
    return Size(min(args[0].size.length + new, SIZE_MAX))


def _joined(args: list[Tree]) -> Size:
    separator = args[1].size.length if len(args) > 1 else 0
    return Size(times(args[0].size.length, args[0].size.inside.length + separator))


def _parts(args: list[Tree]) -> Size:
    return Size(args[0].size.length + 1, args[0].size)


def _formatted(args: list[Tree]) -> Size:
    shown = times(formatted_clauses(args), formatted_length(args[0], args[1].size.inside))
    return Size(min(args[0].size.length + shown, SIZE_MAX))


def _complaints(args: list[Tree]) -> Size:
    complaint = Size(_COMPLAINT_BYTES_MAX + args[1].size.length)
    return Size(1, Size(_COMPLAINTS_MAX, complaint))


def _query(args: list[Tree]) -> Size:
    text = args[0].size
    return Size(text.length // 2 + 1, Size(text.length // 2 + 1, text), text.length)


def _requirements(args: list[Tree]) -> Size:
    """Entries of a map, or what stands between the commas of a text."""
    size = args[0].size
    return Size(size.length if size.item else size.length // 2 + 1)


def range_length(count: Tree) -> int:
    if isinstance(count, Constant) and isinstance(count.value, int):
        return max(0, min(count.value, RANGE_MAX))
    return RANGE_MAX


def replaced_places(args: list[Tree]) -> int:
    """How often `replace` can put the new text in."""
    text, old = args[0].size, text_of(args[1])
    places = text.length // len(old.encode("utf-8", "replace")) if old else text.length + 1
    if len(args) > 3 and isinstance(args[3], Constant) and args[3].value >= 0:
        return int(min(places, args[3].value))
    return places


def flatten_depth(args: list[Tree]) -> int:
    """How many levels `flatten` can take away: no more than the lists inside of lists."""
    depth, kind = 0, args[0].type.parameters[0] if args[0].type.parameters else DYN
    size: Size | None = args[0].size.item
    while size is not None and kind.name in ("list", "dyn"):
        depth, size = depth + 1, size.item
        kind = kind.parameters[0] if kind.parameters else DYN
    asked = args[1].value if len(args) > 1 and isinstance(args[1], Constant) else depth
    return max(0, min(depth, asked if len(args) > 1 else 1))


def flattened(args: list[Tree], depth: int | None = None) -> Size:
    """The list after so many levels; by default after all that the call takes away."""
    size, kind = args[0].size, args[0].type
    for _ in range(flatten_depth(args) if depth is None else depth):
        kind = kind.parameters[0] if kind.parameters else Type("dyn")
        inner = size.inside
        size = Size(max(size.length, times(size.length, inner.length)), inner.item)
        if kind.name == "dyn":
            # What is no list stays as it is.
            size = Size(size.length, larger(size.inside, inner))
    return size


def formatted_clauses(args: list[Tree]) -> int:
    template, values = args[0], args[1].size
    text = text_of(template)
    clauses = text.count("%") if text is not None else template.size.length // 2
    return min(clauses, values.length)


def formatted_length(template: Tree, value: Size) -> int:
    """The bytes that one value can become."""
    text = text_of(template)
    precision = _PRECISION_MAX if text is None or "%." in text else 0
    return max(_NUMBER_BYTES_MAX + precision, 2 * displayed(value))


def displayed(value: Size) -> int:
    if value.item is None:
        return value.length
    entry = min(value.key + 2 * displayed(value.item) + 8, SIZE_MAX)
    return min(times(value.length, entry) + 2, SIZE_MAX)


SIZES: Final[Mapping[str, Callable[[list[Tree]], Size]]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                *("char_at", "lower_ascii", "upper_ascii", "substring", "trim", "string_reverse"),
                *("base64_decode", "to_bytes", "to_dyn", "find"),
                *("distinct", "list_reverse", "slice", "sort"),
                *("url", "get_scheme", "get_host", "get_hostname", "get_port", "get_escaped_path"),
            ),
            _first,
        ),
        **dict.fromkeys(
            ("optional_value", "list_min", "list_max", "math_greatest", "math_least", "index"),
            lambda args: args[0].size.inside,
        ),
        **dict.fromkeys(("list_first", "list_last", "optional_index"), _optional_inside),
        **dict.fromkeys(
            ("optional_of", "optional_of_non_zero"), lambda args: Size(1, args[0].size)
        ),
        "optional_unwrap": lambda args: Size(args[0].size.length, args[0].size.inside.inside),
        "add": _added,
        "to_string": _written,
        "quote": _quoted,
        "base64_encode": _base64,
        "lists_range": _range,
        "replace": _replaced,
        "join": _joined,
        "split": _parts,
        "find_all": _parts,
        "flatten": flattened,
        "format": _formatted,
        "format_validate": _complaints,
        "get_query": _query,
        "selector": _requirements,
    }
)
