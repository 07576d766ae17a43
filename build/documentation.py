"""Builds the documentation site: `python -m build.documentation MKDOCS FOLDER` (`make site`).

MkDocs knows links within one folder of pages only. So the pages and the files that they link to are
laid out in a temporary folder, with links that lead there; then MkDocs builds them, and fails at a
link or an anchor that leads nowhere. What was built must need nothing from other hosts.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

ROOT: Final = Path(__file__).resolve().parents[1]
PAGES: Final = ROOT / "docs"
CONFIGURATION: Final = ROOT / "build" / "mkdocs.yaml"
START: Final = PAGES / "index.md"
_LINK: Final = re.compile(r"(\]\()([^)\s]+)(\))")
_FENCE: Final = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
# What a browser fetches by itself when it shows a page.
_FETCHED: Final = re.compile(
    r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=[\"']?(https?:)?//", re.IGNORECASE
)
_CANONICAL: Final = re.compile(r"<link[^>]*rel=[\"']?canonical[^>]*>", re.IGNORECASE)


def nav_pages(configuration: Path = CONFIGURATION) -> list[str]:
    """The pages of the navigation, in order, as paths in the folder of pages."""
    return list(_leaves(yaml.safe_load(configuration.read_text("utf-8"))["nav"]))


def _leaves(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for value in node.values():
            yield from _leaves(value)
    elif isinstance(node, list):
        for value in node:
            yield from _leaves(value)


def lay_out(folder: Path) -> int:
    """Write all pages, and the files that they link to, into the folder. Returns their number."""
    waiting = [*PAGES.rglob("*.md"), *PAGES.glob("pictures/*.png")]
    written: set[Path] = set()
    while waiting:
        file = waiting.pop()
        if file in written:
            continue
        written.add(file)
        target = folder / place(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix != ".md":
            target.write_bytes(file.read_bytes())
            continue
        text, linked = relinked(file)
        target.write_text(text, "utf-8")
        waiting += linked
    return len(written)


def place(file: Path) -> Path:
    """Where a file of the repository is in the folder of pages."""
    if file.is_relative_to(PAGES):
        return file.relative_to(PAGES)
    folder = Path("project" if file.suffix == ".md" else "files")
    return folder / file.relative_to(ROOT)


def relinked(page: Path) -> tuple[str, list[Path]]:
    """The text of a page with links that lead within the folder of pages, and the files that they
    lead to. A link to a folder becomes its text, because the site has no folders."""
    linked: list[Path] = []

    def link(found: re.Match[str]) -> str:
        name, _, anchor = found[2].partition("#")
        if not name or "://" in found[2] or name.startswith("mailto:"):
            return found[0]
        target = (page.parent / name).resolve()
        if target.is_dir():
            index = target / "README.md"
            if not index.is_file():
                return ")"
            target = index
        if not target.is_file():
            return found[0]  # MkDocs reports it
        linked.append(target)
        relative = os.path.relpath(place(target), place(page).parent)
        return f"{found[1]}{relative}{'#' * bool(anchor)}{anchor}{found[3]}"

    parts = _FENCE.split(page.read_text("utf-8"))
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"\[([^\]\n]*)\)", r"\1", _LINK.sub(link, parts[at]))
    return "".join(parts), linked


def fetches_from_elsewhere(site: Path) -> list[str]:
    """Pages that let a browser fetch something from another host."""
    return [
        str(page.relative_to(site))
        for page in sorted(site.rglob("*.html"))
        if _FETCHED.search(_CANONICAL.sub("", page.read_text("utf-8")))
    ]


def build(mkdocs: Path, site: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder) / "pages"
        count = lay_out(pages)
        folders = {"docs_dir": str(pages), "site_dir": str(site.resolve())}
        written = Path(folder) / "mkdocs.yml"
        text = CONFIGURATION.read_text("utf-8") + yaml.safe_dump(folders)
        written.write_text(text, "utf-8")
        # With `--quiet`, MkDocs does not count warnings, and `--strict` finds none.
        done = subprocess.run(
            [str(mkdocs), "build", "--strict", "--config-file", str(written)],
            check=False,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        return done.returncode
    foreign = fetches_from_elsewhere(site)
    if foreign:
        print(f"these pages fetch from other hosts: {', '.join(foreign)}", file=sys.stderr)
        return 1
    print(f"{count} pages and files in {site}: open {site / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]).absolute(), Path(sys.argv[2])))
