"""Inputs from inputs: damaged bytes, swapped lines, pieces of the languages, whole expressions.

The same source of chance gives the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final, TypeAlias

from tests.fuzz.expressions import expression

Mutation: TypeAlias = Callable[[Random, bytes, list[bytes]], bytes]

SIZE_MAX: Final = 64 * 1024
PIECES: Final[tuple[str, ...]] = (
    *"{}[]()<>:;,.?!&|*%@`#'\"\\/-+=~^$ \n\t\r\0",
    "\ufeff",
    "\u2028",
    "é",
    "👍",
    "\xff",
    "---\n",
    "...\n",
    "- ",
    ": ",
    "? ",
    "|\n  ",
    ">-\n  ",
    "&a ",
    "*a",
    "<<: ",
    "!!map ",
    "%YAML 1.1\n",
    "&&",
    "||",
    "in ",
    "has(",
    "true",
    "null",
    "no",
    "012",
    "1:30",
    "-9223372036854775808",
    "1e999",
    "0x",
    "b'\\xff'",
    "'''",
    '"""',
    "r'",
    "\\u0000",
    "\\",
    "variables.",
    "params.",
    "node.pods.",
    ".all(p, ",
    ".map(x, ",
    "cel.bind(",
    "dyn(",
    "[?",
    ".?",
    "{?",
    "{{",
    "}}",
    "namespace",
    "for",
    "expression: ",
    "expression: |\n        ",
    "builtin: ",
    "spec: ",
    "kind: Policy\n",
    "base: ",
    "# kpolicy: ignore[KP301]",
    "matches('(a+)+$')",
    "selector('",
    "units('",
    "(" * 80,
    "[" * 80,
    "!" * 300,
    "-" * 300,
    " ? 1 : " * 30,
    " && node.ready" * 40,
    "a" * 5000,
)


def mutated(chance: Random, seeds: list[bytes]) -> bytes:
    """One of the seeds after one to eight mutations."""
    data: bytes = chance.choice(seeds)
    for _ in range(chance.randint(1, 8)):
        data = chance.choice(_MUTATIONS)(chance, data, seeds)[:SIZE_MAX]
    return data


def _cut(chance: Random, data: bytes) -> tuple[int, int]:
    start = chance.randint(0, len(data))
    return start, min(len(data), start + chance.choice((0, 1, 1, 2, 5, 20, 200)))


def _piece(chance: Random, data: bytes, _: list[bytes]) -> bytes:
    start, end = _cut(chance, data)
    return data[:start] + chance.choice(PIECES).encode("utf-8", "surrogatepass") + data[end:]


def _byte(chance: Random, data: bytes, _: list[bytes]) -> bytes:
    start, _end = _cut(chance, data)
    return data[:start] + bytes([chance.randrange(256)]) + data[start + 1 :]


def _without(chance: Random, data: bytes, _: list[bytes]) -> bytes:
    start, end = _cut(chance, data)
    return data[:start] + data[end:]


def _twice(chance: Random, data: bytes, _: list[bytes]) -> bytes:
    start, end = _cut(chance, data)
    return data[:end] + data[start:end] * chance.choice((1, 2, 50)) + data[end:]


def _lines(chance: Random, data: bytes, _: list[bytes]) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    a, b = chance.randrange(len(lines)), chance.randrange(len(lines))
    if chance.random() < 0.5:
        lines[a], lines[b] = lines[b], lines[a]
    else:
        lines.insert(b, lines[a])
    return b"".join(lines)


def _crossed(chance: Random, data: bytes, seeds: list[bytes]) -> bytes:
    other = chance.choice(seeds)
    return data[: chance.randint(0, len(data))] + other[chance.randint(0, len(other)) :]


def _expression(chance: Random, data: bytes, _: list[bytes]) -> bytes:
    """Another expression where one stands, to the end of its line."""
    starts = [at for at in range(len(data)) if data.startswith(b"xpression: ", at)]
    if not starts:
        return data
    start = chance.choice(starts) + len(b"xpression: ")
    end = data.find(b"\n", start)
    written = expression(chance, chance.randint(1, 5)).replace('"', "'")
    return data[:start] + f'"{written}"'.encode() + data[end if end >= 0 else len(data) :]


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    _piece,
    _piece,
    _byte,
    _without,
    _twice,
    _lines,
    _crossed,
    _expression,
)
