"""`python -m build.statements [REV]`: statements and files of the product's Python, by package.

Statements are counted in the syntax tree, so that layout does not matter; docstrings do not count.
With a revision, counts at that revision stand beside those of the work tree.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = "python/kpolicy"


def statements(text: str) -> int:
    def is_text(node: ast.stmt) -> bool:
        return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)

    nodes = ast.walk(ast.parse(text))
    return sum(isinstance(node, ast.stmt) and not is_text(node) for node in nodes)


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


def sources(revision: str | None) -> dict[str, str]:
    """The text of every module, by its path inside the product."""
    if revision is None:
        paths = (ROOT / PRODUCT).rglob("*.py")
        return {str(path.relative_to(ROOT / PRODUCT)): path.read_text() for path in paths}
    listed = git("ls-tree", "-r", "--name-only", revision, PRODUCT).split()
    names = [name for name in listed if name.endswith(".py")]
    return {
        str(Path(name).relative_to(PRODUCT)): git("show", f"{revision}:{name}") for name in names
    }


def counted(texts: dict[str, str]) -> tuple[Counter[str], Counter[str]]:
    by_package: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for name, text in texts.items():
        package = Path(name).parts[0]
        by_package[package] += statements(text)
        files[package] += 1
    return by_package, files


def main() -> None:
    now, files = counted(sources(None))
    if len(sys.argv) < 2:
        for package in sorted(now):
            print(f"{package:16} {now[package]:6} statements {files[package]:4} files")
        print(f"{'all':16} {now.total():6} statements {files.total():4} files")
        return
    before, files_before = counted(sources(sys.argv[1]))
    for package in [*sorted(now | before), "all"]:
        is_sum = package == "all"
        old, new = (c.total() if is_sum else c[package] for c in (before, now))
        old_files, new_files = (c.total() if is_sum else c[package] for c in (files_before, files))
        share = f"{(new - old) / old:+.1%}" if old else "new"
        print(f"{package:16} {old:6} -> {new:6} {share:>7}   {old_files:4} -> {new_files:4} files")


if __name__ == "__main__":
    main()
