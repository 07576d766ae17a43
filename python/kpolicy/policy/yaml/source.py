"""Texts to compile, and the way from offsets in them to lines and columns of a file."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from kpolicy.diagnostics import Diagnostic, Fix, Place, Span
from kpolicy.quick_dataclass import dataclass

BYTE_ORDER_MARK: Final = "\ufeff"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, order=True)
class Tenant:
    """Who wrote a policy, if it is not the operator: the tenant's name, and the namespaces of the
    tenant's pods."""

    name: str
    namespaces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """What to compile: a name to print in diagnostics, and the text or bytes behind it."""

    name: str
    text: str | bytes
    # False for a file found in a folder: its documents of other kinds are ignored.
    is_named: bool = True
    # The file holds ConfigMaps with values of params, and no policies.
    is_for_params: bool = False
    # None: the operator's.
    tenant: Tenant | None = None

    @property
    def decoded(self) -> str:
        """The text. Bytes that are not UTF-8 become replacement characters."""
        text = self.text
        return text if isinstance(text, str) else text.decode("utf-8", "replace")

    @property
    def encoded(self) -> bytes:
        text = self.text
        return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def named_sources(sources: Sequence[Source | str] | Source | str) -> list[Source]:
    """One or several sources as a list; a text without a name is `policy-1.yaml` and so on."""
    listed = [sources] if isinstance(sources, (Source, str)) else sources
    return [
        source if isinstance(source, Source) else Source(f"policy-{number}.yaml", source)
        for number, source in enumerate(listed, start=1)
    ]


@dataclass(frozen=True)
class SourceText:
    """Decoded text with its lines. Offsets, lines and columns count code points."""

    name: str
    text: str
    # The text that quotes this one (a ConfigMap), and a function from spans here to spans there.
    within: tuple[SourceText, Callable[[Span], Span]] | None = None
    # False if quotes and backslashes must be escaped there.
    is_verbatim: bool = True

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Offsets at which lines start; `\\n`, `\\r\\n` and a lone `\\r` end one."""
        return (0, *(found.end() for found in _LINE_END.finditer(self.text)))

    def line_and_column(self, offset: int) -> tuple[int, int]:
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def place(self, span: Span) -> Place:
        """The place in the file, also for a text quoted in another one."""
        text, span = self._in_file(span)
        start, end = (text.line_and_column(at) for at in (span.start, max(span.start, span.end)))
        return Place(text.name, *start, *end)

    def file_span(self, span: Span) -> Span:
        """The span in the file, also for a text quoted in another one."""
        return self._in_file(span)[1]

    def _in_file(self, span: Span) -> tuple[SourceText, Span]:
        if self.within is None:
            return self, span
        outer, to_outer = self.within
        return outer._in_file(to_outer(span))

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
    """The fix with spans of the file; None if its text would have to be escaped there."""
    if fix is None or text.within is None:
        return fix
    if not text.is_verbatim and any(set(edit.text) & set("'\"\\") for edit in fix.edits):
        return None
    edits = tuple(replace(edit, span=text.file_span(edit.span)) for edit in fix.edits)
    return replace(fix, edits=edits)
