"""Text in columns."""

from __future__ import annotations

from kpolicy.offline.reports.columns import columns, counted, counts_of_names, folded, listed


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = [["a", "1", "x"], ["bbb", "1000", ""], ["c"]]
    assert columns(rows, right=(1,), indent="> ") == ["> a       1  x", "> bbb  1000", "> c"]
    assert columns([]) == []


def test_numbers_and_names_are_written_as_people_do() -> None:
    assert [counted(number, "pod") for number in (0, 1, 1000)] == ["0 pods", "1 pod", "1,000 pods"]
    assert counted(2, "policy", "policies") == "2 policies"
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_a_line_is_folded_below_its_last_column() -> None:
    assert folded("  a  one two", 72) == ["  a  one two"]
    line = "    12  a reason  " + " ".join(["word"] * 12)
    assert folded(line, 50) == [
        "    12  a reason  " + " ".join(["word"] * 6),
        " " * 18 + " ".join(["word"] * 6),
    ]


def test_a_last_column_that_begins_too_far_on_the_right_goes_below_the_line() -> None:
    line = "    12  " + "r" * 40 + "  some nodes"
    assert folded(line, 50) == ["    12  " + "r" * 40, " " * 8 + "some nodes"]
    assert folded("x" * 60, 50) == ["x" * 60]


def test_counts_are_in_the_order_of_names() -> None:
    assert counts_of_names({"green": 1, "blue": 3000}) == "3,000 of blue, 1 of green"
    assert counts_of_names({}) == ""
