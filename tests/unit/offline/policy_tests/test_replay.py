"""A recorded cluster is placed again, and what came of it is compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kpolicy import cli
from kpolicy.offline.policy_tests.results import PolicyTestRun, TestResult
from kpolicy.offline.policy_tests.session import run_tests
from kpolicy.testing import node, pod
from tests.unit.offline.policy_tests.suites import HEAD, POLICY


def created(minute: int, item: dict[str, Any]) -> dict[str, Any]:
    item["metadata"]["creationTimestamp"] = f"2026-11-01T10:{minute:02}:00Z"
    return item


def recorded() -> list[dict[str, Any]]:
    """Two nodes for two processors each; three pods on them, two that wait, others that stay."""
    mirror = pod("kubelet", cpu="1m", node_name="n2")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    ended = pod("ended", cpu="1", node_name="n2")
    ended["status"] = {"phase": "Succeeded"}
    return [
        node("n1", cpu="2", labels={"disk": "ssd"}),
        node("n2", cpu="2100m", labels={"life": "spot"}),
        created(1, pod("a", cpu="1", node_name="n1")),
        created(2, pod("b", cpu="1", node_name="n2")),
        created(3, pod("c", cpu="1", node_name="n2")),
        created(4, pod("late", cpu="1")),
        created(5, pod("huge", cpu="64", priority=5000)),
        created(6, pod("theirs", cpu="1", scheduler_name="other")),
        mirror,
        ended,
    ]


def ran(tmp_path: Path, replay: str, expect: str, more: str = "snapshot: c.json\n") -> TestResult:
    [(_, test)] = run_of(tmp_path, replay, expect, more).tests()
    return test


def run_of(tmp_path: Path, replay: str, expect: str, more: str) -> PolicyTestRun:
    (tmp_path / "small.yaml").write_text(POLICY)
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": recorded()}))
    test = f"tests: [{{name: a, replay: {replay}, expect: {expect}}}]\n"
    file = tmp_path / "r.test.yaml"
    file.write_text(f"{HEAD}policies: [small.yaml]\n{more}{test}")
    return run_tests(file)


def mismatches_of(test: TestResult) -> list[tuple[str, str, str]]:
    assert not test.diagnostics, test.diagnostics
    return [(mismatch.what, mismatch.expected, mismatch.got) for mismatch in test.mismatches]


def test_pending_pods_are_placed_where_the_others_stay(tmp_path: Path) -> None:
    test = ran(
        tmp_path, "{}", "{placed: {atLeast: 1, atMost: 50%}, changedFromRecorded: {atMost: 0}}"
    )
    assert mismatches_of(test) == []
    assert test.pods == 2
    assert test.summary.startswith("placed 50.0 %, changed 0.0 %, p99 ")


def test_all_pods_are_taken_off_and_placed_in_the_order_of_creation(tmp_path: Path) -> None:
    # a and b prefer the disk of n1, so that c and the late one go to n2: only b has moved.
    test = ran(
        tmp_path, "{pods: all}", "{changedFromRecorded: {atMost: 1}, placed: {atLeast: 80%}}"
    )
    assert mismatches_of(test) == []
    assert test.pods == 5
    assert test.summary.startswith("placed 80.0 %, changed 33.3 %, ")


def test_the_order_of_the_queue_lets_the_important_go_first(tmp_path: Path) -> None:
    items = [
        node("n1", cpu="1"),
        created(1, pod("a", cpu="1")),
        created(2, pod("b", cpu="1", priority=9)),
    ]
    never = "never: decision.node.name == 'n1' && pod.name == 'a'"
    for order, holds in (("recorded", False), ("queue", True)):
        run_of(tmp_path, "{}", "{placed: 1}", "")
        (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
        text = f"{HEAD}policies: [small.yaml]\nsnapshot: c.json\ntests:\n  - name: a\n"
        text += f"    replay: {{order: {order}}}\n    expect:\n      {never}\n"
        (tmp_path / "r.test.yaml").write_text(text)
        assert run_tests(tmp_path / "r.test.yaml").is_fine is holds


def test_pods_of_other_schedulers_come_on_request(tmp_path: Path) -> None:
    assert ran(tmp_path, "{everyPod: true}", "{placed: {atLeast: 0}}").pods == 3


@pytest.mark.parametrize(
    ("expect", "wrong"),
    [
        ("{placed: {atLeast: 97%}}", ("placed", "at least 97 %", "80.0 %: 4 of 5 pods")),
        ("{placed: {atMost: 3}}", ("placed", "at most 3 pods", "80.0 %: 4 of 5 pods")),
        (
            "{changedFromRecorded: {atMost: 5%}}",
            ("changedFromRecorded", "at most 5 %", "33.3 %: 1 of 3 pods"),
        ),
        (
            "{never: \"label(decision.node, 'life') == 'spot' && pod.name == 'c'\"}",
            (
                "never",
                "label(decision.node, 'life') == 'spot' && pod.name == 'c'",
                "default/c on n2",
            ),
        ),
        (
            "{never: \"decision.node.labels['disk'] == 'x'\"}",
            (
                "never",
                "decision.node.labels['disk'] == 'x'",
                "default/c on n2 (no such key: disk), default/late on n2 (no such key: disk)",
            ),
        ),
        (
            "{never: \"decision.recordedNode == 'n2' && decision.node.name != 'n2'\"}",
            (
                "never",
                "decision.recordedNode == 'n2' && decision.node.name != 'n2'",
                "default/b on n1",
            ),
        ),
    ],
)
def test_what_does_not_hold_is_reported(
    tmp_path: Path, expect: str, wrong: tuple[str, str, str]
) -> None:
    test = ran(tmp_path, "{pods: all}", expect)
    assert mismatches_of(test) == [wrong]
    assert not test.has_passed


def test_what_is_soft_is_reported_and_does_not_fail(tmp_path: Path) -> None:
    slow = "p99CycleMicros: {atMost: 0.001, soft: true}"
    test = ran(tmp_path, "{pods: all}", f"{{{slow}, placed: {{atLeast: 99%, soft: true}}}}")
    assert [what for what, _, _ in mismatches_of(test)] == ["placed", "p99CycleMicros"]
    assert test.has_passed
    assert not ran(tmp_path, "{}", "{p99CycleMicros: {atMost: 0.001}}").has_passed


def test_a_snapshot_of_its_own_or_the_document_s_by_name(tmp_path: Path) -> None:
    expect = "{placed: {atLeast: 50%}}"
    assert mismatches_of(ran(tmp_path, "{snapshot: c.json}", expect, "")) == []
    assert mismatches_of(ran(tmp_path, "{snapshot: c}", expect)) == []
    run = run_of(tmp_path, "{snapshot: d.json}", expect, "")
    assert [diagnostic.code for diagnostic in run.all_diagnostics()] == ["KP501"]


@pytest.mark.parametrize(
    ("replay", "expect", "code"),
    [
        ("{}", "{decision: place}", "KP115"),
        ("{}", "{never: decision.node.nam == 'x'}", "KP201"),
        ("{}", "{never: pod.priority}", "KP203"),
        ("{}", "{placed: {}}", "KP114"),
        ("{}", "{placed: {atLeast: 101%}}", "KP113"),
        ("{}", "{}", "KP502"),
        ("{}, pod: {}", "{placed: {atLeast: 1}}", "KP115"),
        ("{order: random}", "{placed: {atLeast: 1}}", "KP103"),
    ],
)
def test_what_is_wrong_with_a_replay_is_reported(
    tmp_path: Path, replay: str, expect: str, code: str
) -> None:
    assert code in [diagnostic.code for diagnostic in ran(tmp_path, replay, expect).diagnostics]


def test_without_a_snapshot_or_pods_there_is_nothing_to_replay(tmp_path: Path) -> None:
    for more in ("", "snapshot: c.json\nprofile: kpolicy\n"):
        (tmp_path / "e.json").write_text(json.dumps({"kind": "List", "items": [node("n1")]}))
        test = ran(tmp_path, "{}", "{placed: {atLeast: 1}}", more.replace("c.json", "e.json"))
        assert [diagnostic.code for diagnostic in test.diagnostics] == ["KP501"]


def test_what_is_expected_of_a_replay_is_not_expected_of_a_pod(tmp_path: Path) -> None:
    run_of(tmp_path, "{}", "{}", "")
    single = "{name: a, pod: {}, expect: {placed: {atLeast: 1}}}"
    text = f"{HEAD}policies: [small.yaml]\ntests: [{single}]\n"
    (tmp_path / "r.test.yaml").write_text(text)
    [(_, test)] = run_tests(tmp_path / "r.test.yaml").tests()
    assert [diagnostic.code for diagnostic in test.diagnostics] == ["KP115"]


def test_the_line_of_a_replay_says_how_it_went(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expect = "{placed: {atLeast: 80%}, p99CycleMicros: {atMost: 0.001, soft: true}}"
    run_of(tmp_path, "{pods: all}", expect, "snapshot: c.json\n")
    assert cli.main(["test", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "  5 pods  " in out
    assert "  placed 80.0 %, changed 33.3 %, p99 " in out
    assert "wished p99CycleMicros  at most 0.001" in out
