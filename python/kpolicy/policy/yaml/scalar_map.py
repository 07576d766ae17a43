"""The way from offsets in a scalar's value to offsets in the file.

Follows the raw text of the scalar by the rules of its style, and notes where each character of the
value comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kpolicy.diagnostics import Span
from kpolicy.policy.yaml.nodes import Scalar

# YAML 1.1 also breaks lines at these two, and does not fold them.
_SEPARATORS: Final = "\u2028\u2029"
_BREAKS: Final = f"\n\r\x85{_SEPARATORS}"
_BREAK: Final = f"\r\n|[{_BREAKS}]"
# A line break with the blanks around it, and any further ones.
_FOLD: Final = rf"(?P<fold>[ \t]*(?:(?:{_BREAK})[ \t]*)+)"
_ESCAPED_BREAK: Final = rf"\\(?:{_BREAK})(?P<rest>(?:[ \t]|{_BREAK})*)"
_ESCAPE: Final = r"\\(?:x.{2}|u.{4}|U.{8}|.)"
# Blanks are read as a whole, so that many of them take no more than linear time.
_BLANKS: Final = r"(?P<blanks>[ \t]+)"
# By style: what stands for characters of the value. Most scalars stand for themselves.
_TOKENS: Final = {
    "": rf"{_FOLD}|{_BLANKS}|.",
    "'": rf"{_FOLD}|{_BLANKS}|''|.",
    '"': rf"{_ESCAPED_BREAK}|{_FOLD}|{_BLANKS}|{_ESCAPE}|.",
}
_BLOCK_HEADER: Final = rf"([^{_BREAKS}]*)(?:{_BREAK})?"
_BLANK_LINES: Final = f"[ {_BREAKS}]*"
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
    """The offset of each character of the value and of its end; None if none is known."""
    span, value = scalar.span, scalar.text
    if text[span.start : span.end] == value:
        return range(span.start, span.end + 1)
    for offsets in _readings(text, scalar):
        # A character stands for itself; the exceptions are line breaks and escapes.
        if len(offsets) == len(value) and all(
            text[offset] in (character, "\\") or text[offset] in _BREAKS
            for offset, character in zip(offsets, value, strict=True)
        ):
            return [*offsets, offsets[-1] + 1 if offsets else span.start]
    return None


def _readings(text: str, scalar: Scalar) -> Iterator[list[int]]:
    start, end = scalar.span.start, scalar.span.end
    if scalar.style not in ("|", ">"):
        quote = len(scalar.style)
        yield _flow(text, start + quote, end - quote, re.compile(_TOKENS[scalar.style], re.DOTALL))
        return
    opening = re.compile(_BLOCK_HEADER).match(text, start, end)
    assert opening is not None, "the pattern matches any text"
    header, body = opening[1].partition("#")[0].strip(), opening.end()
    indicator = next((int(character) for character in header if character.isdigit()), 0)
    blank = re.compile(_BLANK_LINES).match(text, body, end)
    assert blank is not None, "the pattern matches any text"
    deepest = max(map(len, re.split(_BREAK, blank[0])))
    for indent in range(indicator, _INDENT_MAX) if indicator else (max(deepest, 1),):
        yield _block(text, body, end, indent, header)


def _flow(text: str, start: int, end: int, tokens: re.Pattern[str]) -> list[int]:
    """Plain, single-quoted and double-quoted scalars, which fold lines in the same way."""
    offsets: list[int] = []
    for token in tokens.finditer(text, start, end):
        if token.lastgroup is None:
            offsets.append(token.start())
        elif token.lastgroup == "blanks":
            offsets += range(*token.span())
        else:
            ends = re.compile(_BREAK).finditer(text, *token.span(token.lastgroup))
            breaks = [found.start() for found in ends]
            # One break is read as a space, and of several all but the first. A break that is
            # escaped is not read, but all that follow it are.
            is_folded = token.lastgroup == "fold" and text[breaks[0]] not in _SEPARATORS
            offsets += (breaks[1:] or breaks) if is_folded else breaks
    return offsets


def _block(text: str, body: int, end: int, indent: int, header: str) -> list[int]:
    """Literal and folded blocks, line by line."""
    offsets: list[int] = []
    # The break that ends the last line, and those of blank lines since.
    leading: list[int] = []
    trailing: list[int] = []
    is_last_indented = False
    lines = re.compile(rf"( {{0,{indent}}})([^{_BREAKS}]*)({_BREAK})?")
    for line in lines.finditer(text, body, end):
        if not line[2]:
            trailing += [line.start(3)] if line[3] else []
            continue
        if len(line[1]) < indent:
            break
        is_indented = line[2][0] in " \t"
        is_folded = header[0] == ">" and leading and text[leading[0]] not in _SEPARATORS
        if not is_folded or is_last_indented or is_indented or not trailing:
            offsets += leading
        offsets += [*trailing, *range(*line.span(2))]
        leading, trailing = [line.start(3)] if line[3] else [], []
        is_last_indented = is_indented
    offsets += leading if "-" not in header else []
    return offsets + trailing if "+" in header else offsets
