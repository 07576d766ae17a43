"""Mistakes in a document are reported with their place, and the rest runs."""

from __future__ import annotations

import pytest

from kpolicy.offline.policy_tests.session import run_tests
from kpolicy.policy.yaml.source import Source
from tests.unit.offline.policy_tests.suites import HEAD, NODES, POLICY, codes, ran, suite

GOOD = "- {name: good, pod: {}, expect: {decision: place}}"


def hints(tests: str) -> list[str]:
    run = ran(tests)
    diagnostics = [
        *run.all_diagnostics(),
        *(diagnostic for _, test in run.tests() for diagnostic in test.diagnostics),
    ]
    return [diagnostic.hint for diagnostic in diagnostics]


# A test, the code and place of what is wrong, and a part of the hint.
WRONG = [
    (
        "- {name: a, pod: {}, expct: {}, expect: {node: n1}}",
        ("KP102", 9, 24),
        "did you mean `expect`",
    ),
    (
        "- {name: a, pod: {lables: {}}, expect: {node: n1}}",
        ("KP102", 9, 21),
        "did you mean `labels`",
    ),
    ("- {name: a, pod: {}, expect: {decision: plce}}", ("KP103", 9, 43), "did you mean `place`"),
    ("- {name: a, pod: {}}", ("KP502", 9, 12), "say in `expect`"),
    ("- {name: a, pod: {}, expect: {scores: {n1: {}}}}", ("KP502", 9, 12), "say in `expect`"),
    ("- {name: a, expect: {node: n1}}", ("KP114", 9, 12), ""),
    ("- {name: a, pod: {from: x}, expect: {node: n1}}", ("KP501", 9, 27), ""),
    (
        "- {name: a, pod: {}, expect: {filters: {n1: {rejectedBy: of-spot}}}}",
        ("KP501", 9, 60),
        "did you mean `off-spot`",
    ),
    (
        "- {name: a, pod: {}, expect: {filters: {n1: {rejectedBy: [off-spot, sdd]}}}}",
        ("KP501", 9, 71),
        "",
    ),
    (
        "- {name: a, pod: {}, expect: {scores: {n1: {totl: 5}}}}",
        ("KP501", 9, 47),
        "did you mean `total`",
    ),
    (
        "- {name: a, pod: {}, expect: {scores: {n1: {raw: {ssdd: 5}}}}}",
        ("KP501", 9, 53),
        "did you mean `ssd`",
    ),
    (
        "- {name: a, pod: {}, expect: {errors: [{rule: rak}]}}",
        ("KP501", 9, 49),
        "did you mean `rack`",
    ),
    ("- {name: a, pod: {}, expect: {audited: [ssd]}}", ("KP501", 9, 43), ""),
    (
        "- {name: a, pod: {}, profile: kpolcy, expect: {node: n1}}",
        ("KP501", 9, 33),
        "did you mean `kpolicy`",
    ),
    ("- {name: a, pod: {}, expect: {message: {matches: '('}}}", ("KP113", 9, 52), ""),
    ("- {name: a, pod: {}, expect: {message: {}}}", ("KP114", 9, 42), ""),
    (
        "- {name: a, pod: {}, patch: [{op: remove, path: /spec/no}], expect: {node: n1}}",
        ("KP113", 9, 32),
        "",
    ),
    ("- {name: a, podFrom: {snapshot: x}, expect: {node: n1}}", ("KP501", 9, 35), ""),
    ("- {name: a, pod: {requests: {cpu: much}}, expect: {node: n1}}", ("KP113", 9, 20), ""),
    (
        "- {name: a, pod: {}, sequence: [{pod: {}, expect: {node: n1}}], expect: {node: n1}}",
        ("KP115", 9, 24),
        "",
    ),
]


@pytest.mark.parametrize(("test", "where", "hint"), WRONG)
def test_a_wrong_test_is_reported_and_others_run(
    test: str, where: tuple[str, int, int], hint: str
) -> None:
    run = ran(f"{test}\n{GOOD}")
    assert where in codes(run)
    assert not run.is_fine
    assert [result.name for _, result in run.tests() if result.has_passed] == ["good"]
    assert any(hint in text for text in hints(f"{test}\n{GOOD}"))


def test_two_tests_of_one_name() -> None:
    assert ("KP104", 10, 12) in codes(ran(f"{GOOD}\n{GOOD}"))


def test_a_document_without_tests_fails() -> None:
    run = run_tests(Source("empty.test.yaml", HEAD + NODES + "tests: []\n"))
    assert codes(run) == [("KP502", 8, 8)]
    assert not run.is_fine


def test_a_file_without_a_document_fails() -> None:
    run = run_tests(Source("policy.yaml", POLICY))
    assert codes(run) == [("KP101", 1, 1)]
    assert not run.is_fine


def test_a_policy_that_does_not_compile_runs_nothing_and_is_reported() -> None:
    broken = POLICY.replace("pod.priority <", "pod.prioity <")
    run = ran(GOOD, policy=broken)
    assert (list(run.tests()), run.is_fine) == ([], False)
    assert [diagnostic.code for diagnostic in run.all_diagnostics()] == ["KP201"]


def test_an_unknown_policy_is_reported_with_what_was_perhaps_meant() -> None:
    run = run_tests(suite(GOOD, "policies: [gpu-pool]\n" + NODES))
    assert codes(run) == [("KP501", 5, 12)]
    assert run.all_diagnostics()[0].hint == "did you mean `gpu-pools`?"


def test_shipped_policies_are_known_by_name() -> None:
    tests = (
        "- {name: a, pod: {}, expect: {filters: {n1: pass}, scores: {n1: {used-nodes-first: 0}}}}"
    )
    assert run_tests(suite(tests, "policies: [bin-packing]\n" + NODES)).is_fine


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---\n",
        "[]",
        "kind: PolicyTest",
        "\x00",
        "a: [",
        HEAD + "tests: 5\n",
        HEAD + "tests: [5, {}]\n",
    ],
)
def test_no_text_raises(text: str) -> None:
    assert not run_tests(Source("odd.yaml", text)).is_fine
