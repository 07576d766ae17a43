"""All golden cases with devices agree: verdicts, allocations, writes, and what is given up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kpolicy import Snapshot
from kpolicy.offline.redaction.redact import redactor
from tests.conformance import dra_golden as golden

KEY = b"the key of the conformance tests"

RELEASES = {"1.36": 78, "1.37": 84}
CASES = [(release, name) for release in RELEASES for name in golden.names(release)]


@pytest.mark.parametrize(("release", "cases"), RELEASES.items())
def test_all_cases_are_here(release: str, cases: int) -> None:
    names = golden.names(release)
    assert len(names) == cases
    read = [golden.read(release, name) for name in names]
    pods = [pod for case in read for pod in case["expected"]]
    nodes = [node for pod in pods for node in pod["nodes"] or ()]
    bound = sum("bind" in pod.get("dra", {}) for pod in pods)
    given_up = sum("postFilter" in pod.get("dra", {}) for pod in pods)
    allocations = sum(len(node.get("allocations", ())) for node in nodes)
    assert (len(pods), len(nodes)) > (700, 4000)
    assert (allocations, bound, given_up) > (600, 250, 200)


@pytest.mark.parametrize(("release", "name"), CASES)
def test_every_answer_agrees(release: str, name: str) -> None:
    case = golden.read(release, name)
    answers = golden.explained(release, case, name)
    assert sorted(answers) == sorted(pod["pod"] for pod in case["expected"])
    found = [
        f"{want['pod']} {line}"
        for want in case["expected"]
        for line in golden.differences(answers[want["pod"]], want, case["cluster"])
    ]
    assert found == [], f"{len(found)} differences, first: " + "\n".join(found[:20])


@pytest.mark.slow
def test_a_redacted_cluster_fits_where_the_original_does() -> None:
    """The allocator of 1.37 finds devices in any order of names; 1.36 may not."""
    nodes = 0
    for name in golden.names("1.37"):
        case = golden.read("1.37", name)
        work = redactor(Snapshot.of(case["cluster"]["items"]), KEY)
        items = list(work.redacted())
        names = {word: original for original, word in work.words.replaced().items()}
        cluster = {"apiVersion": "v1", "kind": "List", "items": items}
        redacted = golden.explained("1.37", {"cluster": cluster}, name)
        original = golden.explained("1.37", case, name)
        got = {original_pod(pod, names): fits(line, names) for pod, line in redacted.items()}
        want = {pod: fits(line, {}) for pod, line in original.items()}
        assert got == want, name
        nodes += sum(map(len, want.values()))
    assert nodes > 1000


def fits(line: Mapping[str, Any], names: Mapping[str, str]) -> set[str]:
    """The names of the nodes that fit."""
    found = {node["name"] for node in line.get("nodes") or () if "filter" not in node}
    return {names.get(name, name) for name in found}


def original_pod(pod: str, names: Mapping[str, str]) -> str:
    return "/".join(names.get(part, part) for part in pod.split("/"))
