"""The way from offsets in a scalar's value to offsets in the file.

Reads the raw text of the scalar again, in the style it is written in, and notes the position of
each character.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from kpolicy.diagnostics import Span
from kpolicy.policy.yaml.nodes import Scalar

# A character of the value, and its offset in the file.
_Piece: TypeAlias = tuple[str, int]

_BREAKS: Final = "\n\r\x85\u2028\u2029"
_BLANKS: Final = " \t"
_ESCAPES: Final = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_CODED: Final = {"x": 2, "u": 4, "U": 8}
# An explicit indentation indicator counts from a parent that the raw text does not show.
_INDENT_MAX: Final = 512


class ScalarMap:
    """Maps each character of a scalar's value to its offset in the file."""

    def __init__(self, text: str, scalar: Scalar) -> None:
        self._offsets = _offsets(text, scalar)
        self.is_exact = self._offsets is not None
        self._whole = scalar.span

    def offset(self, value_offset: int) -> int:
        """The file offset of the character at `value_offset`, or of the end."""
        if self._offsets is None:
            return self._whole.start
        return self._offsets[max(0, min(value_offset, len(self._offsets) - 1))]

    def span(self, value_span: Span) -> Span:
        if self._offsets is None:
            return self._whole
        start = self.offset(value_span.start)
        if value_span.end <= value_span.start:
            return Span(start, start)
        return Span(start, max(start, self.offset(value_span.end - 1)) + 1)


def _offsets(text: str, scalar: Scalar) -> Sequence[int] | None:
    """The offset of each character of the value and of its end; None if reading differs."""
    span, value = scalar.span, scalar.text
    if text[span.start : span.end] == value:
        return range(span.start, span.end + 1)
    for pieces in _readings(text, scalar):
        if "".join(character for character, _ in pieces) == value:
            end = pieces[-1][1] + 1 if pieces else span.start
            return [*(offset for _, offset in pieces), end]
    return None


def _readings(text: str, scalar: Scalar) -> Iterator[list[_Piece]]:
    start, end = scalar.span.start, scalar.span.end
    match scalar.style:
        case "'" | '"':
            yield _quoted(text, start + 1, end - 1, scalar.style)
        case "|" | ">":
            header, body, indicator = _block_header(text, start, end)
            indents = range(indicator, _INDENT_MAX) if indicator else (0,)
            for indent in indents:
                yield _block(text, body, end, indent, header)
        case _:
            yield _quoted(text, start, end, "")


def _break(text: str, at: int, end: int) -> tuple[str, int]:
    """The character that the line break at `at` is read as, and the start of the next line."""
    if text[at] == "\r" and at + 1 < end and text[at + 1] == "\n":
        return "\n", at + 2
    return (text[at] if text[at] in "\u2028\u2029" else "\n"), at + 1


def _quoted(text: str, at: int, end: int, quote: str) -> list[_Piece]:
    """Plain, single-quoted and double-quoted scalars, which fold lines in the same way."""
    pieces: list[_Piece] = []
    while at < end:
        character = text[at]
        if quote == '"' and character == "\\" and at + 1 < end:
            at = _escape(text, at, end, pieces)
        elif quote == "'" and text.startswith("''", at):
            pieces.append(("'", at))
            at += 2
        elif character in _BLANKS or character in _BREAKS:
            at = _white(text, at, end, pieces)
        else:
            pieces.append((character, at))
            at += 1
    return pieces


def _escape(text: str, at: int, end: int, pieces: list[_Piece]) -> int:
    code = text[at + 1]
    if code in _BREAKS:
        _, at = _break(text, at + 1, end)
        return _more_breaks(text, at, end, pieces)
    if code in _CODED:
        digits = text[at + 2 : at + 2 + _CODED[code]]
        try:
            pieces.append((chr(int(digits, 16)), at))
        except ValueError:
            pieces.append(("\ufffd", at))
        return at + 2 + len(digits)
    pieces.append((_ESCAPES.get(code, code), at))
    return at + 2


def _white(text: str, at: int, end: int, pieces: list[_Piece]) -> int:
    """Blanks inside a line are kept; around a line break they are dropped, and the break folds."""
    after = at
    while after < end and text[after] in _BLANKS:
        after += 1
    if after >= end or text[after] not in _BREAKS:
        pieces.extend((text[index], index) for index in range(at, after))
        return after
    leading, following = _break(text, after, end)
    breaks: list[_Piece] = []
    following = _more_breaks(text, following, end, breaks)
    if leading != "\n":
        pieces.append((leading, after))
    elif not breaks:
        pieces.append((" ", after))
    pieces.extend(breaks)
    return following


def _more_breaks(text: str, at: int, end: int, breaks: list[_Piece]) -> int:
    """Skips blanks and takes every further line break; returns the offset of the next content."""
    while at < end and text[at] in _BLANKS + _BREAKS:
        if text[at] in _BREAKS:
            read, following = _break(text, at, end)
            breaks.append((read, at))
            at = following
        else:
            at += 1
    return at


def _block_header(text: str, start: int, end: int) -> tuple[str, int, int]:
    """(header, offset of the first line of the body, explicit indentation or 0)."""
    at = start
    while at < end and text[at] not in _BREAKS:
        at += 1
    header = text[start:at].split("#", 1)[0].strip()
    indicator = next((int(character) for character in header if character.isdigit()), 0)
    return header, (_break(text, at, end)[1] if at < end else end), indicator


def _block(text: str, at: int, end: int, indent: int, header: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    leading: list[_Piece] = []
    trailing: list[_Piece] = []
    is_leading_blank = False
    at, indent = _block_breaks(text, at, end, indent, trailing)
    while at < end and _column(text, at) == indent:
        is_blank = text[at] in _BLANKS
        folds = header[0] == ">" and bool(leading) and leading[0][0] == "\n"
        if folds and not is_leading_blank and not is_blank:
            if not trailing:
                pieces.append((" ", leading[0][1]))
        else:
            pieces.extend(leading)
        pieces.extend(trailing)
        leading, trailing, is_leading_blank = [], [], is_blank
        while at < end and text[at] not in _BREAKS:
            pieces.append((text[at], at))
            at += 1
        if at < end:
            read, following = _break(text, at, end)
            leading = [(read, at)]
            at, indent = _block_breaks(text, following, end, indent, trailing)
    if "-" not in header:
        pieces.extend(leading)
    if "+" in header:
        pieces.extend(trailing)
    return pieces


def _column(text: str, at: int) -> int:
    column = 0
    while at - column > 0 and text[at - column - 1] not in _BREAKS:
        column += 1
    return column


def _block_breaks(
    text: str, at: int, end: int, indent: int, breaks: list[_Piece]
) -> tuple[int, int]:
    """Takes indentation and empty lines; the deepest is the indent if none is known yet."""
    deepest = 0
    while True:
        column = 0
        while at < end and text[at] == " " and (not indent or column < indent):
            at, column = at + 1, column + 1
        deepest = max(deepest, column)
        if at >= end or text[at] not in _BREAKS:
            break
        read, following = _break(text, at, end)
        breaks.append((read, at))
        at = following
    return at, indent or max(deepest, 1)
