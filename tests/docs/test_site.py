"""The documentation site: its navigation has every page, and its links stay within the site."""

from __future__ import annotations

import re
from pathlib import Path

from build.documentation import PAGES, fetches_from_elsewhere, lay_out, nav_pages, place, relinked
from tests.tree.sources import ROOT

# Pages of the repository that are no part of `docs`.
PROJECT = {"README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG"}


def test_every_page_is_in_the_navigation_once() -> None:
    listed = nav_pages()
    assert len(listed) == len(set(listed)) > 65
    pages = {str(place(page)) for page in PAGES.rglob("*.md")}
    assert set(listed) == pages | {f"project/{name}.md" for name in PROJECT}


def test_every_link_of_a_page_leads_to_a_file_that_is_laid_out(tmp_path: Path) -> None:
    count = lay_out(tmp_path)
    assert count > 100
    links = 0
    for page in tmp_path.rglob("*.md"):
        text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text("utf-8"))
        for link in re.findall(r"\]\(([^)\s#]+)", text):
            if "://" not in link:
                links += 1
                assert (page.parent / link).is_file(), (page, link)
    assert links > 180


def test_a_link_to_a_folder_becomes_text_and_one_out_of_the_pages_a_file() -> None:
    text, linked = relinked(ROOT / "README.md")
    assert "[deploy/kustomize]" not in text
    assert "files/deploy/chart/values.yaml" in text
    assert ROOT / "ARCHITECTURE.md" in linked


def test_what_comes_from_another_host_is_found(tmp_path: Path) -> None:
    for name, text in {
        "script": '<script src="https://unpkg.com/x"></script>',
        "style": "<link rel=stylesheet href=//fonts.example.com/x>",
        "link": '<a href="https://cel.dev">CEL</a>',
        "canonical": '<link rel="canonical" href="https://kpolicy.dev/">',
        "own": '<script src="../x.js"></script>',
    }.items():
        (tmp_path / f"{name}.html").write_text(text, "utf-8")
    assert fetches_from_elsewhere(tmp_path) == ["script.html", "style.html"]
