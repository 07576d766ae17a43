"""The events of `wakesOn` are those that the engine waits for."""

from __future__ import annotations

import re
from typing import get_args

from kpolicy.offline.policy_tests.document_model import Wake
from kpolicy.offline.policy_tests.expectations import EVENTS, words
from tests.tree.sources import ROOT
from tests.unit.offline.policy_tests.suites import mismatch_rows, ran

PARKED = "pod: {requests: {cpu: 64}, priority: 5000}"


def test_every_word_is_one_that_a_test_may_write() -> None:
    assert len(EVENTS) > 20
    assert set(get_args(Wake)) == set(EVENTS)


def test_every_event_stands_under_a_word() -> None:
    source = (ROOT / "rust" / "kpolicy-engine" / "src" / "event.rs").read_text("utf-8")
    labels = set(re.findall(r'\(Self::[\w:| ]+, \w+\) =>\s*(?:\{\s*)?"(\w+)"', source))
    objects = set(re.findall(r'labels!\("([\w./]+)"\)', source)) - {"Pod", "Node"}
    every = labels | {
        f"{kind}{action}" for kind in objects for action in ("Add", "Update", "Delete")
    }
    assert len(every) > 50
    assert every == {event for events in EVENTS.values() for event in events}


def test_what_a_rule_reads_wakes_the_pod_that_it_rejects() -> None:
    for pod, woken in ((PARKED, "node.free, node"), ("pod: {labels: {rack: r}}", "node.labels")):
        expect = f"{{decision: park, wakesOn: [{woken}]}}"
        assert ran(f"- {{name: a, {pod}, expect: {expect}}}").is_fine


def test_what_no_rule_reads_does_not() -> None:
    [(what, wanted, got)] = mismatch_rows(
        ran(f"- {{name: a, {PARKED}, expect: {{wakesOn: [service]}}}}")
    )
    assert (what, wanted) == ("wakesOn", "service")
    assert "node.free" in got


def test_a_pod_that_is_placed_waits_for_nothing() -> None:
    assert ran("- {name: a, pod: {}, expect: {decision: place, wakesOn: []}}").is_fine
    run = ran("- {name: a, pod: {}, expect: {wakesOn: [node.free]}}")
    [(_, _, got)] = mismatch_rows(run)
    assert got == "none"


def test_a_gate_waits_for_itself() -> None:
    pod = "pod: {spec: {schedulingGates: [{name: g}]}}"
    assert ran(f"- {{name: a, {pod}, expect: {{wakesOn: [pod.schedulingGates]}}}}").is_fine
    assert words([{"events": ["UnschedulablePodUpdatePodSchedulingGatesEliminated"]}]) == (
        "pod.schedulingGates",
    )
