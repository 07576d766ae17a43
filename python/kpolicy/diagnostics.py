"""Failures that a user can cause, as values with a code and a hint.

`Diagnostic` is a finding about a text, with its place; `Coded` is any other failure. The hint for a
misspelt name is the most similar name that exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Final

from kpolicy.quick_dataclass import dataclass


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of code points, `start <= offset < end`, in one text."""

    start: int
    end: int

    def shifted(self, by: int) -> Span:
        return Span(self.start + by, self.end + by)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file: lines and columns count from 1, columns in code points, end exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def extent(self) -> dict[str, int]:
        """Lines and columns, as JSON output shows them."""
        return {
            "line": self.line,
            "column": self.column,
            "endLine": self.end_line,
            "endColumn": self.end_column,
        }

    def document(self) -> dict[str, str | int]:
        """The file, lines and columns, as JSON output shows them."""
        return {"file": self.file, **self.extent()}


@dataclass(frozen=True, slots=True)
class Note:
    """A further remark of a diagnostic, for example on the first of two equal names."""

    message: str
    span: Span | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces a span by a text. Offsets count from the start of the file once the diagnostic has a
    place."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that resolve a finding when all are applied. `is_safe`: the meaning is certain, so
    `kpolicy lint --fix` applies it without `--unsafe-fixes`. `keeps_program`: a policy decides the
    same afterwards; otherwise the fix writes what a document meant before a change of kpolicy."""

    edits: tuple[Edit, ...]
    is_safe: bool = True
    keeps_program: bool = True


@dataclass(frozen=True, slots=True)
class Hint:
    """What to do about a finding, and the exact text to write instead where that is known.

    `span` is the text that `replacement` replaces; None: the text that the finding is about.
    """

    text: str
    replacement: str = ""
    span: Span | None = None

    def fix_at(self, span: Span, *, is_safe: bool = False) -> Fix | None:
        """The fix of a finding at `span`, or None if the hint names no replacement."""
        if not self.replacement:
            return None
        return Fix((Edit(self.span or span, self.replacement),), is_safe=is_safe)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: a stable code, one sentence on what is wrong, its place, and what to do.

    `span` counts from the start of the text that was checked (a document, an expression); it is
    replaced by `place`, a line of the file. `field` is a path such as
    `spec.predicates[2].expression`.
    """

    code: str
    severity: Severity
    message: str
    hint: str = ""
    span: Span | None = None
    place: Place | None = None
    field: str = ""
    notes: tuple[Note, ...] = ()
    fix: Fix | None = None

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR

    def at(self, place: Place | None, field: str = "") -> Diagnostic:
        return replace(self, place=place, span=None, field=field or self.field)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(diagnostic.is_error for diagnostic in diagnostics)


@dataclass(frozen=True, slots=True)
class Coded:
    """A failure as one line: a code, what is wrong, and what to do about it."""

    code: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" ({self.hint})" if self.hint else "")


_NAME_CHARACTERS_MAX: Final = 64
_SIMILARITY_MIN: Final = 0.7


def nearest(name: str, known: Iterable[str]) -> str:
    """The most similar name, or an empty string if none is similar."""
    if len(name) > _NAME_CHARACTERS_MAX:
        return ""
    from difflib import get_close_matches  # noqa: PLC0415  rarely used

    by_folded = {candidate.lower(): candidate for candidate in sorted(known)}
    found = get_close_matches(name.lower(), by_folded, n=1, cutoff=_SIMILARITY_MIN)
    return by_folded[found[0]] if found else ""


def is_slip(written: str, meant: str) -> bool:
    """Whether it is a typing error: at most two letters are wrong, and most are right."""
    return _distance(written, meant) <= min(2, len(meant) // 3)


def _distance(a: str, b: str) -> int:
    """The number of letters that are added, left out, changed, or swapped with the next one."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        row = [i]
        for j, y in enumerate(b, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def suggestion(name: str, known: Iterable[str]) -> Hint | None:
    """The hint that offers the nearest name as a replacement; None when nothing is near."""
    found = nearest(name, known)
    return Hint(f"did you mean `{found}`?", replacement=found) if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The text of that hint, or an empty string."""
    return (suggestion(name, known) or Hint("")).text
