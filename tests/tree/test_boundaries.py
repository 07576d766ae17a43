"""Boundaries B1 and B2: what the crates may know, by their dependency graph and their source."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from functools import cache

from tests.tree.sources import ROOT, with_suffix

PURE_CRATES = ("kpolicy-cel", "kpolicy-engine", "kpolicy-codec")
# Whole names or prefixes of crates that mean Python, HTTP, an async runtime, a clock or chance.
FORBIDDEN = re.compile(
    r"^(pyo3|tokio|async-|futures|hyper|reqwest|ureq|h2|http|mio|socket2|chrono|time|rand|getrandom"
    r"|fastrand|uuid|ahash)"
)
# The same in the standard library.
FORBIDDEN_PATHS = re.compile(
    r"std::(time::(SystemTime|Instant)|net\b|fs\b|env\b|process\b|thread::spawn"
    r"|collections::hash_map::RandomState|collections::Hash(Map|Set))"
)


@cache
def dependencies() -> dict[str, set[str]]:
    """Normal dependencies of each workspace crate, all levels down, on this machine: crates that
    only other platforms need were never downloaded."""
    printed = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    [host] = [line.split()[1] for line in printed.splitlines() if line.startswith("host:")]
    read = subprocess.run(
        [
            "cargo",
            "metadata",
            "--format-version=1",
            "--locked",
            "--offline",
            f"--filter-platform={host}",
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    metadata = json.loads(read)
    names = {package["id"]: package["name"] for package in metadata["packages"]}
    edges = {
        node["id"]: {
            dependency["pkg"]
            for dependency in node["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        }
        for node in metadata["resolve"]["nodes"]
    }

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for target in edges[waiting.pop()] - seen:
                seen.add(target)
                waiting.append(target)
        return {names[package] for package in seen}

    return {names[member]: reached(member) for member in metadata["workspace_members"]}


def test_crates_that_decide_depend_on_nothing_impure() -> None:
    graph = dependencies()
    assert len(graph) == 4
    for crate in PURE_CRATES:
        assert len(graph[crate]) >= 3
        assert {name for name in graph[crate] if FORBIDDEN.match(name)} == set(), crate


def test_the_expression_crate_knows_no_kubernetes() -> None:
    assert not {name for name in dependencies()["kpolicy-cel"] if name.startswith("kpolicy")}


def test_crates_that_decide_use_no_clock_files_or_chance() -> None:
    looked_at = 0
    for path in with_suffix(".rs"):
        parts = path.relative_to(ROOT).parts
        if parts[:1] != ("rust",) or parts[1] not in PURE_CRATES or parts[2] != "src":
            continue
        looked_at += 1
        decides = path.read_text().split("#[cfg(test)]")[0]
        assert not FORBIDDEN_PATHS.search(decides), path
    assert looked_at > 40


def test_only_the_skin_knows_python() -> None:
    knowing = {crate for crate, reached in dependencies().items() if "pyo3" in reached}
    assert knowing == {"kpolicy-py"}


def test_every_class_of_the_skin_is_frozen_and_every_call_lets_others_run() -> None:
    source = "\n".join(
        path.read_text() for path in with_suffix(".rs") if "rust/kpolicy-py/" in str(path)
    )
    classes = re.findall(r"#\[pyclass\b([^\]]*)\]", source)
    assert len(classes) >= 1
    assert all("frozen" in arguments for arguments in classes), classes
    assert source.count(".detach(") >= 1
    assert not re.search(r"\bPy<|PyObject\b|Python::attach|with_gil", source)


def test_release_build_is_loud_about_overflow() -> None:
    release = tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]["release"]
    assert release["overflow-checks"] is True
    assert "panic" not in release  # a panic must stay an exception, never an abort
