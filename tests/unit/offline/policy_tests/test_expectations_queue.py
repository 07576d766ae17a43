"""What tests expect of the queue: the order in which pods are tried, and holds."""

from __future__ import annotations

import pytest

from kpolicy.offline.policy_tests.coverage import PolicyCoverage
from tests.unit.offline.policy_tests.suites import mismatch_rows, ran

POLICY = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: p}
spec:
  profiles: [{schedulerName: kpolicy}]
  queue:
    order: {expression: "tenant.name == 'free' ? 1.0 : double(pod.priority) / 0.0"}
    holds:
      - name: cap
        matchConditions: [{name: not-system, expression: "pod.namespace != 'system'"}]
        when: tenant.used('cpu') + pod.request('cpu') > cpu('4') || pod.labels[?'late'].hasValue()
        messageExpression: "tenant.name + ' has its 4 cpus'"
"""
SMALLEST_FIRST = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: p}
spec:
  profiles: [{schedulerName: kpolicy}]
  queue: {order: {expression: pod.request('cpu')}}
"""
NODES = "nodes: [{name: n1, allocatable: {cpu: 16, memory: 8Gi, pods: 110}}]\n"


def pods(*cpus: int) -> str:
    steps = ", ".join(
        f"{{pod: {{name: p{cpu}, namespace: team, requests: {{cpu: {cpu}}}}}}}" for cpu in cpus
    )
    return f"sequence: [{steps}]"


def test_pods_that_wait_together_are_tried_in_the_order_of_the_policy() -> None:
    sequence = pods(3, 1, 2)
    test = f"- {{name: a, {sequence}, expect: {{order: [team/p1, team/p2, team/p3]}}}}"
    assert ran(test, NODES, SMALLEST_FIRST).is_fine
    wrong = f"- {{name: a, {sequence}, expect: {{order: [team/p3, team/p1, team/p2]}}}}"
    run = ran(wrong, NODES, SMALLEST_FIRST)
    want, got = "team/p3, team/p1, team/p2", "team/p1, team/p2, team/p3"
    assert mismatch_rows(run) == [("order", want, got)]


def test_each_pod_is_tried_when_those_before_it_have_what_they_got() -> None:
    sequence = pods(1, 2, 3)
    held = "{decision: gate, heldBy: cap, message: team has its 4 cpus}"
    sequence = sequence.replace("cpu: 3}}}", f"cpu: 3}}}}, expect: {held}}}")
    test = f"- {{name: a, {sequence}, expect: {{order: [team/p1, team/p2]}}}}"
    assert ran(test, NODES, POLICY).is_fine


def test_without_a_word_about_the_queue_the_order_is_that_of_kube_scheduler() -> None:
    policy = SMALLEST_FIRST[: SMALLEST_FIRST.index("  queue")]
    first = "{pod: {name: a}}, {pod: {name: b, priority: 7}}, {pod: {name: c}}"
    test = f"- {{name: a, sequence: [{first}], expect: {{order: [b, a, c]}}}}"
    assert ran(test, NODES, policy).is_fine


def test_which_hold_holds_a_pod_can_be_expected() -> None:
    test = "- {name: a, pod: {requests: {cpu: 5}}, expect: {heldBy: cap}}"
    assert ran(test, NODES, POLICY).is_fine
    run = ran("- {name: a, pod: {requests: {cpu: 4}}, expect: {heldBy: cap}}", NODES, POLICY)
    assert mismatch_rows(run) == [("heldBy", "cap", "none: the decision is place")]


@pytest.mark.parametrize(
    ("test", "code"),
    [
        ("{name: a, pod: {}, expect: {order: [pod]}}", "KP115"),
        ("{name: a, sequence: [{pod: {}}], expect: {order: [pod], node: n1}}", "KP115"),
        ("{name: a, sequence: [{pod: {}, expect: {order: [pod]}}]}", "KP115"),
        ("{name: a, pod: {}, expect: {heldBy: cop}}", "KP501"),
    ],
)
def test_what_cannot_be_expected_is_named(test: str, code: str) -> None:
    [result] = [result for _, result in ran(f"- {test}", NODES, POLICY).tests()]
    assert {finding.code for finding in result.diagnostics} == {code}


def coverage(test: str) -> PolicyCoverage:
    [covered] = ran(test, NODES, POLICY).coverage
    return covered


def missing(found: PolicyCoverage) -> dict[str, str]:
    return {item.label: item.problem() for item in found.uncovered()}


def test_orders_and_holds_count_for_coverage() -> None:
    found = coverage("- {name: a, pod: {namespace: free}, expect: {decision: place}}")
    assert found.rules == 2
    assert missing(found) == {
        "cap": "never true",
        "pod.namespace != 'system'": "never false",
        "tenant.name == 'free'": "never false",
        "tenant.used('cpu') + pod.request('cpu') > cpu('4')": "never true",
        "pod.labels[?'late'].hasValue()": "never true",
    }
    tests = """\
- {name: a, pod: {namespace: free, requests: {cpu: 5}}, expect: {heldBy: cap}}
- {name: b, pod: {namespace: free, labels: {late: ''}}, expect: {heldBy: cap}}
- {name: c, pod: {namespace: system, priority: 1}, expect: {decision: place}}
- {name: d, pod: {}, expect: {decision: place, errors: [{rule: queue.order, code: KR111}]}}
"""
    assert missing(coverage(tests)) == {}
    assert ran(tests, NODES, POLICY).is_fine
