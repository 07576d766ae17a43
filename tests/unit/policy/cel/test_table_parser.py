"""The parser against lark's own on texts right and wrong: the same tree, or the same error."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random
from typing import Any, Final

import pytest
from lark import Lark, exceptions

from build import cel_parser_table
from kpolicy.policy.cel.reductions import SyntaxRefused, TreeMaker
from kpolicy.policy.cel.table_parser import UnexpectedCharacter, UnexpectedToken, parser

TEXTS: Final = (
    "pod.priority > 5 && !node.ready || -node.podCount <= 3u",
    "x in ['a', \"b\", ?c, r'\\d', '''m\n''', b'\\xff', 1.5e3,] ? a.b(1, 2)[0] : .c.d(y)",
    "{'k': v, ?'o': m[?'a'].?b, 1: null,}.size() != 0x1F % 2 - 1 // a comment\n + inside",
    "m.`a-b/c`.exists(p, p.x == true) && f(a, [], {}) >= (1 * 2 / 3)",
    'T{a: 1, b: 2} == rb"""x""" + B\'y\' + R"z" + """a"b\\"""" + "\\u00e9"',
    "a.in.b",
    "if == 1",
)
PIECES: Final = (
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ",",
        ":",
        "?",
        ".?",
        "&&",
        "||",
        "!",
        "-",
        "=",
        "==",
        "in",
    ),
    *("'", '"', "'''", '"""', "b", "r", "\\", "`", "//", "\n", " ", "1", "1u", "0x", "a", "null"),
    *("é", "#", "\r", "&", "true", "1.", "e5", "''", "b''", "`a`"),
)


@cache
def larks() -> Lark:
    grammar = cel_parser_table.patched(cel_parser_table.shipped_grammar())
    options: dict[str, Any] = cel_parser_table.OPTIONS
    return Lark(grammar, transformer=TreeMaker(), **options)


def of_lark(text: str) -> tuple[str, object]:
    try:
        return "tree", larks().parse(text)
    except exceptions.UnexpectedToken as error:
        token = error.token
        place = None if token.type == "$END" else (token.start_pos, token.end_pos)
        return "token", (token.type, str(token), place, set(error.expected))
    except exceptions.UnexpectedCharacters as error:
        return "character", (error.pos_in_stream, set(error.allowed or ()))
    except SyntaxRefused as refused:
        return "refused", refused.diagnostic


def of_ours(text: str) -> tuple[str, object]:
    try:
        return "tree", parser().parse(text)
    except UnexpectedToken as error:
        token = error.token
        place = None if token.type == "$END" else (token.start_pos, token.end_pos)
        return "token", (token.type, str(token), place, error.expected)
    except UnexpectedCharacter as error:
        return "character", (error.at, error.allowed)
    except SyntaxRefused as refused:
        return "refused", refused.diagnostic


@pytest.mark.parametrize("text", TEXTS)
def test_it_reads_as_lark(text: str) -> None:
    assert of_ours(text) == of_lark(text)


def test_it_reads_damaged_texts_as_lark() -> None:
    chance = Random(19)
    kinds: Counter[str] = Counter()
    for _ in range(3000):
        text = chance.choice(TEXTS)
        for _ in range(chance.choice((1, 1, 2, 3))):
            at, length = chance.randrange(len(text) + 1), chance.choice((0, 0, 1, 3, 20))
            text = text[:at] + chance.choice(PIECES) + text[at + length :]
        kind, found = of_ours(text)
        assert (kind, found) == of_lark(text), text
        kinds[kind] += 1
    assert min(kinds[kind] for kind in ("tree", "token", "character", "refused")) >= 50, kinds
