"""Problems have codes that are unique and explained, and texts of one line."""

from __future__ import annotations

import re

from kpolicy.cluster import connection_problem as codes
from kpolicy.cluster.connection_problem import CATALOGUE, one_line, problem


def test_every_code_is_explained_once() -> None:
    named = [
        value
        for name, value in vars(codes).items()
        if name.isupper() and isinstance(value, str) and value.startswith("KPC")
    ]
    assert len(named) >= 24
    assert len(set(named)) == len(named)
    assert set(CATALOGUE) == set(named)
    assert all(re.fullmatch(r"KPC\d{3}", code) for code in named)


def test_foreign_text_becomes_one_printable_line_of_bounded_length() -> None:
    assert one_line("a\r\n  b\tc\x1b[31m") == "a b c�[31m"
    assert len(one_line("x " * 100_000)) <= 2048
    assert str(problem("KPC101", "a\nb", "c\nd")) == "KPC101: a b (c d)"
