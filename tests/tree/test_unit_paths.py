"""Unit tests stand at the path of what they test: `tests/unit/cluster/test_lease.py` tests
`kpolicy/cluster/lease.py`, and `test_lease_held.py` beside it would test one side of it.
"""

from __future__ import annotations

from pathlib import Path

from tests.tree.sources import ROOT, with_suffix

UNIT = ROOT / "tests" / "unit"
# Folders of unit tests that are not about the package `kpolicy`.
OTHERS = {"benches": ROOT / "benches", "invariants": ROOT / "tests" / "invariants"}


def folder_of(test: Path) -> Path:
    first, *rest = (*test.relative_to(UNIT).parent.parts, "")
    return (
        OTHERS[first].joinpath(*rest)
        if first in OTHERS
        else (ROOT / "python" / "kpolicy" / first).joinpath(*rest)
    )


def modules_of(folder: Path) -> set[str]:
    """Names that a test in this folder may begin with: its modules, packages and itself."""
    if not folder.is_dir():
        return set()
    inside = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    return (inside | {folder.name}) - {"__init__", "__pycache__"}


def test_unit_tests_stand_at_the_path_of_what_they_test() -> None:
    tests = [
        path
        for path in with_suffix(".py")
        if path.is_relative_to(UNIT) and path.name.startswith("test_")
    ]
    assert len(tests) > 180
    strays = []
    for test in tests:
        name = test.stem.removeprefix("test_")
        modules = modules_of(folder_of(test))
        if not any(name == module or name.startswith(f"{module}_") for module in modules):
            strays.append(str(test.relative_to(ROOT)))
    assert strays == []
