"""Checks constant regular expressions: their syntax, that of RE2, and their size in the engine.

The engine compiles every pattern that is not refused here: the size estimate is never below what
the pattern takes, and syntax that RE2 and the engine read differently (`[a&&b]`, `[[a]`) is
refused. The figures are somewhat above what was measured, by repeating a part until the engine
refused the whole.
"""

from __future__ import annotations

import re
from typing import Final

_CHARACTERS_MAX: Final = 1024
# The engine's bound is 64; a group is up to four there: repeated, of alternatives, of a row.
_NESTING_MAX: Final = 14
_REPEATS_MAX: Final = 1000

_FLAGS: Final = re.compile(r"\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAME: Final = re.compile(r"\?P?<([A-Za-z_]\w*)>", re.ASCII)
_REPEAT: Final = re.compile(r"\{(\d{1,9})(?:(,)(\d{1,9})?)?\}", re.ASCII)
_POSIX: Final = re.compile(
    r"\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit)"
    r":\]"
)
_PROPERTY: Final = re.compile(r"[pP](?:\{(\w+)\}|([A-Z]))", re.ASCII)
_HEXADECIMAL: Final = re.compile(r"x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})")
_CATEGORIES: Final = """
    Any C Cc Cf Co L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So
    Z Zl Zp Zs
"""
_SCRIPTS: Final = """
    Arabic Armenian Bengali Bopomofo Braille Cherokee Common Coptic Cyrillic Devanagari Ethiopic
    Georgian Greek Gujarati Gurmukhi Han Hangul Hebrew Hiragana Inherited Kannada Katakana Khmer
    Lao Latin Malayalam Mongolian Myanmar Oriya Runic Sinhala Syriac Tamil Telugu Thaana Thai
    Tibetan Yi
"""
PROPERTIES: Final = frozenset(f"{_CATEGORIES} {_SCRIPTS}".split())
_CONTROL: Final = dict(zip("aftnrv", "\a\f\t\n\r\v", strict=True))
_LOOKS: Final = "AzbB"
_SET_OPERATORS: Final = ("&&", "--", "~~")


class _RefusedError(Exception):
    """The reason why the engine would refuse the pattern; never leaves this module."""


def refusal(pattern: str) -> str:
    """Why the engine would refuse the pattern; empty if it would not."""
    if len(pattern) > _CHARACTERS_MAX:
        return f"a pattern has at most {_CHARACTERS_MAX:,} characters"
    try:
        is_too_large = _Reader(pattern).whole() > BYTES_MAX
    except _RefusedError as refused:
        return str(refused)
    why = "with all its repeats written out it is too large: repeat less, or fewer classes"
    return why if is_too_large else ""


class _Reader:
    """Reads a pattern from left to right; methods return how many bytes a part takes at most."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._is_folded = re.search(r"\(\?[msU]*i", text) is not None
        self._names: set[str] = set()

    def whole(self) -> int:
        size = self._alternatives(0)
        if self._at < len(self._text):
            raise _RefusedError("a bracket is closed that nobody opened")
        return size

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_mark(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._at):
            return False
        self._at += len(mark)
        return True

    def _matched(self, form: re.Pattern[str]) -> re.Match[str] | None:
        found = form.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found

    def _alternatives(self, depth: int) -> int:
        if depth > _NESTING_MAX:
            raise _RefusedError(f"groups are nested more than {_NESTING_MAX} deep")
        size = self._row(depth)
        while self._skip_mark("|"):
            size += ALTERNATIVE + self._row(depth)
        return size

    def _row(self, depth: int) -> int:
        size = 0
        while self._next() not in ("", "|", ")"):
            atom = self._atom(depth)
            size += self._repeated(atom) if atom is not None else 0
        return size

    def _atom(self, depth: int) -> int | None:
        """The size of an atom; None for flags, which cannot be repeated."""
        mark = self._next()
        self._at += 1
        match mark:
            case "*" | "+" | "?" | "{":
                raise _RefusedError(f"nothing stands before `{mark}` that could be repeated")
            case "(":
                return self._group(depth)
            case "[":
                return self._class()
            case "\\":
                return self._escaped()
        return SIZES.get(mark) or literal(mark, self._is_folded)

    def _repeated(self, size: int) -> int:
        at = self._at
        mark = self._next()
        if mark == "{":
            found = self._matched(_REPEAT)
            if found is None:
                raise _RefusedError("`{` opens a count such as {3} or {1,5}, or is escaped")
            least = int(found[1])
            most = int(found[3]) if found[3] else None if found[2] else least
            if max(least, most or 0) > _REPEATS_MAX or (most is not None and most < least):
                raise _RefusedError(f"`{found[0]}` is no count up to {_REPEATS_MAX:,}")
        elif mark and mark in "*+?":
            self._at += 1
            least, most = int(mark == "+"), 1 if mark == "?" else None
        if self._at == at:
            return size
        self._skip_mark("?")
        if (again := self._next()) and again in "*+?{":
            raise _RefusedError(f"`{again}` repeats what is repeated already")
        return repeated(size, least, most)

    def _group(self, depth: int) -> int | None:
        size = GROUP
        if found := self._matched(_NAME):
            if found[1] in self._names:
                raise _RefusedError(f"two groups are named {found[1]}")
            self._names.add(found[1])
        elif self._next() == "?":
            if not self._opened_by_flags():
                return None
            size = 0
        size += self._alternatives(depth + 1)
        if not self._skip_mark(")"):
            raise _RefusedError("a group is not closed")
        return size

    def _opened_by_flags(self) -> bool:
        """Whether the flags are followed by a pattern in the same group."""
        found = self._matched(_FLAGS)
        flags = found[1] + (found[2] or "") if found else ""
        if not found or found[0] == "?)" or len(set(flags)) < len(flags):
            raise _RefusedError("look-around, back references and such groups are not part of RE2")
        return found[3] == ":"

    def _escaped(self) -> int:
        if (look := self._next()) and look in _LOOKS:
            self._at += 1
            return LOOK
        size, character = self._escape()
        return size if character is None else literal(character, self._is_folded)

    def _escape(self) -> tuple[int, str | None]:
        """Reads after a backslash: a character, or the size of a class of characters."""
        mark = self._next()
        if mark and mark in PERL:
            self._at += 1
            return PERL[mark], None
        if found := self._matched(_PROPERTY):
            name = found[1] or found[2]
            if name not in PROPERTIES:
                raise _RefusedError(f"no class of characters is known as {name}")
            return UNICODE_CLASS, None
        if found := self._matched(_HEXADECIMAL):
            point = int(found[1] or found[2], 16)
            if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
                raise _RefusedError(f"`\\{found[0]}` is no character")
            return 0, chr(point)
        self._at += 1
        if mark in _CONTROL:
            return 0, _CONTROL[mark]
        if not mark or not mark.isascii() or mark.isalnum() or mark in "<>":
            raise _RefusedError(f"`\\{mark}` is not part of RE2, or the engine does not read it")
        return 0, mark

    def _class(self) -> int:
        is_negated = self._skip_mark("^")
        # The complement of a class takes more than the class.
        size = CLASS + (ANY if is_negated else 0) + self._member(is_first=True)
        while not self._skip_mark("]"):
            size += self._member(is_first=False)
        return size

    def _member(self, is_first: bool) -> int:
        if self._matched(_POSIX):
            return CLASS
        own, low = self._item(is_first)
        is_range = self._next() == "-" and self._text[self._at + 1 : self._at + 2] not in ("", "]")
        if not is_range:
            return own if low is None else member(low, low, self._is_folded)
        self._at += 1
        _, high = self._item(is_first=False)
        if low is None or high is None or high < low:
            raise _RefusedError("a range in a class goes from a character to a later one")
        return member(low, high, self._is_folded)

    def _item(self, is_first: bool) -> tuple[int, str | None]:
        mark = self._next()
        if not mark:
            raise _RefusedError("a class is not closed")
        if mark == "[" or any(
            self._text.startswith(operator, self._at) for operator in _SET_OPERATORS
        ):
            raise _RefusedError(f"`{mark}` inside a class is to be escaped: `\\{mark}`")
        self._at += 1
        if mark == "\\":
            return self._escape()
        if mark == "]" and not is_first:
            raise _RefusedError("a range in a class has no end")
        return 0, mark


# The engine's limit, without what any pattern takes.
BYTES_MAX: Final = (1 << 20) - 4096

LOOK: Final = 40
ANY: Final = 1_100
SIZES: Final = {".": ANY, "^": LOOK, "$": LOOK}
GROUP: Final = 200
ALTERNATIVE: Final = 80
CLASS: Final = 100
# A class of Unicode, such as letters or a script.
UNICODE_CLASS: Final = 60_000
PERL: Final = {
    "d": 5_500,
    "D": 13_500,
    "s": 800,
    "S": 2_200,
    "w": UNICODE_CLASS,
    "W": UNICODE_CLASS,
}

_BYTE: Final = 34
_REPETITION: Final = 120


def literal(character: str, is_folded: bool) -> int:
    """The size of a character, or of all its cases if `is_folded`."""
    if is_folded:
        return 250 if character.isascii() else 700
    return _BYTE * len(character.encode("utf-8", "replace"))


def member(low: str, high: str, is_folded: bool) -> int:
    """The size of a range of characters in a class."""
    if high.isascii():
        return 350 if is_folded else 40
    if low == high:
        return 700
    return UNICODE_CLASS if is_folded else ANY


def repeated(size: int, least: int, most: int | None) -> int:
    """The size of a repetition; there is no upper bound if `most` is None."""
    if most is None:
        return max(least, 1) * size + _REPETITION
    return most * size + (most - least + 1) * _REPETITION
