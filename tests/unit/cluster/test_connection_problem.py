"""The texts of problems are one line."""

from __future__ import annotations

from kpolicy.cluster.connection_problem import one_line, problem


def test_foreign_text_becomes_one_printable_line_of_bounded_length() -> None:
    assert one_line("a\r\n  b\tc\x1b[31m") == "a b c�[31m"
    assert len(one_line("x " * 100_000)) <= 2048
    assert str(problem("KPC101", "a\nb", "c\nd")) == "KPC101: a b (c d)"
