"""`make quick`: checks formatting, lint, types and the unit tests of a change, in seconds. The
tests are the changed ones, and those that import a changed module.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
# More changed modules than this are a change for `make test`.
MODULES_MAX = 40
TREE_TESTS = "tests/tree"


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if line]


def changed_files(base: str) -> list[Path]:
    names = git("diff", "--name-only", "--diff-filter=d", base)
    names += git("ls-files", "--others", "--exclude-standard")
    return [Path(name) for name in sorted(set(names)) if (ROOT / name).is_file()]


def module_of(path: Path) -> str:
    """The dotted name of a Python file of the product or the tests."""
    parts = path.with_suffix("").parts
    parts = parts[1:] if parts[0] == "python" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def is_quick_test(path: Path) -> bool:
    return path.parts[:2] in {("tests", "unit"), ("tests", "tree")} and path.name.startswith(
        "test_"
    )


def tests_of(changed: list[Path]) -> list[Path]:
    """Unit tests that changed, or that stand for or import a module that changed."""
    modules = {module_of(path) for path in changed if path.suffix == ".py"}
    found = {path for path in changed if path.suffix == ".py" and is_quick_test(path)}
    for path in (path.relative_to(ROOT) for path in sorted((ROOT / "tests/unit").rglob("*.py"))):
        if is_quick_test(path) and imported_names(path) & modules:
            found.add(path)
    return sorted(found)


def crates_of(changed: list[Path]) -> list[str]:
    return sorted({path.parts[1] for path in changed if path.parts[0] == "rust"})


def commands(changed: list[Path]) -> list[list[str]]:
    python = [str(path) for path in changed if path.suffix in {".py", ".pyi"}]
    planned: list[list[str]] = []
    if python:
        planned.append([str(BIN / "ruff"), "format", "--check", *python])
        planned.append([str(BIN / "ruff"), "check", *python])
        planned.append([str(BIN / "mypy")])
        planned.append([str(BIN / "lint-imports"), "--no-cache"])
    for crate in crates_of(changed):
        planned.append(["cargo", "fmt", "--check", "-p", crate])
        planned.append(["cargo", "clippy", "-q", "--locked", "-p", crate, "--", "-D", "warnings"])
        planned.append(["cargo", "test", "-q", "--locked", "-p", crate, "--lib"])
    tests = [str(path) for path in tests_of(changed)]
    planned.append([str(BIN / "pytest"), "-q", "-x", "-m", "not slow", *tests, TREE_TESTS])
    return planned


def main() -> int:
    parser = argparse.ArgumentParser(prog="make quick", description=__doc__)
    parser.add_argument("--base", default="HEAD", help="the commit to compare with")
    base = parser.parse_args().base
    changed = changed_files(base)
    if not changed:
        print(f"nothing changed since {base}")
        return 0
    if len(changed) > MODULES_MAX:
        print(f"{len(changed)} files changed since {base}: run `make lint` and `make test`")
        return 1
    started = time.monotonic()
    for command in commands(changed):
        print("==>", Path(command[0]).name, *command[1:4], "…" if len(command) > 4 else "")
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            return 1
    print(f"{len(changed)} changed files checked in {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
