"""`--html` writes a page beside what the verb prints, and changes nothing of that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kpolicy.cli import main
from tests.unit.offline.pages.page_reading import data_of
from tests.unit.offline.worlds import POLICY, cluster, listed

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, Path]:
    """A policy, a snapshot, and where the page is to be."""
    policy, snapshot = tmp_path / "policy.yaml", tmp_path / "cluster.json"
    policy.write_text(POLICY)
    snapshot.write_text(listed(cluster()))
    return str(policy), str(snapshot), tmp_path / "page.html"


def titles(page: Path) -> list[str]:
    data = data_of(page.read_text())
    return [each["title"] for part in ("charts", "tables") for each in data[part].values()]


def prints_the_same_and_writes(page: Path, words: list[str], capsys: Capture) -> None:
    assert main(words) == 0
    plain = capsys.readouterr()
    assert main([*words, "--html", str(page)]) == 0
    printed = capsys.readouterr()
    assert printed.out == plain.out
    assert f"{page} is written\n" in printed.err


@pytest.mark.parametrize("output", ["table", "json", "jsonl"])
@pytest.mark.parametrize("verb", ["explain", "simulate"])
def test_a_page_is_written_and_the_answer_is_printed_as_without_it(
    verb: str, output: str, files: tuple[str, str, Path], capsys: Capture
) -> None:
    policy, snapshot, page = files
    words = [verb, "--policy", policy, "--snapshot", snapshot, "--output", output]
    prints_the_same_and_writes(page, words, capsys)
    assert "Map of the nodes" in titles(page)
    assert f"policy {policy}, on {snapshot}" in page.read_text()


@pytest.mark.parametrize("output", ["table", "json"])
@pytest.mark.parametrize(
    ("asked", "titled"),
    [
        ("default/giant", "What would place the pod"),
        ("--namespace=default", "Pending pods by rule"),
    ],
)
def test_why_writes_a_page_of_a_pod_and_of_a_namespace(
    asked: str, titled: str, output: str, files: tuple[str, str, Path], capsys: Capture
) -> None:
    policy, snapshot, page = files
    words = ["why", asked, "--policy", policy, "--snapshot", snapshot, "--output", output]
    prints_the_same_and_writes(page, words, capsys)
    assert titled in titles(page)
    assert ("Map of the nodes" in titles(page)) is asked.startswith("default/")
    assert f"on {snapshot}" in page.read_text()


def test_the_page_of_explain_has_a_section_for_each_pod(
    files: tuple[str, str, Path], capsys: Capture
) -> None:
    policy, snapshot, page = files
    assert main(["explain", "--policy", policy, "-s", snapshot, "--html", str(page)]) == 0
    assert titles(page).count("Nodes by rules") == 2
    assert re.findall(r"<h2>(default/\w+)</h2>", page.read_text()) == [
        "default/fits",
        "default/giant",
    ]


def test_the_page_of_diff_has_each_difference(
    files: tuple[str, str, Path], tmp_path: Path, capsys: Capture
) -> None:
    policy, snapshot, page = files
    other = tmp_path / "other.yaml"
    fence = (
        "    - name: fence\n      expression: \"label(node, 'disk') != 'hdd'\"\n      message: no\n"
    )
    other.write_text(POLICY.replace("  priorities:", f"{fence}  priorities:"))
    assert main(["diff", policy, str(other), "-s", snapshot, "--html", str(page)]) == 1
    (table,) = (
        each
        for each in data_of(page.read_text())["tables"].values()
        if each["title"] == "Differences"
    )
    (row,) = table["rows"]
    assert row == [
        "default/fits",
        "placed by the old policy only",
        "n2",
        "(pending)",
        "fence of the new policy rejects n2: no",
    ]


def test_a_page_that_cannot_be_written_is_an_answer(
    files: tuple[str, str, Path], tmp_path: Path, capsys: Capture
) -> None:
    policy, snapshot, _ = files
    where = tmp_path / "nowhere" / "page.html"
    assert main(["explain", "--policy", policy, "-s", snapshot, "--html", str(where)]) == 2
    assert "cannot be written" in capsys.readouterr().err
