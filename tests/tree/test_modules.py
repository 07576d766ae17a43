"""Modules say what they own, and are named for it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from tests.tree.sources import ROOT, with_suffix

GRAB_BAGS = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "tools", "shared"}


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_module_is_a_grab_bag() -> None:
    paths = with_suffix(".py", ".rs", ".go")
    assert len(paths) > 100
    bags = [named(path) for path in paths if GRAB_BAGS & {path.stem, path.parent.name}]
    assert bags == []


def test_every_python_module_opens_with_what_it_owns() -> None:
    paths = [path for path in with_suffix(".py") if path.read_text().strip()]
    assert len(paths) > 60
    silent = [named(path) for path in paths if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


def test_every_rust_module_opens_with_what_it_owns() -> None:
    paths = with_suffix(".rs")
    assert len(paths) > 40
    assert [named(path) for path in paths if not path.read_text().startswith("//!")] == []


def test_no_comment_opens_with_a_label() -> None:
    """A comment is a sentence: `Clause:` or `Owns` in front of it does not say who does what."""
    label = re.compile(r"""^\s*(?://[/!]?|#|\"{3})\s?(?:Clauses?|Owns)\b""", re.MULTILINE)
    paths = with_suffix(".py", ".rs", ".go")
    assert len(paths) > 1000
    assert [named(path) for path in paths if label.search(path.read_text("utf-8"))] == []


def test_nothing_is_left_over() -> None:
    words = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "unimple" + "mented!", "to" + "do!(")
    paths = with_suffix(".py", ".rs", ".go", ".sh", ".yaml", ".toml")
    assert len(paths) > 100
    left = [
        (named(path), word) for path in paths for word in words if word in path.read_text("utf-8")
    ]
    assert left == []


def test_a_package_has_one_place_for_its_limits() -> None:
    packages = ROOT / "python" / "kpolicy"
    limits = sorted(path for path in with_suffix(".py") if path.name == "limits.py")
    product = [path.relative_to(packages) for path in limits if path.is_relative_to(packages)]
    assert len(product) >= 4
    tops = [path.parts[0] for path in product]
    assert sorted(set(tops)) == sorted(tops), product


PARAMETERS_MAX = 6


def test_a_constructor_takes_few_parameters() -> None:
    product = [path for path in with_suffix(".py") if path.is_relative_to(ROOT / "python")]
    counts = {
        f"{named(path)}: {kind.name}": parameters(function)
        for path in product
        for kind in ast.walk(ast.parse(path.read_text()))
        if isinstance(kind, ast.ClassDef)
        for function in kind.body
        if isinstance(function, ast.FunctionDef) and function.name == "__init__"
    }
    assert len(counts) > 120
    assert {name: count for name, count in counts.items() if count > PARAMETERS_MAX} == {}


def parameters(function: ast.FunctionDef) -> int:
    """Without `self`."""
    own = function.args
    return len(own.posonlyargs) + len(own.args) + len(own.kwonlyargs) - 1


def test_no_two_modules_or_packages_have_one_name() -> None:
    """Except `limits` and `__main__`; verbs are named as users type them."""
    product = [
        path.relative_to(ROOT / "python") for path in with_suffix(".py") if "python" in path.parts
    ]
    verbs, shared = Path("kpolicy/cli/verbs"), {"limits", "__main__"}
    modules = {path for path in product if path.parent != verbs and path.stem not in shared}
    names = Counter(path.parent.name if path.stem == "__init__" else path.stem for path in modules)
    assert len(names) > 230
    assert {name: count for name, count in names.items() if count > 1} == {}
