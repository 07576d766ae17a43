"""Policies in Python tests: assertions hold when they should, and explain themselves when they do
not.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from kpolicy.policy.yaml.source import Source
from kpolicy.testing import PolicyDecision, PolicyUnderTest, load_policy, node, pod
from tests.unit.offline.policy_tests.suites import HEAD, NODES, POLICY

pytest_plugins = ["pytester"]


def small() -> PolicyUnderTest:
    return load_policy(Source("small.yaml", POLICY))


def decided(**more: int) -> PolicyDecision:
    world = small().world(node("n1", labels={"disk": "ssd"}), node("n2", labels={"life": "spot"}))
    return world.decide(pod("p", cpu="1", **more))  # type: ignore[arg-type]


def test_a_pod_is_placed_and_nodes_are_scored() -> None:
    decision = decided().assert_placed("n1").assert_placed().assert_passes("n1", "n2")
    assert (decision.node, decision.message, decision.victims) == ("n1", "", ())
    assert (decision.score("n1", "ssd"), decision.score("n2", "ssd")) == (80, 20)
    assert decision.score("n1") == 240


def test_a_node_is_rejected() -> None:
    decision = decided(priority=5000).assert_placed("n1")
    decision.assert_rejected("n2").assert_rejected("n2", "off-spot")
    decision.assert_rejected("n2", by="off-spot", reason="SpotForbidden", message="n2 is spot")


def test_pods_see_those_before_them() -> None:
    world = small().world(node("n1", cpu="2"))
    world.decide(pod("a", cpu="2")).assert_placed("n1")
    world.decide(pod("b", cpu="1")).assert_parked("Insufficient cpu")


def test_victims_are_named() -> None:
    low = pod("low", cpu="2", priority=1, node_name="n1")
    decision = small().world(node("n1", cpu="2"), low).decide(pod("high", cpu="2", priority=9))
    assert decision.assert_parked().victims == ("default/low",)


WRONG: list[tuple[Callable[[PolicyDecision], object], str]] = [
    (lambda d: d.assert_placed("n2"), "the pod should be placed on n2, and is on n1"),
    (lambda d: d.assert_parked(), "the pod should fit nowhere, and is on n1"),
    (
        lambda d: d.assert_passes("n2"),
        "n2 should pass: it is rejected by off-spot: node n2 is spot",
    ),
    (lambda d: d.assert_rejected("n1"), "n1 should be rejected, and passes"),
    (
        lambda d: d.assert_rejected("n2", "rack"),
        "n2 should be rejected by rack: it is rejected by off-spot: node n2 is spot",
    ),
    (
        lambda d: d.assert_rejected("n2", "of-spot"),
        "the policy has no predicate of-spot (did you mean `off-spot`?)",
    ),
    (
        lambda d: d.assert_rejected("n2", reason="Spot"),
        "n2 should be rejected with the reason Spot, and is with SpotForbidden",
    ),
    (
        lambda d: d.assert_rejected("n2", message="rack"),
        "n2 should be rejected with 'rack', and is with ['node n2 is spot']",
    ),
    (lambda d: d.assert_rejected("n3"), "there is no node n3 (there are n1, n2)"),
    (lambda d: d.score("n2"), "n2 has no score: it is rejected by off-spot: node n2 is spot"),
    (lambda d: d.score("n1", "sssd"), "the priority sssd gives n1 no score (did you mean `ssd`?)"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_a_failure_says_what_and_then_everything(
    wrong: Callable[[PolicyDecision], object], message: str
) -> None:
    with pytest.raises(AssertionError) as failure:
        wrong(decided(priority=5000))
    first, _, rest = str(failure.value).partition("\n\n")
    assert first == message
    assert "default/p: fits 1 of 2 nodes; n1 is the best" in rest
    assert "node n2 is spot (off-spot)" in rest


def test_a_pod_that_should_be_placed_and_is_not() -> None:
    world = small().world(node("n1", cpu="1"))
    with pytest.raises(AssertionError, match="should be placed on some node, and is not"):
        world.decide(pod("p", cpu="2")).assert_placed()
    with pytest.raises(AssertionError, match=re.escape("the message should contain 'memory'")):
        world.decide(pod("q", cpu="2")).assert_parked("memory")


def test_a_policy_with_errors_fails_with_its_findings() -> None:
    broken = Source("broken.yaml", POLICY.replace("pod.priority", "pod.prioity"))
    with pytest.raises(AssertionError, match=r"broken.yaml:16:\d+: KP201 .*did you mean"):
        load_policy(broken)


def test_params_profiles_and_shipped_policies() -> None:
    strict = load_policy(Source("small.yaml", POLICY), params={"critical": 1})
    world = strict.world(node("n2", labels={"life": "spot"}))
    world.decide(pod("p", priority=2)).assert_rejected("n2", "off-spot")
    assert load_policy("gpu-pools").program.policies[0] == "gpu-pools"
    two = POLICY.replace("- schedulerName: kpolicy", "- schedulerName: a\n    - schedulerName: b")
    with pytest.raises(AssertionError, match="name the profile: the policy serves a, b"):
        load_policy(Source("two.yaml", two))
    assert load_policy(Source("two.yaml", two), profile="b").scheduler_name == "b"
    with pytest.raises(AssertionError, match="the policy has no profile c; it serves a, b"):
        load_policy(Source("two.yaml", two), profile="c")


QUIET = ("-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function")
CONFTEST = 'pytest_plugins = ["kpolicy.testing.pytest_plugin"]'
MODULE = """
from kpolicy.testing import node, pod

def test_placed(policy):
    policy("policy.yaml").world(node("n1")).decide(pod("p")).assert_placed("n1")

def test_wrong(policy):
    policy("policy.yaml").world(node("n1")).decide(pod("p")).assert_placed("n2")

def test_shipped(policy):
    policy("bin-packing").world(node("n1")).decide(pod("p")).assert_placed("n1")
"""
TESTS = """\
tests:
  - {name: holds, pod: {}, expect: {node: n1}}
  - {name: fails, pod: {}, expect: {node: n2}}
coverage: {minimum: 90%}
"""


def test_in_pytest_the_fixture_finds_files_and_failures_are_short(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.path.joinpath("policy.yaml").write_text(POLICY)
    pytester.makepyfile(MODULE)
    result = pytester.runpytest(*QUIET)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["E*the pod should be placed on n2, and is on n1", "E*default/p: fits 1 of 1 node*"]
    )
    # The frame shown is the test's own.
    result.stdout.no_fnmatch_line("*raise AssertionError*")


def test_in_pytest_test_files_are_collected(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.path.joinpath("policy.yaml").write_text(POLICY)
    text = HEAD + "policies: [policy.yaml]\n" + NODES + TESTS
    pytester.path.joinpath("suite.test.yaml").write_text(text)
    pytester.path.joinpath("broken.test.yaml").write_text(HEAD + "tsts: []\n")
    result = pytester.runpytest(*QUIET, "-v")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "broken.test.yaml::document FAILED*",
            "suite.test.yaml::holds PASSED*",
            "suite.test.yaml::fails FAILED*",
            "suite.test.yaml::coverage FAILED*",
            "*broken.test.yaml:5:1: KP102 unknown field `tsts`*",
            "expected node  n2",
            "got            n1",
            "*% covered, below 90 %",
        ]
    )
