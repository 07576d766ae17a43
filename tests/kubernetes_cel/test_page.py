"""The page shows the differences that the tests know."""

from __future__ import annotations

from tests.kubernetes_cel.differences import DIFFERENCES
from tests.kubernetes_cel.page import PAGE, renewed


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text("utf-8")
    assert page == renewed(page), "run `python -m tests.kubernetes_cel`"
    assert [known.id for known in DIFFERENCES if f"`{known.id}`" not in page] == []
