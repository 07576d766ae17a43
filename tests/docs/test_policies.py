"""The pages of shipped policies: there is one for each, and what it shows is what is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kpolicy.policy.compile import shipped_names
from tests.docs.pages import commands, pages, printed
from tests.tree.sources import ROOT

INDEX = ROOT / "docs" / "policies" / "README.md"


def of_policies() -> list[Path]:
    return [page for page in pages() if page.parent == INDEX.parent and page != INDEX]


def test_every_shipped_policy_has_a_page_in_the_index() -> None:
    assert len(shipped_names()) >= 13
    assert {page.stem for page in of_policies()} == set(shipped_names())
    linked = set(re.findall(r"\]\(([a-z-]+)\.md\)", INDEX.read_text("utf-8")))
    assert linked == set(shipped_names())


def test_every_page_shows_a_policy_at_work_and_its_tests() -> None:
    looked_at = 0
    for page in of_policies():
        verbs = [shown.command.split()[0] for shown in commands(page)]
        assert "test" in verbs, page
        looked_at += 1
        assert all(shown.output for shown in commands(page)), page
    assert looked_at == len(shipped_names())


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_what_a_page_shows_is_what_is_printed(page: Path) -> None:
    for shown in commands(page):
        assert printed(shown.command) == shown.output, shown.command
