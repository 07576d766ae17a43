"""The pages of this folder hold: each file has exactly the findings written under it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from kpolicy.policy.codes.registry import pages
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.yaml.source import Source

FOLDER = Path(__file__).parent
SCENARIO = re.compile(r"^## ([^\n]+)\n\n```yaml\n(.*?)```\n\n```findings\n(.*?)```", re.M | re.S)
# Codes of the document that need more than a file: sizes (unit tests), a mount, `kpolicy fmt`, the
# expression language's own.
ELSEWHERE = {"KP109", "KP110", "KP111", "KP112", "KP119", "KP124", "KP130", "KP142"}
# Codes of what a process allows: a page has no process.
ELSEWHERE |= {"KP131", "KP132", "KP133", "KP135", "KP136", "KP139"}


@dataclass(frozen=True, slots=True)
class Scenario:
    title: str
    text: str
    findings: tuple[str, ...]


def scenarios() -> list[Scenario]:
    found = [
        Scenario(title, text, tuple(findings.splitlines()))
        for page in sorted(FOLDER.glob("*.md"))
        for title, text, findings in SCENARIO.findall(page.read_text("utf-8"))
    ]
    headings = sum(page.read_text("utf-8").count("\n## ") for page in FOLDER.glob("*.md"))
    assert len(found) == headings
    return found


SCENARIOS = scenarios()


def findings_of(text: str) -> tuple[str, ...]:
    shown = []
    for finding in compile_policy([Source("policy.yaml", text)]).diagnostics:
        place = finding.place
        assert place is not None
        where = f"{place.line}:{place.column}-{place.end_line}:{place.end_column}"
        shown.append(f"{where} {finding.severity} {finding.code} {finding.message}")
    return tuple(shown)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.title)
def test_findings_are_as_written(scenario: Scenario) -> None:
    assert findings_of(scenario.text) == scenario.findings


def test_every_code_of_the_document_has_a_scenario() -> None:
    written = {
        code
        for scenario in SCENARIOS
        for code in re.findall(r"KP\d{3}", "".join(scenario.findings))
    }
    wanted = {code for code in pages() if code.startswith("KP1")} - ELSEWHERE
    assert len(wanted) >= 18
    assert wanted <= written


def test_the_broken_file_has_its_findings_where_they_belong() -> None:
    """The file that shows what lint is for: every layer of it recovers by itself."""
    text = (FOLDER / "corpus" / "snapshot" / "broken.yaml").read_text("utf-8")
    found = {
        (finding.code, f"{finding.place.line}:{finding.place.column}")
        for finding in compile_policy([Source("broken.yaml", text)]).diagnostics
        if finding.place is not None
    }
    document = {("KP103", "8:16"), ("KP102", "21:7"), ("KP104", "26:13")}
    expressions = {("KP204", "12:38"), ("KP401", "15:26"), ("KP402", "18:37"), ("KP110", "28:38")}
    assert document <= found
    assert expressions <= found
