"""Comments that silence findings: `# kpolicy: ignore[KP312] why`.

Owns reading them, and the finding about those that silence nothing. Assumes placed diagnostics.
Must not know what a finding is about. Errors are never silenced: there is no program either way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kpolicy.diagnostics import Diagnostic, Edit, Fix, Severity, Span
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.yaml.source import SourceText, placed

_COMMENT: Final = re.compile(r"(?m)(?:^|(?<=\s))#[ \t]*kpolicy:[ \t]*ignore\[([^\]\n]*)\][^\r\n]*")
# A line that begins a block scalar: the comment on it stands for the lines of the block as well.
_BLOCK: Final = re.compile(r"[|>][-+0-9]{0,3}[ \t]*(?:#.*)?$")
_CODE: Final = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class _Suppression:
    """`lines` are those it stands for; `rest` is what to take away with the code."""

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
    """What is left, and a finding for each suppression without use.

    A comment concerns its own line; one that stands alone on a line, the next. Where that line
    begins a block, the block belongs to it. Codes that were not looked for are not unused.
    """
    suppressions = [one for text in texts for one in _suppressions(text)]
    by_place = {(one.text.name, line, one.code): one for one in suppressions for line in one.lines}
    used: set[_Suppression] = set()
    kept: list[Diagnostic] = []
    for diagnostic in diagnostics:
        place = diagnostic.place
        found = None
        if place is not None and diagnostic.severity is not Severity.ERROR:
            found = by_place.get((place.file, place.line, diagnostic.code))
        if found is None:
            kept.append(diagnostic)
        else:
            used.add(found)
    for one in suppressions:
        if one not in used and one.code not in not_looked_for:
            message = f"nothing on this line is {one.code}"
            hint = "remove it from the comment"
            fix = Fix((Edit(one.rest, ""),))
            said = remark("KP190", message, one.span, hint=hint, fix=fix)
            kept.append(placed(one.text, said))
    return kept


def _suppressions(text: SourceText) -> Iterator[_Suppression]:
    for found in _COMMENT.finditer(text.text):
        line, column = text.line_and_column(found.start())
        is_alone = not text.line(line)[: column - 1].strip()
        lines = _lines(text, line + is_alone)
        codes = list(_CODE.finditer(found.group(1)))
        for index, code in enumerate(codes):
            start = found.start(1) + code.start()
            span = Span(start, start + len(code.group()))
            if len(codes) == 1:
                rest = _comment(text, found, is_alone=is_alone)
            else:
                rest = _listed(found.start(1), codes, index)
            yield _Suppression(text, span, code.group(), lines, rest)


def _lines(text: SourceText, line: int) -> range:
    """The line, and the deeper ones below it if it begins a block."""
    last = len(text.line_starts)
    if line > last or not _BLOCK.search(text.line(line)):
        return range(line, line + 1)
    outer = _indent(text.line(line))
    end = line + 1
    while end <= last and (not text.line(end).strip() or _indent(text.line(end)) > outer):
        end += 1
    return range(line, end)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _comment(text: SourceText, found: re.Match[str], *, is_alone: bool) -> Span:
    """The whole comment: its line, if it stands alone, or with the space before it."""
    if is_alone:
        line, _ = text.line_and_column(found.start())
        starts = text.line_starts
        end = starts[line] if line < len(starts) else len(text.text)
        return Span(starts[line - 1], end)
    before = text.text[: found.start()]
    return Span(len(before.rstrip(" \t")), found.end())


def _listed(start: int, codes: list[re.Match[str]], index: int) -> Span:
    """One of several codes, with the comma before it, or behind the first."""
    if index:
        return Span(start + codes[index - 1].end(), start + codes[index].end())
    return Span(start + codes[0].start(), start + codes[1].start())
