"""A text that somebody wrote, and the way from offsets in it to lines and columns.

Owns `Source` and `SourceText`. Assumes text or bytes of any content. Must not know YAML.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from kpolicy.diagnostics import Diagnostic, Fix, Place, Span

BYTE_ORDER_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Source:
    """What to compile: a name to print in diagnostics, and the text or bytes behind it."""

    name: str
    text: str | bytes
    # False for a file found in a folder: documents of other kinds in it are passed over.
    is_named: bool = True
    # Manifests that params are taken from, and no policies.
    is_for_params: bool = False

    @property
    def decoded(self) -> str:
        """The text. Bytes that are not UTF-8 become replacement characters."""
        text = self.text
        return text if isinstance(text, str) else text.decode("utf-8", "replace")

    @property
    def encoded(self) -> bytes:
        text = self.text
        return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


@dataclass(frozen=True)
class SourceText:
    """Decoded text with its lines. Offsets, lines and columns count code points."""

    name: str
    text: str
    # The text this one is quoted in (a ConfigMap), and where its offsets are there.
    within: tuple[SourceText, Callable[[Span], Span]] | None = None
    # False where quotes would need an escape there.
    is_verbatim: bool = True

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Offsets at which lines start; `\\n`, `\\r\\n` and a lone `\\r` end one."""
        starts = [0]
        text = self.text
        if "\r" not in text:
            offset = text.find("\n")
            while offset >= 0:
                starts.append(offset + 1)
                offset = text.find("\n", offset + 1)
            return tuple(starts)
        for offset, character in enumerate(text):
            if character == "\n" or (character == "\r" and text[offset + 1 : offset + 2] != "\n"):
                starts.append(offset + 1)
        return tuple(starts)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def place(self, span: Span) -> Place:
        """Where it is in the file that a person would open."""
        if self.within is not None:
            outer, to_outer = self.within
            return outer.place(to_outer(span))
        line, column = self.line_and_column(span.start)
        end_line, end_column = self.line_and_column(max(span.start, span.end))
        return Place(self.name, line, column, end_line, end_column)

    def file_span(self, span: Span) -> Span:
        """The same in the file that a person would open."""
        if self.within is None:
            return span
        outer, to_outer = self.within
        return outer.file_span(to_outer(span))

    def line(self, number: int) -> str:
        """The text of a line counted from 1, without its end."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


def placed(text: SourceText, diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic with places instead of spans."""
    notes = tuple(
        replace(note, place=text.place(note.span), span=None) if note.span else note
        for note in diagnostic.notes
    )
    span = diagnostic.span
    placed = diagnostic.at(text.place(span)) if span is not None else diagnostic
    return replace(placed, notes=notes, fix=_placed_fix(text, diagnostic.fix))


def _placed_fix(text: SourceText, fix: Fix | None) -> Fix | None:
    """The fix with spans of the file; none where its text would have to be escaped."""
    if fix is None or text.within is None:
        return fix
    if not text.is_verbatim and any(set(edit.text) & set("'\"\\") for edit in fix.edits):
        return None
    edits = tuple(replace(edit, span=text.file_span(edit.span)) for edit in fix.edits)
    return replace(fix, edits=edits)
