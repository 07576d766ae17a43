"""Comments that silence findings: `# kpolicy: ignore[KP312] why`.

Owns reading them, and the finding about those that silence nothing. Assumes placed diagnostics.
Must not know what a finding is about. Errors are never silenced: there is no program either way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kpolicy.diagnostics import Diagnostic, Severity, Span
from kpolicy.policy.catalogue import remark
from kpolicy.policy.documents import placed
from kpolicy.policy.source import SourceText

_COMMENT: Final = re.compile(r"(?m)(?:^|(?<=\s))#[ \t]*kpolicy:[ \t]*ignore\[([^\]\n]*)\][^\n]*")


@dataclass(frozen=True, slots=True)
class _Suppression:
    text: SourceText
    span: Span
    code: str
    line: int


def without_suppressed(
    diagnostics: Iterable[Diagnostic], texts: Iterable[SourceText]
) -> list[Diagnostic]:
    """What is left, and a finding for each suppression without use.

    A comment concerns its own line; one that stands alone on a line, the next.
    """
    suppressions = [one for text in texts for one in _suppressions(text)]
    by_place = {(one.text.name, one.line, one.code): one for one in suppressions}
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
        if one not in used:
            message = f"nothing on this line is {one.code}"
            hint = "remove it from the comment"
            kept.append(placed(one.text, remark("KP190", message, one.span, hint=hint)))
    return kept


def _suppressions(text: SourceText) -> Iterable[_Suppression]:
    for found in _COMMENT.finditer(text.text):
        line, column = text.line_and_column(found.start())
        is_alone = not text.line(line)[: column - 1].strip()
        for code in re.finditer(r"[A-Za-z0-9]+", found.group(1)):
            start = found.start(1) + code.start()
            span = Span(start, start + len(code.group()))
            yield _Suppression(text, span, code.group(), line + is_alone)
