"""Modules of a crate know each other in one direction, and the engine's layers only those below."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from tests.tree.sources import ROOT

CRATES = ("kpolicy-cel", "kpolicy-engine", "kpolicy-codec", "kpolicy-py")
# Each layer of the engine knows only those before it.
LAYERS = (
    "threads",
    "heap",
    "intern",
    "model",
    "api",
    "resources",
    "snapshot",
    "event",
    "part",
    "fields",
    "release",
    "rules",
    "program",
    "timing",
    "message",
    "judging",
    "preemption",
    "cycle",
    "parked",
    "waiting",
    "evaluate",
    "explain",
    "advice",
    "engine",
)

Edges = dict[str, dict[str, set[Path]]]


def module_of(path: Path) -> tuple[str, ...]:
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def names_behind(path: str) -> list[str]:
    """The names after `crate::`, a single name or a list in braces."""
    if not path.startswith("{"):
        return [path]
    names: list[str] = []
    depth = 0
    for token in re.findall(r"\w+|::|[{},]", path):
        depth += {"{": 1, "}": -1}.get(token, 0)
        if depth == 1 and token.isidentifier() and (not names or names[-1] == ","):
            names.append(token)
        elif depth == 1 and token == ",":
            names.append(",")
    return [name for name in names if name != ","]


def without_tests(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text.split("#[cfg(test)]", maxsplit=1)[0])


def top_level_modules(source: Path) -> set[str]:
    declared = re.findall(
        r"^(?:pub(?:\(crate\))? )?mod (\w+);", (source / "lib.rs").read_text(), re.M
    )
    return set(declared)


def reexports(source: Path) -> dict[str, str]:
    """Where names that a crate's root re-exports come from."""
    text = without_tests((source / "lib.rs").read_text())
    found: dict[str, str] = {}
    for module, names in re.findall(r"^pub use (\w+)::(\w+|\{[^;]*\});", text, re.M | re.S):
        for name in re.findall(r"\w+", names):
            found[name] = module
    return found


def edges_of(source: Path) -> Edges:
    """Which top-level module names which other one, and in which files."""
    modules, exported = top_level_modules(source), reexports(source)
    edges: Edges = defaultdict(lambda: defaultdict(set))
    for path in sorted(source.rglob("*.rs")):
        module = module_of(path.relative_to(source))
        if not module or {"tests", "testing"} & set(module):
            continue
        text = without_tests(path.read_text())
        named: list[str] = []
        for match in re.finditer(r"\bcrate::(\w+|\{[^;]*\})", text):
            named += names_behind(match[1])
        for match in re.finditer(r"\b((?:super::)+)(\w+)", text):
            if match[1].count("super") >= len(module):
                named.append(match[2])
        for name in named:
            target = exported.get(name, name)
            if target in modules and target != module[0]:
                edges[module[0]][target].add(path)
    return edges


def circles(edges: Edges) -> list[str]:
    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for target in edges.get(waiting.pop(), {}).keys() - seen:
                seen.add(target)
                waiting.append(target)
        return seen

    return [
        f"{module} -> {target}: {sorted(map(str, paths))}"
        for module, targets in list(edges.items())
        for target, paths in targets.items()
        if module in reached(target)
    ]


def test_no_circle_between_modules_of_a_crate() -> None:
    for crate in CRATES:
        source = ROOT / "rust" / crate / "src"
        edges = edges_of(source)
        assert len(edges) >= 2, crate
        assert circles(edges) == [], crate


def test_the_layers_of_the_engine_know_only_those_below() -> None:
    source = ROOT / "rust" / "kpolicy-engine" / "src"
    assert top_level_modules(source) == set(LAYERS)
    upward = [
        f"{module} uses {target}: {sorted(map(str, paths))}"
        for module, targets in edges_of(source).items()
        for target, paths in targets.items()
        if LAYERS.index(target) > LAYERS.index(module)
    ]
    assert upward == []


def test_circles_and_names_are_found() -> None:
    assert names_behind("{api, rules::{Filter, Score}, snapshot}") == ["api", "rules", "snapshot"]
    here = {Path("a.rs")}
    assert circles({"a": {"b": here}, "b": {"c": here}, "c": {"a": here}}) != []
    assert circles({"a": {"b": here, "c": here}, "b": {"c": here}}) == []
