"""Comments that silence findings: `# kpolicy: ignore[KP312] why`.

A comment that silences nothing is a finding itself. Errors are never silenced.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from kpolicy.diagnostics import Diagnostic, Edit, Fix, Span
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.yaml.source import SourceText, placed

_COMMENT: Final = re.compile(r"(?m)(?:^|(?<=\s))#[ \t]*kpolicy:[ \t]*ignore\[([^\]\n]*)\][^\r\n]*")
# A line that begins a block scalar: the comment on it also covers the lines of the block.
_BLOCK: Final = re.compile(r"[|>][-+0-9]{0,3}[ \t]*(?:#.*)?$")
_CODE: Final = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class _Suppression:
    """One code of a comment. `lines`: those that it covers; `rest`: the text to remove with it."""

    text: SourceText
    span: Span
    code: str
    lines: range
    rest: Span


def without_suppressed(
    diagnostics: Iterable[Diagnostic],
    texts: Iterable[SourceText],
    not_looked_for: Collection[str] = (),
) -> list[Diagnostic]:
    """The findings that no comment silences, and a finding for each unused code.

    A comment covers its own line, or the next line if it is alone on its line. If that line begins
    a block scalar, the block is covered too. Codes in `not_looked_for` are never unused.
    """
    suppressions = list(chain.from_iterable(map(_suppressions, texts)))
    by_place = {(s.text.name, line, s.code): s for s in suppressions for line in s.lines}
    used: set[_Suppression] = set()
    kept: list[Diagnostic] = []
    for diagnostic in diagnostics:
        place = None if diagnostic.is_error else diagnostic.place
        found = by_place.get((place.file, place.line, diagnostic.code)) if place else None
        if found is None:
            kept.append(diagnostic)
        else:
            used.add(found)
    kept += (
        _unused(suppression)
        for suppression in suppressions
        if suppression not in used and suppression.code not in not_looked_for
    )
    return kept


def _unused(suppression: _Suppression) -> Diagnostic:
    finding = remark(
        "KP190",
        f"nothing on this line is {suppression.code}",
        suppression.span,
        hint="remove it from the comment",
        fix=Fix((Edit(suppression.rest, ""),)),
    )
    return placed(suppression.text, finding)


def _suppressions(text: SourceText) -> Iterator[_Suppression]:
    for found in _COMMENT.finditer(text.text):
        line, column = text.line_and_column(found.start())
        is_alone = not text.line(line)[: column - 1].strip()
        lines = _lines(text, line + is_alone)
        codes = list(_CODE.finditer(found.group(1)))
        for index, code in enumerate(codes):
            span = Span(*code.span()).shifted(found.start(1))
            whole = _comment(text, found, is_alone=is_alone)
            rest = whole if len(codes) == 1 else _listed(codes, index).shifted(found.start(1))
            yield _Suppression(text, span, code.group(), lines, rest)


def _lines(text: SourceText, line: int) -> range:
    """The line, and the lines of the block scalar that begins on it."""
    last, end = len(text.line_starts), line + 1
    if line <= last and _BLOCK.search(text.line(line)):
        outer = _indent(text.line(line))
        while end <= last and (not text.line(end).strip() or _indent(text.line(end)) > outer):
            end += 1
    return range(line, end)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _comment(text: SourceText, found: re.Match[str], *, is_alone: bool) -> Span:
    """The whole comment: its line if it is alone there, otherwise with the space before it."""
    if is_alone:
        line, _ = text.line_and_column(found.start())
        starts = text.line_starts
        return Span(starts[line - 1], starts[line] if line < len(starts) else len(text.text))
    before = text.text[: found.start()]
    return Span(len(before.rstrip(" \t")), found.end())


def _listed(codes: list[re.Match[str]], index: int) -> Span:
    """One of several codes with the comma before it; the first code with the comma after it."""
    if index:
        return Span(codes[index - 1].end(), codes[index].end())
    return Span(codes[0].start(), codes[1].start())
