"""The page of rights has a row for every right of the roles, and names fences and tests that
exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import yaml

from tests.tree.sources import ROOT

DEPLOY: Final = ROOT / "deploy/kustomize"
FENCES: Final = DEPLOY / "components/admission-fences"
PAGE: Final = (ROOT / "docs/rights.md").read_text("utf-8")
ATTACKS: Final = ("tests/e2e/test_deploy.py", "tests/e2e/test_fences.py")
# Rights that others bind to their own accounts.
OF_OTHERS: Final = {"kpolicy-metrics-reader"}


class Right(NamedTuple):
    role: str
    verb: str
    resource: str  # with its group
    name: str


class Row(NamedTuple):
    rights: frozenset[Right]
    fences: frozenset[str]
    attacks: frozenset[str]
    residue: str


def rows() -> list[Row]:
    found = []
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| `"):
            continue
        role, verbs, resources, fences, attacks, residue = cells
        rights = {
            Right(role.strip("`"), verb, resource.split()[0], name_of(resource))
            for verb, resource in product(verbs.split(", "), resources.split(", "))
        }
        found.append(Row(frozenset(rights), named(fences), named(attacks), residue))
    return found


def name_of(resource: str) -> str:
    return "".join(named(resource))


def named(cell: str) -> frozenset[str]:
    return frozenset(re.findall(r"`([^`]+)`", cell))


def granted() -> Iterator[Right]:
    for path in sorted(DEPLOY.rglob("*role.yaml")):
        for document in yaml.safe_load_all(path.read_text("utf-8")):
            is_role = document["kind"] in {"Role", "ClusterRole"}
            if is_role and document["metadata"]["name"] not in OF_OTHERS:
                yield from rights_of(path, document["rules"])


def rights_of(path: Path, rules: list[dict[str, list[str]]]) -> Iterator[Right]:
    role = str(path.relative_to(DEPLOY))
    for rule in rules:
        parts = (
            rule["verbs"],
            rule["apiGroups"],
            rule["resources"],
            rule.get("resourceNames", [""]),
        )
        for verb, group, resource, name in product(*parts):
            yield Right(role, verb, f"{resource}.{group}" if group else resource, name)


def test_every_right_has_a_row_and_every_row_a_right() -> None:
    on_page = [right for row in rows() for right in row.rights]
    assert len(on_page) > 50
    assert len(set(on_page)) == len(on_page)
    assert set(on_page) == set(granted())


def test_every_fence_is_in_a_row_and_exists() -> None:
    existing = {path.stem for path in FENCES.glob("*-fence.yaml")}
    assert len(existing) >= 7
    assert {fence for row in rows() for fence in row.fences} == existing


def test_every_attack_is_a_test_and_every_fence_is_attacked() -> None:
    tests = {
        node.name
        for path in ATTACKS
        for node in ast.parse((ROOT / path).read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    attacks = {attack for row in rows() for attack in row.attacks}
    assert len(attacks) >= 10
    assert attacks <= tests
    assert [row for row in rows() if row.fences and not row.attacks] == []


def test_every_row_says_what_remains() -> None:
    assert [row for row in rows() if not row.residue.endswith(".")] == []


def test_a_right_that_can_change_objects_of_others_has_a_fence() -> None:
    """Rights to objects by name, and reviews, change nothing of others."""
    unfenced = {
        right
        for row in rows()
        for right in row.rights
        if right.verb not in {"get", "list", "watch"} and not right.name and not row.fences
    }
    assert {right.resource.partition(".")[0] for right in unfenced} == {
        "subjectaccessreviews",
        "tokenreviews",
    }
