"""Codes of the scheduler are explained."""

from __future__ import annotations

import re
from pathlib import Path

import kpolicy
from kpolicy.scheduler.problem_codes import CATALOGUE

PACKAGE = Path(kpolicy.__file__).parent
CODES = "scheduler/problem_codes.py"


def test_every_code_that_is_used_is_explained() -> None:
    """Codes are written out where they are used."""
    sources = [path.read_text() for path in PACKAGE.rglob("*.py") if path != PACKAGE / CODES]
    used = set(re.findall(r'"(KPS\d+)\b', "".join(sources)))
    assert len(used) >= 17
    assert used == set(CATALOGUE)
    assert all(re.fullmatch(r"KPS\d{3}", code) for code in used)
