"""Pages name files, modules and anchors that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.tree.sources import ROOT

_FILE = re.compile(r"`([\w./-]+\.(?:rs|py|pyi|yaml|md|toml|json|sh|svg|txt))`")
_MODULE = re.compile(r"python -m ((?:tests|benches|build|kpolicy)[\w.]*\w)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")

# Files that a reader makes by following the page, files of users, and files of the examples.
NOT_IN_THE_REPOSITORY = {
    "rust/kpolicy-engine/src/rules/fewest_pods.rs",
    "model/priority_class.rs",
    "kinds/priority_class.rs",
    "scheduler.json",
    "kpolicy.toml",
    "status.json",
}


def _tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return listed.stdout.splitlines()


def _pages(files: list[str]) -> dict[Path, str]:
    written = (
        ROOT / name for name in files if name.endswith(".md") and not name.startswith("tests/")
    )
    return {page: page.read_text("utf-8") for page in written}


def test_every_file_and_module_that_a_page_names_exists() -> None:
    files = _tracked()
    looked_at = 0
    missing = []
    for page, text in _pages(files).items():
        names = {*_FILE.findall(text)} - NOT_IN_THE_REPOSITORY
        modules = {*_MODULE.findall(text)}
        looked_at += len(names) + len(modules)
        missing += [
            f"{page.relative_to(ROOT)}: {name}"
            for name in names
            if not any(f"/{file}".endswith(f"/{name}") for file in files)
        ]
        missing += [
            f"{page.relative_to(ROOT)}: python -m {module}"
            for module in modules
            if not _is_module(module)
        ]
    assert missing == []
    assert looked_at > 120


def _is_module(module: str) -> bool:
    path = Path(*module.split("."))
    candidates = (path.with_suffix(".py"), path / "__main__.py")
    return any((root / file).exists() for root in (ROOT, ROOT / "python") for file in candidates)


def test_every_link_leads_somewhere() -> None:
    pages = _pages(_tracked())
    looked_at = 0
    broken = []
    for page, text in pages.items():
        for link in _LINK.findall(text):
            if "://" in link:
                continue
            looked_at += 1
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (anchor and anchor not in _anchors(target)):
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []
    assert looked_at > 90


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
