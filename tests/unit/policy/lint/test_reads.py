"""KP351, KP361, KP403, KP404: what expressions read."""

from __future__ import annotations

import pytest

from tests.unit.policy.lint.judged import findings, of_predicate

BY_LANE = {
    "!node.pods.exists(p, p.priority < pod.priority)": "node.pods.exists(p, p.priority < pod.priority)",  # noqa: E501
    "string(node.free('cpu')) == '5'": "string(node.free('cpu'))",
    "node.labels[node.name] == 'x'": "node.labels[node.name]",
}
COLUMNAR = (
    "node.pods.count(selector('tier=batch')) > 0",
    "node.name.startsWith('a') || label(node, 'zone').matches('^eu-')",
    "node.taints.all(t, t.effect == 'PreferNoSchedule' || pod.tolerates(t))",
    "node.free('cpu') - pod.request('cpu') >= node.allocatable('cpu') / 20",
    "'zone' in node.labels && node.domain('zone').pods.count(selector({'app': pod.name})) < 5",
    "pod.containers.exists(c, c.image.contains('gpu')) && node.ready",
    "node.fits(pod) && node.hasImage('x')",
)


@pytest.mark.parametrize("expression", BY_LANE)
def test_what_leaves_the_columns_is_reported(expression: str) -> None:
    assert ("KP403", BY_LANE[expression]) in of_predicate(expression)


@pytest.mark.parametrize("expression", COLUMNAR)
def test_what_stays_is_not(expression: str) -> None:
    assert of_predicate(expression) == []


def test_an_annotation_is_reported_once() -> None:
    twice = "'a' in node.annotations && node.annotations['a'] == 'x'"
    assert of_predicate(twice) == [("KP404", "'a' in node.annotations")]
    victims = "preemption: {victims: {expression: \"!('a' in victim.annotations)\"}}"
    assert findings(victims) == []


def test_evictions_change_what_some_rules_read() -> None:
    def of(expression: str) -> list[tuple[str, str]]:
        return of_predicate(expression, "preemptible: false")

    assert of("node.free('cpu') > pod.request('cpu')") == [("KP351", "node.free('cpu')")]
    assert of("node.pods.count(selector('a=b')) < 5")[0][0] == "KP351"
    assert of("label(node, 'a') == 'x' && pod.request('cpu') > 5") == []


def test_a_condition_of_the_scheduler_name_is_a_profile() -> None:
    text = """
matchConditions: [{name: ours, expression: pod.schedulerName == 'kpolicy'}]
predicates: [{name: a, expression: node.ready}]
"""
    assert findings(text) == [("KP361", "pod.schedulerName == 'kpolicy'")]
    assert findings(text.replace("pod.schedulerName", "pod.priorityClassName")) == []
