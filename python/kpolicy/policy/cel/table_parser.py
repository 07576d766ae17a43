"""The parser that a table drives: LALR(1), with a lexer that knows what may come next.

The table is made by lark (`build/cel_parser_table.py`), and both read a text alike. lark itself is
not used, because short commands would load all of it for this.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from kpolicy.policy.cel import parser_table
from kpolicy.policy.cel.reductions import TreeMaker
from kpolicy.policy.cel.syntax import Expression

END: Final = "$END"
# The terminals of texts in quotes come before all others, and their patterns take long to compile.
_QUOTED: Final = re.compile(r"([bB]?)[rR]?(\"{3}|'{3}|[\"'])")
_TEXTS: Final = ("BYTES_LIT", "MLSTRING_LIT", "STRING_LIT")


class Token(str):
    """A piece of the text."""

    __slots__ = ("end_pos", "start_pos", "type")

    type: str
    start_pos: int
    end_pos: int


def _token(kind: str, text: str, start: int) -> Token:
    token = Token(text)
    token.type, token.start_pos, token.end_pos = kind, start, start + len(text)
    return token


class Operation(NamedTuple):
    """An operator with its left operand, until the right one is read."""

    data: str
    children: list[Any]


class UnexpectedToken(Exception):  # noqa: N818
    def __init__(self, token: Token, expected: set[str]) -> None:
        super().__init__(str(token))
        self.token, self.expected = token, expected


class UnexpectedCharacter(Exception):  # noqa: N818
    def __init__(self, at: int, allowed: set[str]) -> None:
        super().__init__(at)
        self.at, self.allowed = at, allowed


class _Rule(NamedTuple):
    """`make` builds the value of `size` parts; where a part is a helper of the grammar (a list
    under way), its items count as parts."""

    origin: str
    size: int
    make: Callable[[list[Any]], Any]


class _Lexer:
    """Reads the terminals that a state accepts, in the order in which they are tried."""

    def __init__(
        self, names: Sequence[str], words: Mapping[str, str], patterns: Mapping[str, str]
    ) -> None:
        self.names = frozenset(names)
        self._words, self._patterns = words, patterns
        self._others = [name for name in names if name not in _TEXTS]
        self._scanner: re.Pattern[str] | None = None

    def match(self, text: str, at: int) -> tuple[str, str] | None:
        """The terminal and its text."""
        quoted = _QUOTED.match(text, at)
        if quoted is not None:
            for name in _possible(quoted):
                found = self._pattern(name).match(text, at) if name in self.names else None
                if found is not None:
                    return name, found[0]
        if self._scanner is None:
            self._scanner = _compiled("|".join(map(self._group, self._others)))
        found = self._scanner.match(text, at)
        if found is None:
            return None
        # An identifier may be a word of the language.
        name = found.lastgroup or ""
        return (self._words.get(found[0], name) if name == "IDENT" else name), found[0]

    def _group(self, name: str) -> str:
        return f"(?P<{name}>{self._patterns[name]})"

    def _pattern(self, name: str) -> re.Pattern[str]:
        return _compiled(self._patterns[name])


def _possible(quoted: re.Match[str]) -> tuple[str, ...]:
    if quoted[1]:
        return _TEXTS[:1]
    return _TEXTS[1:] if len(quoted[2]) == 3 else _TEXTS[2:]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


class _Parser:
    def __init__(self) -> None:
        table = json.loads(zlib.decompress(base64.b64decode(parser_table.PACKED)))
        maker = TreeMaker()
        self._rules = [_rule(maker, *written) for written in table["rules"]]
        # What to do by state and symbol: a state to go to, or less than zero, a rule to reduce by.
        self._actions: list[dict[str, int]] = table["actions"]
        lexers = [_Lexer(names, words, table["patterns"]) for names, words in table["lexers"]]
        self._lexers = [lexers[number] for number in table["lexer_of"]]
        self._every = lexers[table["every"]]
        self._ignored = frozenset(table["ignored"])
        self._start, self._end = table["start"], table["end"]

    def parse(self, text: str) -> Expression:
        states: list[int] = [self._start]
        values: list[Any] = []
        at = 0
        while at < len(text):
            token, at = self._next(text, at, self._lexers[states[-1]])
            if token is not None:
                self._feed(states, values, token)
        self._feed(states, values, _token(END, "", at))
        expression: Expression = values[-1]
        return expression

    def _next(self, text: str, at: int, lexer: _Lexer) -> tuple[Token | None, int]:
        """The token that begins here, and where the next one does."""
        found = lexer.match(text, at)
        if found is None:
            allowed = set(lexer.names - self._ignored) or {"<END-OF-FILE>"}
            other = self._every.match(text, at)
            if other is None:
                raise UnexpectedCharacter(at, allowed)
            raise UnexpectedToken(_token(other[0], other[1], at), allowed)
        kind, read = found
        return None if kind in self._ignored else _token(kind, read, at), at + len(read)

    def _feed(self, states: list[int], values: list[Any], token: Token) -> None:
        """Reduces as often as the token asks for, and takes it; the end is not taken."""
        while True:
            actions = self._actions[states[-1]]
            action = actions.get(token.type)
            if action is None:
                expected = {name for name in actions if name.isupper()}
                raise UnexpectedToken(token, expected)
            if action >= 0:
                states.append(action)
                values.append(token)
                return
            rule = self._rules[-1 - action]
            first = len(values) - rule.size
            parts = values[first:]
            del values[first:], states[first + 1 :]
            values.append(rule.make(parts))
            states.append(self._actions[states[-1]][rule.origin])
            if token.type == END and states[-1] == self._end:
                return


def _rule(maker: TreeMaker, origin: str, size: int, is_passed_on: bool, inner: int) -> _Rule:
    """`is_passed_on`: a single part is the value. `inner`: the part that is a list under way, or
    less than zero."""
    build: Callable[[list[Any]], Any] = getattr(maker, origin, None) or (
        list if origin.startswith("_") else lambda parts: Operation(origin, parts)
    )

    def make(parts: list[Any]) -> Any:
        if inner >= 0:
            parts[inner : inner + 1] = parts[inner]
        return parts[0] if is_passed_on and len(parts) == 1 else build(parts)

    return _Rule(origin, size, make)


@cache
def parser() -> _Parser:
    """Made when an expression is first read."""
    return _Parser()
