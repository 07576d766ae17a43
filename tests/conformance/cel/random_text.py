"""Makes random expressions of a wanted type, as text, over a few typed inputs, and random values
for these inputs.

The grammar is the part of CEL in which implementations agree. Equal seeds give equal texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from kpolicy.policy.cel.types import BOOL, DOUBLE, INT, STRING, Type, list_of, map_of

INPUTS: Final[dict[str, Type]] = {
    "b": BOOL,
    "i": INT,
    "j": INT,
    "d": DOUBLE,
    "s": STRING,
    "t": STRING,
    "ls": list_of(STRING),
    "li": list_of(INT),
    "m": map_of(STRING, INT),
}
_TEXTS: Final = ("", "a", "spot", "zone-a", "Zone-A", "12", "-3", "+4", "ä€𝄞", "a,b,c", "9.5")
_INTS: Final = (0, 1, -1, 2, 7, 63, 4000, 2**31, 2**63 - 1, -(2**63))
_DOUBLES: Final = (0.0, 0.5, -2.25, 1.0, 3.0, 1e18, -1e300, 4000.0)
_PATTERNS: Final = ("^a", "z.*a$", "[0-9]+", "(spot|zone)-?", "")
_DEPTH: Final = 4


def world(chance: Random) -> dict[str, Any]:
    return {
        "b": chance.random() < 0.5,
        "i": chance.choice(_INTS),
        "j": chance.choice(_INTS[:7]),
        "d": chance.choice(_DOUBLES),
        "s": chance.choice(_TEXTS),
        "t": chance.choice(_TEXTS),
        "ls": [chance.choice(_TEXTS) for _ in range(chance.randrange(4))],
        "li": [chance.choice(_INTS[:7]) for _ in range(chance.randrange(4))],
        "m": {name: chance.choice(_INTS) for name in ("k", "a") if chance.random() < 0.6},
    }


# By the type of the result: a text with places for operands, and the types of these.
Forms: TypeAlias = Mapping[str, tuple[tuple[str, ...], ...]]


def expression(chance: Random, more: Forms = MappingProxyType({})) -> str:
    kind = chance.choice(("bool", "bool", "int", "double", "string", "strings", "ints"))
    return _Maker(chance, more).of(kind, _DEPTH)


def _quoted(text: str) -> str:
    return "'" + text + "'"


class _Maker:
    def __init__(self, chance: Random, more: Forms) -> None:
        self._chance = chance
        self._forms = {kind: (*forms, *more.get(kind, ())) for kind, forms in _FORMS.items()}

    def of(self, kind: str, depth: int) -> str:
        chance = self._chance
        if depth == 0 or chance.random() < 0.15:
            return chance.choice(_LEAVES[kind])(self)
        if chance.random() < 0.1:
            yes, no = self.of(kind, depth - 1), self.of(kind, depth - 1)
            return f"({self.of('bool', depth - 1)} ? {yes} : {no})"
        form, *operands = chance.choice(self._forms[kind])
        return form.format(*(self.of(operand, depth - 1) for operand in operands), p=self._pattern)

    @property
    def _pattern(self) -> str:
        return _quoted(self._chance.choice(_PATTERNS))

    def text(self) -> str:
        return _quoted(self._chance.choice(_TEXTS))

    def int(self) -> str:
        return str(self._chance.choice(_INTS[:9]))

    def double(self) -> str:
        return repr(self._chance.choice(_DOUBLES[:6]))

    def texts(self) -> str:
        return "[" + ", ".join(self.text() for _ in range(self._chance.randrange(1, 4))) + "]"

    def ints(self) -> str:
        return "[" + ", ".join(self.int() for _ in range(self._chance.randrange(1, 4))) + "]"


def _input(name: str) -> Callable[[_Maker], str]:
    return lambda _: name


_LEAVES: Final[dict[str, tuple[Callable[[_Maker], str], ...]]] = {
    "bool": (_input("b"), _input("true"), _input("false"), _input("has(m.k)"), _input("'a' in m")),
    "int": (_input("i"), _input("j"), _input("m.k"), _input("m['a']"), _Maker.int),
    "double": (_input("d"), _Maker.double),
    "string": (_input("s"), _input("t"), _Maker.text),
    "strings": (_input("ls"), _Maker.texts),
    "ints": (_input("li"), _Maker.ints),
}
_FORMS: Final[Forms] = {
    "bool": (
        ("({} && {})", "bool", "bool"),
        ("({} || {})", "bool", "bool"),
        ("!({})", "bool"),
        ("({} && {} || {})", "bool", "bool", "bool"),
        ("({} < {})", "int", "int"),
        ("({} >= {})", "int", "int"),
        ("({} <= {})", "double", "double"),
        ("({} > {})", "string", "string"),
        ("({} < {})", "bool", "bool"),
        ("({} == {})", "int", "int"),
        ("({} != {})", "string", "string"),
        ("({} == {})", "double", "double"),
        ("({} == {})", "strings", "strings"),
        ("({} in {})", "string", "strings"),
        ("({} in {})", "int", "ints"),
        ("({} in m)", "string"),
        ("{}.startsWith({})", "string", "string"),
        ("{}.endsWith({})", "string", "string"),
        ("{}.contains({})", "string", "string"),
        ("{}.matches({p})", "string"),
        ("{}.exists(x, x == {})", "strings", "string"),
        ("{}.all(x, x < {})", "ints", "int"),
        ("{}.exists_one(x, x.size() > {})", "strings", "int"),
        ("{}.all(x, {}.exists(y, x == y && {}))", "ints", "ints", "bool"),
        ("{}.exists(x, 12 / x > {})", "ints", "int"),
    ),
    "int": (
        ("({} + {})", "int", "int"),
        ("({} - {})", "int", "int"),
        ("({} * {})", "int", "int"),
        ("({} / {})", "int", "int"),
        ("({} % {})", "int", "int"),
        ("-({})", "int"),
        ("size({})", "string"),
        ("{}.size()", "strings"),
        ("size({})", "ints"),
        ("int({})", "double"),
        ("int({})", "string"),
        ("{}[{}]", "ints", "int"),
        ("{}.indexOf({})", "string", "string"),
        ("{}.lastIndexOf({})", "string", "string"),
    ),
    "double": (
        ("({} + {})", "double", "double"),
        ("({} * {})", "double", "double"),
        ("({} / {})", "double", "double"),
        ("({} - {})", "double", "double"),
        ("-({})", "double"),
        ("double({})", "int"),
        ("double({})", "string"),
    ),
    "string": (
        ("({} + {})", "string", "string"),
        ("string({})", "int"),
        ("string({})", "bool"),
        ("{}[{}]", "strings", "int"),
        ("{}.substring({})", "string", "int"),
        ("{}.lowerAscii()", "string"),
        ("{}.upperAscii()", "string"),
        ("{}.trim()", "string"),
        ("{}.charAt({})", "string", "int"),
        ("{}.replace({}, {})", "string", "string", "string"),
        ("{}.join({})", "strings", "string"),
    ),
    "strings": (
        ("({} + {})", "strings", "strings"),
        ("{}.filter(x, x != {})", "strings", "string"),
        ("{}.map(x, x + {})", "strings", "string"),
        ("{}.split('a')", "string"),
        ("{}.split(',')", "string"),
        ("[{}, {}]", "string", "string"),
        ("{}.map(x, string(x))", "ints"),
    ),
    "ints": (
        ("({} + {})", "ints", "ints"),
        ("{}.filter(x, x > {})", "ints", "int"),
        ("{}.map(x, x * {})", "ints", "int"),
        ("[{}, {}]", "int", "int"),
        ("{}.map(x, size(x))", "strings"),
        ("{}.map(x, x > 0, x - {})", "ints", "int"),
    ),
}
