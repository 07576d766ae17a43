"""The workflow of a release: what it runs is there, and what it takes from others is pinned."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from tests.tree.sources import ROOT

WORKFLOW: Final = ROOT / ".github/workflows/release.yaml"
_PINNED: Final = re.compile(r"[\w/-]+@[0-9a-f]{40}")


def _steps() -> list[dict[str, Any]]:
    workflow = yaml.safe_load(WORKFLOW.read_text("utf-8"))
    steps: list[dict[str, Any]] = workflow["jobs"]["release"]["steps"]
    return steps


def test_what_it_takes_from_others_is_pinned() -> None:
    used = [step["uses"] for step in _steps() if "uses" in step]
    assert len(used) >= 3
    assert [action for action in used if not _PINNED.fullmatch(action)] == []


def test_what_it_runs_is_there() -> None:
    script = "\n".join(step.get("run", "") for step in _steps())
    targets = re.findall(r"^make (\S+)", script, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert targets == ["wheel"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    files = re.findall(r"(?:build|deploy|\.ci)/[\w./-]+\w", script)
    made = {"build/plugin-site"}
    assert len(files) >= 6
    assert [file for file in files if file not in made and not (ROOT / file).exists()] == []


def test_checks_come_before_anything_is_published() -> None:
    runs = [step.get("run", "") for step in _steps()]
    checked = runs.index(".ci/run")
    published = [index for index, run in enumerate(runs) if re.search(r"push|sign|gh release", run)]
    assert len(published) == 4
    assert min(published) > checked
