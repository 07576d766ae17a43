"""Diagnostics: coded remarks about something a user wrote, as values.

Owns the types `Span`, `Place`, `Severity`, `Hint`, `Fix` and `Diagnostic`. Must not know how a
diagnostic is rendered, nor YAML, CEL or the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


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


@dataclass(frozen=True, slots=True)
class Note:
    """A second remark of a diagnostic, with a place of its own where it has one."""

    message: str
    span: Span | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """What to write instead of a span; of the whole file, once the diagnostic has a place."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that mend a finding, all or none. `is_safe`: nobody could have meant anything else."""

    edits: tuple[Edit, ...]
    is_safe: bool = True


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
    """One remark: a stable code, one sentence, where, and what to do.

    `span` is set while the text is known only by itself (an expression); the document layer turns
    it into `place`. `field` is the path of the field, as in `spec.predicates[2].expression`.
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

    def at(self, place: Place | None, field: str = "") -> Diagnostic:
        return replace(self, place=place, span=None, field=field or self.field)


def has_errors(diagnostics: tuple[Diagnostic, ...]) -> bool:
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
