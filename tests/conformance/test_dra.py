"""All golden cases with devices agree: verdicts, allocations, writes, and what is given up."""

from __future__ import annotations

import pytest

from tests.conformance import dra_golden as golden

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
