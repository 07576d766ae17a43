"""Questions for every overload of every function of the catalogue: with operands of its types, and
with operands whose types are known only while evaluating.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from random import Random
from typing import Any, Final

from kpolicy.policy.cel.calls import BY_NAME
from kpolicy.policy.cel.functions_standard import Overload
from kpolicy.policy.cel.types import Type, substituted
from tests.kubernetes_cel.arguments import ANYTHING, ITEMS, values_of
from tests.kubernetes_cel.program import Question

# The most rows of one question, in CI and in the long variant; further combinations of operands are
# left to chance.
ROWS_MAX: Final = 700
ROWS_MAX_LONG: Final = 10_000
# Functions that only kpolicy has.
OWN: Final = ("cpu", "units", "ratio", "clamp", "linear", "step", "selector", "includes")
_SEED: Final = 20261101
_NAMES: Final = "xyzvw"
# Kubernetes makes the list before it charges for it.
_RANGE_MAX: Final = 10_000


def typed(rows_max: int = ROWS_MAX) -> Iterator[tuple[Overload, Question]]:
    """For each overload, with the types of its operands declared."""
    for overload in overloads():
        for kinds in _kinds(overload):
            columns = [
                values_of(kind, overload.function if _takes_texts(overload, at) else "")
                for at, kind in enumerate(kinds)
            ]
            names = _NAMES[: len(kinds)]
            yield (
                overload,
                Question(
                    written(overload.function, overload.member, names),
                    dict(zip(names, kinds, strict=True)),
                    _rows(overload.function, names, columns, rows_max),
                ),
            )


def untyped(rows_max: int = ROWS_MAX) -> Iterator[tuple[str, Question]]:
    """For each function and number of operands, values of every type in each place."""
    counts = {
        (overload.function, overload.member, len(overload.params)) for overload in overloads()
    }
    for function, member, count in sorted(counts):
        names = _NAMES[:count]
        rows = _rows(function, names, [ANYTHING] * count, rows_max)
        types = dict.fromkeys(names, "dyn")
        yield function, Question(written(function, member, names), types, rows)


def extra() -> list[Question]:
    """Calls that the table of overloads does not show: of several operands, and literals."""
    numbers = [*values_of("int")[:4], *values_of("uint")[:2], *values_of("double")]
    rows = [dict(zip("xy", pair, strict=True)) for pair in product(numbers, numbers)]
    several = [
        Question(f"math.{name}({operands})", {"x": "dyn", "y": "dyn"}, rows)
        for name in ("greatest", "least")
        for operands in ("x, y", "x, y, 1")
    ]
    failing = Question(
        "x.map(v, int(v)).sortBy(v, v).size() == 1 && y",
        {"x": "list(string)", "y": "bool"},
        [{"x": ["a"], "y": False}],
    )
    return [*several, failing, *map(Question, _LITERALS)]


_LITERALS: Final = (
    "[1, 'a']",
    "{'a': 1, 'b': 'c'}",
    "[dyn(1), 'a']",
    "{1: 'a', 1u: 'b'}",
    "{'a': 1}.a",
    "{'a': 1}.b",
    "{'a': {'b': 1}}.?a.?b.orValue(2)",
    "[1, 2, 3].map(i, i > 1, i * 2)",
    "{'a': 1}.transformMap(k, v, v + 1)",
    "{'a': 1}.transformMapEntry(k, v, {v: k})",
    "[1, 1].transformMapEntry(n, v, {v: n})",
    "type(1) == int && type(quantity('1')) != int",
    "timestamp('2026-01-31t12:00:00Z')",
    "duration('1x')",
    "quantity('1x')",
    "quantity('m')",
    "'a'.matches('[')",
    "ip('10.0.0.01')",
    "url('x')",
    "semver('1.2')",
    "0x10 + -0x10",
    "9223372036854775808",
    "-9223372036854775808",
    "1e400",
    "b'\\xff' + b'a'",
    "r'\\n' + '\\u00e4\\U0001d11e\\a\\377'",
    "'''a\nb'''",
    "has({'a': 1}.b)",
    "[1][1]",
    "[1][0u] + [1][dyn(0.0)]",
    "optional.of(1).optFlatMap(v, optional.none()).hasValue()",
    "optional.none().value()",
    "[?optional.of(1), ?optional.none()]",
    "{?'a': optional.none()}",
    "dyn([]).reverse().sortBy(x, -x).sum()",
)


def overloads() -> list[Overload]:
    """Those of CEL and Kubernetes."""
    return [
        overload
        for group in BY_NAME.values()
        for overload in group
        if overload.function not in OWN and Type("selector") not in overload.params
    ]


def _takes_texts(overload: Overload, position: int) -> bool:
    """Whether the texts of a function are for this operand: the pattern, the zone, the template."""
    texts = [at for at, kind in enumerate(overload.params) if kind.name == "string"]
    is_template = overload.function == "format"
    return bool(texts) and position == (texts[0] if is_template else texts[-1])


def _kinds(overload: Overload) -> list[list[str]]:
    """The types of the operands, for each type that stands for a parameter of the overload."""
    if not any(_has_parameter(kind) for kind in overload.params):
        return [[str(kind) for kind in overload.params]]
    found = []
    for item in ITEMS:
        bound = {"A": Type(item), "B": Type(item)}
        found.append([str(substituted(_concrete(kind), bound)) for kind in overload.params])
    return found


def _has_parameter(kind: Type) -> bool:
    return kind.is_parameter or kind.name == "number" or any(map(_has_parameter, kind.parameters))


def _concrete(kind: Type) -> Type:
    if kind.name == "number":
        return Type("double")
    if kind.name == "map" and kind.parameters[0].is_parameter:
        return Type("map", (Type("string"), kind.parameters[1]))
    return kind


def _rows(
    function: str, names: str, columns: Sequence[Sequence[Any]], rows_max: int
) -> list[dict[str, Any]]:
    """All combinations, or as many by chance as are allowed: each value occurs."""
    combinations = 1
    for column in columns:
        combinations *= len(column)
    if combinations <= rows_max:
        rows = [dict(zip(names, row, strict=True)) for row in product(*columns)]
    else:
        chance = Random(_SEED)
        longest = max(len(column) for column in columns)
        rows = [
            {
                name: column[at % len(column)] if at < longest else chance.choice(column)
                for name, column in zip(names, map(_shuffled(chance), columns), strict=True)
            }
            for at in range(rows_max)
        ]
    return [row for row in rows if function != "lists.range" or not _is_long(row["x"])]


def _shuffled(chance: Random) -> Any:
    return lambda column: chance.sample(list(column), len(column))


def _is_long(length: Any) -> bool:
    return isinstance(length, int) and length > _RANGE_MAX


_OPERATORS: Final = {"!_": "!{}", "-_": "-{}", "_in_": "{} in {}"}


def written(function: str, is_member: bool, operands: Sequence[str]) -> str:
    """The text of a call."""
    if function.startswith("math.@"):
        # A macro of any number of operands: the table has a list of them.
        return f"{function.replace('@', '')}({', '.join(operands)})"
    if "_" in function and not function[0].isalpha():
        form = _OPERATORS.get(function) or "{} " + function.strip("_") + " {}"
        return form.format(*operands)
    if is_member:
        return f"{operands[0]}.{function}({', '.join(operands[1:])})"
    return f"{function}({', '.join(operands)})"
