"""Problems have codes that are unique and explained, and texts of one line."""

from __future__ import annotations

import re
from pathlib import Path

import kpolicy
from kpolicy.cluster.connection_problem import CATALOGUE, one_line, problem

PACKAGE = Path(kpolicy.__file__).parent
CODES = "cluster/connection_problem.py"


def test_every_code_that_is_used_is_explained() -> None:
    """Codes are written out where they are used."""
    sources = [path.read_text() for path in PACKAGE.rglob("*.py") if path != PACKAGE / CODES]
    used = set(re.findall(r'"(KPC\d+)"', "".join(sources)))
    assert len(used) >= 24
    assert used == set(CATALOGUE)
    assert all(re.fullmatch(r"KPC\d{3}", code) for code in used)


def test_foreign_text_becomes_one_printable_line_of_bounded_length() -> None:
    assert one_line("a\r\n  b\tc\x1b[31m") == "a b c�[31m"
    assert len(one_line("x " * 100_000)) <= 2048
    assert str(problem("KPC101", "a\nb", "c\nd")) == "KPC101: a b (c d)"
