"""All golden cases of kube-scheduler 1.36 agree, in every verdict."""

from __future__ import annotations

import pytest

from tests.conformance import golden
from tests.conformance.comparison import differences

CASES = golden.case_names()


def test_all_cases_are_here() -> None:
    assert len(CASES) == 132
    read = [golden.read(name) for name in CASES]
    pods = sum(len(case.expected) for case in read)
    verdicts = sum(len(pod.get("nodes") or ()) for case in read for pod in case.expected)
    assert (pods, verdicts) > (1000, 10_000)


@pytest.mark.parametrize("name", CASES)
def test_every_verdict_agrees(name: str) -> None:
    case = golden.read(name)
    answers = golden.explained(case)
    assert sorted(answers) == sorted(pod["pod"] for pod in case.expected)
    found = [
        f"{want['pod']} {line}"
        for want in case.expected
        for line in differences(answers[want["pod"]], want, case.cluster)
    ]
    assert found == [], f"{len(found)} differences, first: " + "\n".join(found[:20])
