"""Text in columns."""

from __future__ import annotations

from kpolicy.offline.reports.columns import columns, counted, listed


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = [["a", "1", "x"], ["bbb", "1000", ""], ["c"]]
    assert columns(rows, right=(1,), indent="> ") == ["> a       1  x", "> bbb  1000", "> c"]
    assert columns([]) == []


def test_numbers_and_names_are_written_as_people_do() -> None:
    assert [counted(number, "pod") for number in (0, 1, 1000)] == ["0 pods", "1 pod", "1,000 pods"]
    assert counted(2, "policy", "policies") == "2 policies"
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a", "b", "c", "d"], 2) == "a, b and 2 more"
