"""Carets are below the right characters."""

from __future__ import annotations

import pytest

from kpolicy.cli.findings_text import Findings, full, summary
from kpolicy.diagnostics import Diagnostic, Note, Place, Severity
from kpolicy.policy.yaml.source import Source


def shown(text: str, place: Place, *notes: Note, hint: str = "", is_color: bool = False) -> str:
    finding = Diagnostic("KP204", Severity.ERROR, "wrong", hint, place=place, notes=notes)
    findings = Findings.of([finding], [Source("f", text)])
    return full(findings, is_color=is_color)


def carets(text: str, place: Place) -> str:
    return shown(text, place).splitlines()[4]


def test_wide_characters_and_tabs_do_not_move_carets() -> None:
    assert carets("ab: x", Place("f", 1, 5, 1, 6)) == "   |     ^"
    assert carets("\tb: x", Place("f", 1, 5, 1, 6)) == "   |     ^"
    assert carets("日本: x", Place("f", 1, 5, 1, 6)) == "   |       ^"


@pytest.mark.parametrize("at", [1, 40, 100, 300, 560, 600])
def test_of_a_long_line_only_what_is_around_the_place_is_shown(at: int) -> None:
    text = "-" * (at - 1) + "x" + "-" * (600 - at)
    place = Place("f", 1, at, 1, at + 1)
    finding = Diagnostic("KP204", Severity.ERROR, "wrong", place=place)
    lines = full(Findings.of([finding], [Source("f", text)]), columns=72).splitlines()
    assert max(map(len, lines)) <= 72
    shown, below = lines[3:5]
    assert shown.index("x") == below.index("^")
    assert (" | …" in shown, shown.endswith("…")) == (at > 30, at < 550)


def test_the_end_of_a_line_can_be_meant() -> None:
    assert carets("a &&", Place("f", 1, 5, 1, 5)) == "   |     ^"


def test_a_place_over_lines_is_marked_to_the_end_of_its_first() -> None:
    assert carets("a: bcd\ne", Place("f", 1, 4, 2, 2)) == "   |    ^^^"


def test_line_numbers_of_any_width_are_aligned() -> None:
    text = "x\n" * 1233 + "abc\n"
    lines = shown(text, Place("f", 1234, 1, 1234, 4)).splitlines()
    assert lines[1:5] == ["    --> f:1234:1", "     |", "1234 | abc", "     | ^^^"]


def test_a_note_without_a_place_and_a_hint_come_below() -> None:
    lines = shown("abc", Place("f", 1, 1, 1, 2), Note("why"), hint="do so").splitlines()
    assert lines[-3:-1] == ["   = note: why", "   = hint: do so"]


def test_a_note_at_the_same_place_is_its_label() -> None:
    place = Place("f", 1, 1, 1, 4)
    assert shown("abc", place, Note("here", place=place)).splitlines()[4] == "   | ^^^ here"


def test_colour_adds_nothing_but_colour() -> None:
    import re

    place = Place("f", 1, 1, 1, 2)
    colored = shown("abc", place, hint="h", is_color=True)
    assert "\x1b[1;31m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == shown("abc", place, hint="h")


def test_findings_are_counted_in_words() -> None:
    listed = [
        Diagnostic("KP204", severity, "m")
        for severity in (Severity.ERROR, Severity.WARNING, Severity.WARNING, Severity.INFO)
    ]
    findings = Findings.of(listed, [])
    assert summary(findings) == "4 findings: 1 error, 2 warnings, 1 note"
    assert full(findings).count("[KP204]: m") == 4
