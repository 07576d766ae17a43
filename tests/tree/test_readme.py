"""README says what is true: its policy is the shipped one, its files and make targets exist."""

from __future__ import annotations

import re

import yaml

from tests.tree.sources import ROOT

README = (ROOT / "README.md").read_text()


def test_the_policy_shown_is_the_one_that_the_demo_runs() -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    shipped = (ROOT / "policies" / "demo.yaml").read_text()
    assert yaml.safe_load(shown) == yaml.safe_load(shipped)
    assert len(shown.splitlines()) < 25


def test_every_linked_file_exists() -> None:
    pages = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    links = [
        page.parent / link
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    ]
    assert len(links) > 8
    assert [str(link) for link in links if not link.exists()] == []


def test_every_make_target_named_is_there() -> None:
    named = set(re.findall(r"\bmake ([a-z][a-z0-9-]+)", README))
    targets = set(re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test"} <= named
    assert named <= targets
