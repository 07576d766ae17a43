"""The events of `wakesOn` are those that the engine waits for."""

from __future__ import annotations

import re
from typing import get_args

from kpolicy.engine import object_kinds
from kpolicy.offline.policy_tests.document_model import Wake
from kpolicy.offline.policy_tests.expectations import EVENTS, words
from tests.tree.sources import ROOT
from tests.unit.offline.policy_tests.suites import mismatch_rows, ran

PARKED = "pod: {requests: {cpu: 64}, priority: 5000}"


def test_every_word_is_one_that_a_test_may_write() -> None:
    assert len(EVENTS) > 20
    assert set(get_args(Wake)) == set(EVENTS)


def test_every_event_stands_under_a_word() -> None:
    labels = _labels_of_nodes_pods_and_time()
    assert len(labels) > 15
    objects = {
        f"{group}/{name}{action}".removeprefix("/")
        for name, _, group, *_ in object_kinds()
        if name not in ("Pod", "Node")
        for action in ("Add", "Update", "Delete")
    }
    assert len(objects) >= 39
    assert labels | objects == {event for events in EVENTS.values() for event in events}


def _labels_of_nodes_pods_and_time() -> set[str]:
    """Of every row of the table `events!`: a name, the words for people, then one label, or one of
    pods on nodes and two of pending pods. An explanation has the first, and only gates concern
    pending pods alone."""
    source = (ROOT / "rust" / "kpolicy-engine" / "src" / "event.rs").read_text("utf-8")
    _, begin, rest = source.partition("\nevents! {\n")
    table, end, _ = rest.partition("\n}\n")
    assert begin, "event.rs has the table"
    assert end, "the table ends"
    text = "".join(line for line in table.splitlines() if not line.strip().startswith("///"))
    *rows, after_last = text.split(";")
    assert not after_last.strip()
    labels = [re.findall(r'"([^"]*)"', row)[1:] for row in rows]
    assert all(len(of_row) in (1, 3) for of_row in labels)
    of_gates = "PodSchedulingGatesEliminated"
    return {
        label
        for of_row in labels
        for label in (of_row[1:] if of_gates in of_row[0] else of_row[:1])
    }


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
