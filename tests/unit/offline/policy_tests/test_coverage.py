"""What tests have seen: rules and branches, by file, with thresholds."""

from __future__ import annotations

from kpolicy.offline.policy_tests.coverage import PolicyCoverage
from kpolicy.offline.policy_tests.session import run_tests
from kpolicy.policy.yaml.source import Source
from tests.unit.offline.policy_tests.suites import NODES, POLICY, ran, suite

PLAIN = "- {name: a, pod: {}, expect: {decision: place}}"
ALL = """\
- {name: a, pod: {priority: 5000}, expect: {decision: place}}
- {name: b, pod: {}, expect: {decision: place}}
- {name: c, pod: {labels: {rack: r}}, nodes: [{name: x, labels: {rack: r, noisy: a}}, {name: y, labels: {rack: s}}], expect: {decision: place}}
"""  # noqa: E501


def coverage(tests: str, more: str = NODES, policy: str = POLICY) -> PolicyCoverage:
    [covered] = ran(tests, more, policy).coverage
    return covered


def missing(found: PolicyCoverage) -> dict[str, str]:
    return {
        f"{item.place.line}:{item.place.column} {item.label}": item.problem()
        for item in found.uncovered()
    }


def test_what_no_test_has_seen_is_named_with_its_place() -> None:
    found = coverage(PLAIN)
    assert missing(found) == {
        "15:13 off-spot": "never false",
        "16:19 pod.priority < params.critical": "never false",
        "16:53 label(node, 'life') != 'spot'": "never reached",
        "19:13 rack": "never reached",
        "21:42 'rack' in pod.labels": "never true",
        "23:13 noisy": "never false",
    }
    assert (found.rules_seen, found.rules) == (1, 4)
    # Seen: off-spot and its first operand true, no rack wanted, noisy true, a score, both disks.
    assert (found.branches_seen, found.branches) == (9, 17)


def test_all_can_be_seen() -> None:
    found = coverage(ALL)
    assert missing(found) == {}
    assert (found.rules_seen, found.rules, found.branches_seen, found.branches) == (4, 4, 17, 17)


def test_a_branch_that_errs_is_neither_side() -> None:
    found = coverage("- {name: a, pod: {labels: {rack: r}}, expect: {decision: park}}")
    assert missing(found)["19:13 rack"] == "never reached"


def test_inside_of_loops_and_of_variables_counts() -> None:
    policy = POLICY.replace(
        "expression: label(node, 'noisy') == ''",
        "expression: node.taints.all(t, t.effect == 'NoSchedule' || t.key == 'soft')",
    )
    more = "nodes: [{name: n1, taints: ['a:NoExecute'], labels: {disk: hdd}}]\n"
    found = missing(coverage(PLAIN, more, policy))
    assert found["25:38 t.effect == 'NoSchedule'"] == "never true"
    assert found["25:66 t.key == 'soft'"] == "never true"
    assert found["12:20 'disk' in node.labels"] == "never false"


def test_a_threshold_of_the_document_fails_the_run() -> None:
    for minimum, is_fine in (("52%", True), ("53%", False), ("53", False)):
        run = ran(PLAIN, NODES + f"coverage: {{minimum: {minimum}}}\n")
        assert (run.is_fine, run.failed) == (is_fine, 0), minimum


def test_a_threshold_may_be_of_rules() -> None:
    for minimum, is_fine in ((25, True), (26, False)):
        more = NODES + f"coverage: {{minimum: {minimum}, branches: false}}\n"
        assert ran(PLAIN, more).is_fine is is_fine


def test_a_threshold_of_the_caller_counts_instead() -> None:
    tests = suite(PLAIN, NODES + "coverage: {minimum: 90%}\n")
    policies = [Source("small.yaml", POLICY)]
    assert run_tests(tests, policies=policies, coverage_minimum=40).is_fine
    assert not run_tests(tests, policies=policies, coverage_minimum=60).is_fine


def test_documents_that_test_one_policy_see_together() -> None:
    sources = [suite(line) for line in ALL.strip().splitlines()]
    alone = [run_tests(source, policies=[Source("small.yaml", POLICY)]) for source in sources]
    assert all(covered.coverage[0].branches_seen < 17 for covered in alone)
    together = run_tests(sources, policies=[Source("small.yaml", POLICY)])
    assert together.coverage[0].branches_seen == 17


def test_tests_that_are_left_out_fail_no_threshold() -> None:
    tests = suite(ALL, NODES + "coverage: {minimum: 100%}\n")
    run = run_tests(tests, policies=[Source("small.yaml", POLICY)], run="suite/b")
    assert (run.is_fine, run.passed, run.left_out) == (True, 1, 2)


def test_what_is_missing_is_a_finding() -> None:
    diagnostics = list(coverage(PLAIN).diagnostics())
    assert {diagnostic.code for diagnostic in diagnostics} == {"KP503"}
    assert diagnostics[0].message == "in the tests, the rule `off-spot` is never false"
    assert diagnostics[0].place is not None
    assert (diagnostics[0].place.file, diagnostics[0].place.line) == ("small.yaml", 15)
