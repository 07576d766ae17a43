"""Writes deploy/bill-of-materials.cdx.json: every crate, Python package and package of npm in the
lock files.

Versions and checksums are from the lock files, licences from the metadata of the packages. Needs
`make dev`, and no network.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path
from typing import Any, Final

from build.pages_library import bundled_versions, locked_packages

ROOT: Final = Path(__file__).parents[1]
TARGET: Final = ROOT / "deploy/bill-of-materials.cdx.json"
OURS: Final = "kpolicy"
# Licences that allow what we do: use in a program under the Apache licence, and its distribution.
# The MPL's conditions hold for changed files of the package only.
ALLOWED: Final = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "MIT",
        "MPL-2.0",
        "PSF-2.0",
        "Unicode-3.0",
        "Unlicense",
        "Zlib",
    }
)
# How packages write a licence that has a name in SPDX.
_SPELLINGS: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
# Licences that are only in a file of the package, or of packages for other platforms.
_BY_HAND: Final = {
    "cel-expr-python": "Apache-2.0",
    "cel-python": "Apache-2.0",
    "colorama": "BSD-3-Clause",
    "google-re2": "BSD-3-Clause",
    "grimp": "BSD-2-Clause",
    "import-linter": "BSD-2-Clause",
}
_LOCKED: Final = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?==([^\s;]+)", re.MULTILINE)
Component = dict[str, Any]


def bill() -> Component:
    """Return the whole document: the same for the same lock files."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": OURS}},
        "components": sorted(
            [*_crates(), *_packages(), *_of_pages()],
            key=lambda component: str(component["purl"]),
        ),
    }


def _crates() -> Iterator[Component]:
    described = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    document = json.loads(described.stdout)
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text("utf-8"))["package"]
    checksums = {(crate["name"], crate["version"]): crate.get("checksum") for crate in lock}
    shipped = _shipped(document)
    for crate in document["packages"]:
        checksum = checksums[crate["name"], crate["version"]]
        if checksum is None:  # ours
            continue
        yield _component(
            f"pkg:cargo/{crate['name']}@{crate['version']}",
            crate["name"],
            crate["version"],
            crate["license"].replace("/", " OR "),
            is_shipped=crate["id"] in shipped,
            hashes=[{"alg": "SHA-256", "content": checksum}],
            runs_at_build=_runs_at_build(crate["targets"]),
        )


def _runs_at_build(targets: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the crate has a build script or is a macro: code that runs where we build."""
    return any(
        kind in {"custom-build", "proc-macro"} for target in targets for kind in target["kind"]
    )


def _shipped(document: Mapping[str, Any]) -> set[str]:
    """Crates that the compiled engine is linked from, or that its build runs."""
    nodes = {node["id"]: node for node in document["resolve"]["nodes"]}
    reached = {crate["id"] for crate in document["packages"] if crate["name"] == f"{OURS}-py"}
    waiting = list(reached)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_needed = any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])
            if is_needed and dependency["pkg"] not in reached:
                reached.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return reached


def _packages() -> Iterator[Component]:
    shipped = set(locked("requirements-run.lock"))
    for name, version in locked("requirements.lock"):
        yield _component(
            f"pkg:pypi/{name.lower()}@{version}",
            name,
            version,
            _licence(name),
            is_shipped=(name, version) in shipped,
        )


def _of_pages() -> Iterator[Component]:
    """What the charting library of the pages is bundled from; the rest builds it."""
    shipped = bundled_versions()
    for name, package in locked_packages().items():
        algorithm, _, encoded = package["integrity"].partition("-")
        assert algorithm == "sha512", name
        yield _component(
            f"pkg:npm/{name.replace('@', '%40')}@{package['version']}",
            name,
            package["version"],
            package["license"],
            is_shipped=name in shipped,
            hashes=[{"alg": "SHA-512", "content": base64.b64decode(encoded).hex()}],
        )


def locked(name: str) -> list[tuple[str, str]]:
    """Return names and versions of a lock file."""
    return _LOCKED.findall((ROOT / name).read_text("utf-8"))


def _licence(name: str) -> str:
    if name in _BY_HAND:
        return _BY_HAND[name]
    try:
        described = metadata(name)
    except PackageNotFoundError:
        raise SystemExit(
            f"{name} is not installed here: add its licence to _BY_HAND in {__file__}"
        ) from None
    return next((text for text in _stated(described) if text), "")


def _stated(described: PackageMetadata) -> Iterator[str]:
    """The expression, else the short text, else the classifiers."""
    yield _field(described, "License-Expression")
    text = _field(described, "License")
    text = _SPELLINGS.get(text, text)
    yield text if is_allowed(text) else ""
    classifiers = described.get_all("Classifier", [])
    names = [entry.rpartition(" :: ")[2] for entry in classifiers if entry.startswith("License")]
    yield " AND ".join(_SPELLINGS.get(entry, entry) for entry in names)
    yield text


def _field(described: PackageMetadata, name: str) -> str:
    return described[name].strip() if name in described else ""


def _component(
    purl: str,
    name: str,
    version: str,
    licence: str,
    *,
    is_shipped: bool,
    hashes: list[dict[str, str]] | None = None,
    runs_at_build: bool = False,
) -> Component:
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": purl,
        "scope": "required" if is_shipped else "excluded",
        "licenses": [{"expression": licence}],
        **({"hashes": hashes} if hashes else {}),
        **({"properties": [{"name": "runs-at-build", "value": "true"}]} if runs_at_build else {}),
    }


def is_allowed(expression: str) -> bool:
    """Whether one choice of an SPDX expression consists of allowed licences only."""
    text = expression.strip()
    choices = _divided(text, " OR ")
    if len(choices) > 1:
        return any(is_allowed(choice) for choice in choices)
    parts = _divided(text, " AND ")
    if len(parts) > 1:
        return all(is_allowed(part) for part in parts)
    if text.startswith("(") and text.endswith(")"):
        return is_allowed(text[1:-1])
    return text in ALLOWED


def _divided(text: str, operator: str) -> list[str]:
    """Split at an operator that is outside of parentheses."""
    parts, depth, begin = [], 0, 0
    for at, mark in enumerate(text):
        depth += (mark == "(") - (mark == ")")
        if not depth and text.startswith(operator, at):
            parts.append(text[begin:at])
            begin = at + len(operator)
    return [*parts, text[begin:]]


def text() -> str:
    return json.dumps(bill(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), "utf-8")
    print(f"{TARGET.relative_to(ROOT)} is written")
