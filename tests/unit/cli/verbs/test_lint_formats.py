"""Every format of `kpolicy lint`, read as its readers do, over the whole corpus."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from kpolicy import cli
from kpolicy.policy.codes.registry import pages

CORPUS = Path(__file__).parents[3] / "spec" / "lint" / "corpus"
FORMATS = ("full", "concise", "json", "jsonl", "github", "sarif", "junit")
LEVELS = {"error", "warning", "info"}
GITHUB = re.compile(
    r"::(error|warning|notice) file=([^,]+),line=(\d+),col=(\d+),endLine=(\d+),endColumn=(\d+),"
    r"title=(KP\d{3})::(.+)"
)
CONCISE = re.compile(r"([^:]+):(\d+):(\d+): (error|warning|info)\[(KP\d{3})\] (.+)")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All formats of one run over all files, each file an argument of its own."""
    folder = tmp_path_factory.mktemp("lint")
    files = sorted(str(path) for path in CORPUS.glob("*.*") if path.name != "expected.json")
    assert len(files) >= 65
    outputs = [f"--output={name}={folder / name}" for name in FORMATS]
    assert cli.main(["lint", *files, *outputs]) == 1
    return {name: (folder / name).read_text("utf-8") for name in FORMATS}


@pytest.fixture(scope="module")
def findings(written: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(written["json"])["findings"]
    assert len(found) >= 120
    return found


def test_json_has_the_documented_keys(findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        assert {
            "code",
            "level",
            "message",
            "hint",
            "file",
            "line",
            "column",
            "endLine",
            "endColumn",
        } <= set(finding)
        assert finding["code"] in pages()
        assert finding["level"] in LEVELS
        assert (finding["line"], finding["column"]) <= (finding["endLine"], finding["endColumn"])
        for edit in (finding["fix"] or {"edits": []})["edits"]:
            assert (edit["line"], edit["column"]) <= (edit["endLine"], edit["endColumn"])
    assert sum(finding["fix"] is not None for finding in findings) >= 15


def test_json_lines_are_the_same(written: dict[str, str], findings: list[dict[str, Any]]) -> None:
    assert [json.loads(line) for line in written["jsonl"].splitlines()] == findings


def test_concise_lines_are_as_editors_read_them(
    written: dict[str, str], findings: list[dict[str, Any]]
) -> None:
    lines = [CONCISE.fullmatch(line) for line in written["concise"].splitlines()]
    read = [(m[1], int(m[2]), int(m[3]), m[4], m[5]) for m in lines if m is not None]
    assert len(read) == len(lines)
    assert read == [
        (finding["file"], finding["line"], finding["column"], finding["level"], finding["code"])
        for finding in findings
    ]


def test_github_commands_are_well_formed(
    written: dict[str, str], findings: list[dict[str, Any]]
) -> None:
    lines = [GITHUB.fullmatch(line) for line in written["github"].splitlines()]
    read = [(int(m[3]), int(m[4]), m[7]) for m in lines if m is not None]
    assert len(read) == len(lines)
    assert read == [(finding["line"], finding["column"], finding["code"]) for finding in findings]


def test_sarif_is_a_log_of_2_1_0(written: dict[str, str], findings: list[dict[str, Any]]) -> None:
    """What the standard requires (§3.13 to §3.57), and what code scanning reads besides."""
    log = json.loads(written["sarif"])
    assert log["version"] == "2.1.0"
    assert log["$schema"].startswith("https://")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "kpolicy"
    rules = driver["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["helpUri"].startswith("https://")
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    assert len(run["results"]) == len(findings)
    for result, finding in zip(run["results"], findings, strict=True):
        assert result["message"]["text"].startswith(finding["message"])
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding["code"]
        assert result["level"] in ("none", "note", "warning", "error")
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == finding["file"]
        _is_region(physical["region"])
        assert result["partialFingerprints"]["primaryLocationLineHash"]
        for fix in result.get("fixes", ()):
            for change in fix["artifactChanges"]:
                assert change["artifactLocation"]["uri"] == finding["file"]
                for replacement in change["replacements"]:
                    _is_region(replacement["deletedRegion"])
                    assert isinstance(replacement["insertedContent"]["text"], str)
    assert sum("fixes" in result for result in run["results"]) >= 10


def _is_region(region: dict[str, int]) -> None:
    assert set(region) == {"startLine", "startColumn", "endLine", "endColumn"}
    assert all(isinstance(value, int) and value >= 1 for value in region.values())
    start = region["startLine"], region["startColumn"]
    assert start <= (region["endLine"], region["endColumn"])


def test_junit_is_read_as_xml_and_counts(
    written: dict[str, str], findings: list[dict[str, Any]]
) -> None:
    suite = ElementTree.fromstring(written["junit"])
    assert suite.tag == "testsuite"
    cases = suite.findall("testcase")
    failed = [case for case in cases if case.find("failure") is not None]
    assert (suite.get("tests"), suite.get("failures")) == (str(len(cases)), str(len(failed)))
    erring = {finding["file"] for finding in findings if finding["level"] == "error"}
    assert {case.get("name") for case in failed} == erring
    for case in failed:
        failure = case.find("failure")
        assert failure is not None
        assert failure.get("message")
        assert failure.text


def test_full_has_a_snippet_for_each(
    written: dict[str, str], findings: list[dict[str, Any]]
) -> None:
    heads = re.findall(r"(?m)^(error|warning|info)\[(KP\d{3})\]: ", written["full"])
    assert heads == [(finding["level"], finding["code"]) for finding in findings]
    assert written["full"].count("\n  --> ") == len(findings)
