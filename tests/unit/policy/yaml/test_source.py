"""Offsets and lines of a text."""

from __future__ import annotations

from hypothesis import given, strategies as st

from kpolicy.diagnostics import Place, Span
from kpolicy.policy.yaml.source import SourceText


def test_lines_end_at_line_feeds_returns_and_both() -> None:
    text = SourceText("f", "a\nbc\r\nd\re")
    assert [text.line(n) for n in range(1, 5)] == ["a", "bc", "d", "e"]
    assert text.line_and_column(3) == (2, 2)
    assert text.line_and_column(7) == (4 - 1, 2)


def test_a_place_counts_code_points_from_one_with_an_exclusive_end() -> None:
    text = SourceText("f", "ä: 😀x\n")
    assert text.place(Span(3, 5)) == Place("f", 1, 4, 1, 6)


def test_a_quoted_text_is_placed_in_the_text_around_it() -> None:
    outer = SourceText("outer", "xx\n  inner")
    inner = SourceText("outer", "inner", (outer, lambda span: span.shifted(5)))
    assert inner.place(Span(0, 2)) == Place("outer", 2, 3, 2, 5)


@given(st.text(alphabet="ab\r\né😀", max_size=30), st.integers(0, 40))
def test_every_offset_has_a_line_that_holds_it(text: str, offset: int) -> None:
    source = SourceText("f", text)
    line, column = source.line_and_column(offset)
    assert 1 <= line <= len(source.line_starts)
    assert source.line_starts[line - 1] + column - 1 == min(offset, len(text))
