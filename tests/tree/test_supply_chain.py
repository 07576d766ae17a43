"""The bill of materials and the page of dependencies are those of the lock files."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from build.bill_of_materials import TARGET, is_allowed, locked, text
from build.pages_library import (
    BUILT,
    LIBRARY,
    SOURCE,
    VENDOR,
    banner,
    bundled_versions,
    locked_packages,
)
from tests.tree.sources import ROOT

PAGE = ROOT / "docs/dependencies.md"


def components() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(TARGET.read_text("utf-8"))["components"]
    return found


def test_the_bill_of_materials_is_that_of_the_lock_files() -> None:
    assert TARGET.read_text("utf-8") == text(), "python -m build.bill_of_materials writes it"


def test_everything_that_is_locked_is_in_it() -> None:
    crates = tomllib.loads((ROOT / "Cargo.lock").read_text("utf-8"))["package"]
    expected = {
        f"pkg:cargo/{crate['name']}@{crate['version']}" for crate in crates if "checksum" in crate
    }
    expected |= {f"pkg:pypi/{name}@{version}" for name, version in locked("requirements.lock")}
    expected |= {
        f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
        for name, package in locked_packages().items()
    }
    assert len(expected) > 150
    assert {component["purl"] for component in components()} == expected
    assert set(locked("requirements-run.lock")) <= set(locked("requirements.lock"))


def test_the_library_of_the_pages_is_what_was_built_from_the_lock_file() -> None:
    content = LIBRARY.read_bytes()
    built = json.loads(BUILT.read_text("utf-8"))
    remedy = "`make pages-library` builds it again"
    assert built["versions"] == bundled_versions(), remedy
    assert built["sha256"] == hashlib.sha256(content).hexdigest(), remedy
    assert content.startswith(banner().encode()), remedy
    wanted = json.loads((SOURCE / "package.json").read_text("utf-8"))["dependencies"]
    assert wanted == {"echarts": built["versions"]["echarts"]}


def test_the_licences_of_the_library_are_beside_it() -> None:
    licences = (VENDOR / "LICENSE").read_text("utf-8")
    for name in bundled_versions():
        assert f"==== {name}: " in licences
    # ECharts contains parts of d3.
    assert "==== echarts: licenses/LICENSE-d3 ====" in licences
    assert "The Apache Software Foundation" in (VENDOR / "NOTICE").read_text("utf-8")


def test_every_licence_is_allowed() -> None:
    licences = {
        component["purl"]: component["licenses"][0]["expression"] for component in components()
    }
    assert len(licences) > 150
    refused = {purl: licence for purl, licence in licences.items() if not is_allowed(licence)}
    assert refused == {}


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND AGPL-3.0-only", False),
        ("(GPL-2.0-only OR LGPL-2.1-only) OR ISC", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("", False),
        ("Proprietary", False),
    ],
)
def test_what_an_expression_allows(expression: str, allowed: bool) -> None:
    assert is_allowed(expression) is allowed


def direct() -> Iterator[str]:
    """What pyproject.toml, the library of the pages and the crates declare, without our own
    crates."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project, of_site = settings["project"], settings["dependency-groups"]["site"]
    for requirement in (
        *project["dependencies"],
        *project["optional-dependencies"]["dev"],
        *of_site,
    ):
        (name,) = re.findall(r"^[A-Za-z0-9_.-]+", requirement)
        yield name
    of_pages = json.loads((SOURCE / "package.json").read_text("utf-8"))
    yield from (*of_pages["dependencies"], *of_pages["devDependencies"])
    for manifest in sorted((ROOT / "rust").glob("*/Cargo.toml")):
        crate = tomllib.loads(manifest.read_text("utf-8"))
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            yield from (name for name in crate.get(kind, {}) if not name.startswith("kpolicy-"))


def on_page() -> Iterator[str]:
    """The first column of the tables of packages and crates."""
    for table in re.findall(
        r"^\| (?:package|crate) \|.*\n\|---\|---\|\n((?:\|.*\n)+)", text_of_page(), re.M
    ):
        for row in table.splitlines():
            yield from row.split("|")[1].strip().split(", ")


def text_of_page() -> str:
    return PAGE.read_text("utf-8")


def test_every_direct_dependency_has_a_row_and_every_row_a_dependency() -> None:
    declared, described = set(direct()), list(on_page())
    assert len(declared) > 30
    assert len(set(described)) == len(described)
    assert set(described) == declared
