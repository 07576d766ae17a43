"""Findings as text: in full with carets, concise, and as annotations of GitHub.

Colour never carries meaning.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from kpolicy.diagnostics import Diagnostic, Place, Severity
from kpolicy.policy.yaml.source import Source, SourceText
from kpolicy.quick_dataclass import dataclass

_NOWHERE: Final = Place("", 1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Findings:
    """Diagnostics in the order of places, and the texts they are about."""

    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, SourceText]

    @staticmethod
    def of(diagnostics: Iterable[Diagnostic], sources: Sequence[Source]) -> Findings:
        texts = {source.name: SourceText(source.name, source.decoded) for source in sources}
        return Findings(tuple(diagnostics), texts)

    def count(self, severity: Severity) -> int:
        return sum(1 for finding in self.diagnostics if finding.severity is severity)


def place_of(diagnostic: Diagnostic) -> Place:
    return diagnostic.place or _NOWHERE


def summary(findings: Findings) -> str:
    if not findings.diagnostics:
        files = len(findings.texts)
        return f"no findings in {files} {'file' if files == 1 else 'files'}"
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    counts = [(findings.count(severity), word) for severity, word in words.items()]
    listed = ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts if n)
    total = len(findings.diagnostics)
    return f"{total} {'finding' if total == 1 else 'findings'}: {listed}{_fixable(findings)}"


def _fixable(findings: Findings) -> str:
    fixes = [finding.fix for finding in findings.diagnostics if finding.fix is not None]
    unsafe = sum(not fix.is_safe for fix in fixes)
    if not fixes:
        return ""
    aside = f" ({unsafe} unsafe)" if unsafe else ""
    return f"; {len(fixes)} fixable{aside} with --fix"


def fix_word(diagnostic: Diagnostic) -> str:
    """The kind of fix of a finding, in one word."""
    if diagnostic.fix is None:
        return ""
    return "fixable" if diagnostic.fix.is_safe else "fixable, unsafe"


def print_findings(diagnostics: Iterable[Diagnostic], sources: Sequence[Source]) -> None:
    """Prints findings and their number on standard error."""
    findings = Findings.of(diagnostics, sources)
    print(full(findings) + summary(findings), file=sys.stderr)


_GUTTER_MIN: Final = 2
# A longer line is shown in part.
COLUMNS: Final = 160
_COLUMNS_MIN: Final = 40
_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
GREEN: Final = "\x1b[32m"
_BLUE: Final = "\x1b[1;34m"
COLORS: Final = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;33m",
    Severity.INFO: "\x1b[1;36m",
}


@dataclass(frozen=True, slots=True)
class Paint:
    is_on: bool

    def __call__(self, text: str, color: str) -> str:
        return f"{color}{text}{_RESET}" if self.is_on and text else text


@dataclass(frozen=True, slots=True)
class _Mark:
    """An underline on one line; columns count from 1, the end is exclusive."""

    line: int
    column: int
    end_column: int
    label: str
    is_primary: bool


def full(findings: Findings, *, is_color: bool = False, columns: int = COLUMNS) -> str:
    """With the line of each place, which takes at most so many columns."""
    paint = Paint(is_color)
    return "".join(
        "\n".join(_finding_text(diagnostic, findings, paint, columns)) + "\n\n"
        for diagnostic in findings.diagnostics
    )


def concise(findings: Findings) -> str:
    placed = ((place_of(finding), finding) for finding in findings.diagnostics)
    return "".join(
        (f"{place}: " if place.file else "")
        + f"{finding.severity}[{finding.code}] {printable(finding.message)}\n"
        for place, finding in placed
    )


def github(findings: Findings) -> str:
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
    lines = []
    for finding in findings.diagnostics:
        place = place_of(finding)
        properties = {
            "file": place.file,
            "line": place.line,
            "col": place.column,
            "endLine": place.end_line,
            "endColumn": place.end_column,
            "title": finding.code,
        }
        listed = ",".join(f"{key}={_escaped(str(value))}" for key, value in properties.items())
        text = finding.message + (f" ({finding.hint})" if finding.hint else "")
        lines.append(f"::{words[finding.severity]} {listed}::{_escaped(text, is_message=True)}\n")
    return "".join(lines)


def _escaped(text: str, *, is_message: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text if is_message else text.replace(":", "%3A").replace(",", "%2C")


def _finding_text(
    diagnostic: Diagnostic, findings: Findings, paint: Paint, columns: int
) -> Iterator[str]:
    color = COLORS[diagnostic.severity]
    head = paint(f"{diagnostic.severity}[{diagnostic.code}]", color)
    yield f"{head}{paint(f': {printable(diagnostic.message)}', _BOLD)}"
    place = diagnostic.place
    gutter = " " * _GUTTER_MIN
    if place is not None:
        marks = _marks(diagnostic, place)
        width = max(_GUTTER_MIN, len(str(max(mark.line for mark in marks))))
        gutter = " " * width
        yield f"{gutter}{paint('-->', _BLUE)} {place}"
        text = findings.texts.get(place.file)
        if text is not None:
            room = max(columns - len(gutter) - len(" | "), _COLUMNS_MIN)
            yield from _snippet(text, marks, room, color, paint)
    for note in diagnostic.notes:
        if note.place is None or (place is not None and note.place.file != place.file):
            where = f" ({note.place.file}:{note.place.line})" if note.place else ""
            yield f"{gutter} {paint('=', _BLUE)} note: {printable(note.message)}{where}"
    word = fix_word(diagnostic)
    if diagnostic.hint:
        aside = f" ({word})" if word else ""
        yield f"{gutter} {paint('=', _BLUE)} hint: {printable(diagnostic.hint)}{aside}"
    elif word:
        yield f"{gutter} {paint('=', _BLUE)} {word}"


def _marks(diagnostic: Diagnostic, place: Place) -> list[_Mark]:
    """The finding's own mark and those of its notes; a note at its own place is its label."""
    label = ""
    marks = []
    for note in diagnostic.notes:
        if note.place is None or note.place.file != place.file:
            continue
        if note.place == place:
            label = printable(note.message)
        else:
            marks.append(_mark(note.place, printable(note.message), is_primary=False))
    marks.append(_mark(place, label, is_primary=True))
    return sorted(marks, key=lambda mark: (mark.line, mark.column))


def _mark(place: Place, label: str, *, is_primary: bool) -> _Mark:
    """A place over several lines is marked to the end of its first."""
    end = place.end_column if place.end_line == place.line else sys.maxsize
    return _Mark(place.line, place.column, max(end, place.column + 1), label, is_primary)


def _snippet(
    text: SourceText, marks: list[_Mark], room: int, color: str, paint: Paint
) -> Iterator[str]:
    width = max(_GUTTER_MIN, len(str(marks[-1].line)))
    bar = paint(f"{' ' * width} |", _BLUE)
    yield bar
    for number in sorted({mark.line for mark in marks}):
        # Tabs are one column here, so that carets stand where they belong.
        line = text.line(min(number, len(text.line_starts))).replace("\t", " ")
        here = [mark for mark in marks if mark.line == number]
        shown, here = _part(line, here, room)
        yield f"{paint(f'{number:>{width}} |', _BLUE)} {printable(shown)}".rstrip()
        yield from (f"{bar} {row}" for row in _underlines(shown, here, color, paint))


def _part(line: str, marks: list[_Mark], room: int) -> tuple[str, list[_Mark]]:
    """Of a long line, what is around its first mark, and the marks in that part; a third of the
    room is before the mark, so that one sees what it belongs to."""
    if len(line) <= room:
        return line, marks
    at = next((mark for mark in marks if mark.is_primary), marks[0]).column
    start = max(0, min(at - room // 3, len(line) - room))
    part = line[start : start + room]
    part = f"…{part[1:]}" if start else part
    part = f"{part[:-1]}…" if start + room < len(line) else part
    moved = [
        replace(mark, column=mark.column - start, end_column=min(mark.end_column - start, room + 1))
        for mark in marks
        if 0 < mark.column - start <= room + 1
    ]
    return part, moved


def _underlines(line: str, marks: list[_Mark], color: str, paint: Paint) -> Iterator[str]:
    """The row of marks with the last label, then the other labels below, from right to left."""
    row, at = "", 0
    for mark in marks:
        start = _width(line, mark.column - 1)
        end = max(start + 1, _width(line, min(mark.end_column - 1, max(len(line), mark.column))))
        if start < at:
            continue
        drawn = ("^" if mark.is_primary else "-") * (end - start)
        row += " " * (start - at) + paint(drawn, color if mark.is_primary else _BLUE)
        at = end
    yield f"{row} {marks[-1].label}".rstrip()
    for mark in reversed(marks[:-1]):
        if mark.label:
            yield " " * _width(line, mark.column - 1) + mark.label


def _width(line: str, columns: int) -> int:
    """How wide the first `columns` code points are on a terminal."""
    beyond = max(0, columns - len(line))
    wide = {"W": 2, "F": 2}
    return beyond + sum(
        0
        if unicodedata.combining(letter)
        else wide.get(unicodedata.east_asian_width(letter), len(printable(letter)))
        for letter in line[:columns]
    )


# C0 without tab and line feed, DEL, C1, and the marks that change the direction of text.
_CONTROL: Final = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"


def printable(text: str) -> str:
    """Text of files and clusters made safe for a terminal: control characters become escapes."""
    return re.sub(_CONTROL, _escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
