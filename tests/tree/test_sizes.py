"""Files stay small enough to be one responsibility."""

from __future__ import annotations

from tests.tree.sources import ROOT, with_suffix

LINES_MAX = 800
LINES_P90_MAX = 400
RUST_LINES_MAX = 400


def line_counts() -> dict[str, int]:
    return {
        str(path.relative_to(ROOT)): path.read_bytes().count(b"\n")
        for path in with_suffix(".py", ".pyi", ".rs", ".go")
    }


def test_no_file_is_a_place_where_everything_meets() -> None:
    counts = line_counts()
    assert len(counts) > 100
    assert {name: lines for name, lines in counts.items() if lines > LINES_MAX} == {}


def test_nine_of_ten_files_are_short() -> None:
    counts = sorted(line_counts().values())
    assert len(counts) > 100
    assert counts[len(counts) * 9 // 10] <= LINES_P90_MAX


def test_every_rust_file_is_short() -> None:
    counts = {name: lines for name, lines in line_counts().items() if name.endswith(".rs")}
    assert len(counts) > 350
    assert {name: lines for name, lines in counts.items() if lines > RUST_LINES_MAX} == {}
