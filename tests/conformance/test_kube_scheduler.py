"""All golden cases of each release of kube-scheduler agree, in every verdict."""

from __future__ import annotations

import pytest

from kpolicy.release_table import RELEASES
from tests.conformance import golden
from tests.conformance.comparison import differences

CASES = [(release, name) for release in RELEASES for name in golden.case_names(release)]


@pytest.mark.parametrize("release", RELEASES)
def test_all_cases_of_a_release_are_here(release: str) -> None:
    read = [golden.read(name, release) for name in golden.case_names(release)]
    pods = [pod for case in read for pod in case.expected]
    verdicts = sum(len(pod.get("nodes") or ()) for pod in pods)
    # Of 1.36, the text with the part of preemption was not recorded.
    full = sum("fullMessage" in pod for pod in pods)
    assert (len(read), len(pods), full) == (132, 1693, 0 if release == "1.36" else 264)
    assert verdicts > 10_000


@pytest.mark.parametrize(("release", "name"), CASES)
def test_every_verdict_agrees(release: str, name: str) -> None:
    case = golden.read(name, release)
    answers = golden.explained(case)
    assert sorted(answers) == sorted(pod["pod"] for pod in case.expected)
    found = [
        f"{want['pod']} {line}"
        for want in case.expected
        for line in differences(answers[want["pod"]], want, case.cluster)
    ]
    assert found == [], f"{len(found)} differences, first: " + "\n".join(found[:20])
