"""Every code of a problem is explained. Codes are written out where they are used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import kpolicy
from kpolicy.cluster import connection_problem
from kpolicy.scheduler import problem_codes

PACKAGE = Path(kpolicy.__file__).parent


@pytest.mark.parametrize(
    ("prefix", "explained", "catalogue", "used_min"),
    [
        ("KPC", "cluster/connection_problem.py", connection_problem.CATALOGUE, 24),
        ("KPS", "scheduler/problem_codes.py", problem_codes.CATALOGUE, 17),
    ],
)
def test_every_code_that_is_used_is_explained(
    prefix: str, explained: str, catalogue: Mapping[str, str], used_min: int
) -> None:
    sources = [path.read_text() for path in PACKAGE.rglob("*.py") if path != PACKAGE / explained]
    used = set(re.findall(rf'"({prefix}\d+)\b', "".join(sources)))
    assert len(used) >= used_min
    assert used == set(catalogue)
    assert all(re.fullmatch(rf"{prefix}\d{{3}}", code) for code in used)
