"""Explanations as text: the parts that a small cluster does not show."""

from __future__ import annotations

from typing import Any

from kpolicy.offline.reports.explanation_text import text, verdict

FULL = {"plugin": "NodeResourcesFit", "code": "Unschedulable", "reasons": ["Insufficient cpu"]}


def rejected(name: str, status: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "filter": status, "allFilters": [status]}


def test_a_rejection_of_the_whole_pod_is_printed_once() -> None:
    status = {
        "plugin": "VolumeBinding",
        "code": "UnschedulableAndUnresolvable",
        "reasons": ["claim not found"],
    }
    explained = {
        "pod": "a/b",
        "preFilter": status,
        "nodes": [rejected("n1", status), rejected("n2", status)],
        "message": "0/2 nodes are available: claim not found.",
    }
    assert text(explained) == [
        "a/b: fits none of 2 nodes",
        "",
        "  before any node was checked: claim not found (VolumeBinding)",
        "",
        "  0/2 nodes are available: claim not found.",
    ]


def test_preemption_names_victims_and_node() -> None:
    explained = {
        "pod": "a/b",
        "nodes": [rejected("n1", FULL), rejected("n2", FULL)],
        "preemption": {
            "node": "n2",
            "candidates": {"n2": ["x/low"], "n1": ["x/one", "x/two", "x/three", "x/four"]},
            "pdbViolations": {"n1": 2, "n2": 0},
        },
    }
    assert text(explained)[5:] == [
        "  preemption would make room on n2",
        "    n1  evicts x/one, x/two, x/three and 1 more  against 2 disruption budgets",
        "    n2  evicts x/low",
    ]
    kept = {f"n{number}": ["ns/a", "ns/b", "ns/c", "ns/d"] for number in range(7)}
    explained["preemption"] = {"node": "n2", "spared": kept}
    lines = text(explained)
    lines = lines[lines.index("  pods that `preemption.victims` protects") + 1 :]
    assert lines[0] == "    n0  keeps ns/a, ns/b, ns/c and 1 more"
    assert lines[5:] == ["    and 2 nodes more"]
    explained["preemption"] = {"message": "No preemption victims found."}
    assert text(explained)[-1] == "  preemption: No preemption victims found."


def test_what_a_pod_waits_for_is_printed_once_with_its_rules() -> None:
    waits = [
        {"plugin": "NodeName", "events": ["NodeAdd"], "words": ["a node is added"]},
        {"plugin": "NodePorts", "events": [], "words": ["a node is added", "a pod leaves a node"]},
    ]
    explained = {"pod": "a/b", "nodes": [], "message": "0/0.", "waitsFor": waits}
    lines = [
        "  tried again when",
        "    a node is added      NodeName, NodePorts",
        "    a pod leaves a node  NodePorts",
    ]
    assert text(explained)[-3:] == lines
    nobody = [{"plugin": "", "events": ["NodeAdd"], "words": ["a node is added"]}]
    assert text(explained | {"waitsFor": nobody})[-2:] == [
        "  tried again when",
        "    a node is added",
    ]


def test_that_no_new_node_would_help_is_said_with_the_rules() -> None:
    explained = {"pod": "a/b", "nodes": [], "message": "0/0.", "keptBackBy": ["quota", "window"]}
    assert text(explained)[-2:] == [
        "  0/0.",
        "  no new node would help, because of quota, window",
    ]


def test_a_rule_without_a_raw_score_shows_its_weighted_one() -> None:
    node = {"name": "n", "raw": {"a": 7.5}, "weighted": {"a": 15, "b": 0}, "total": 15}
    explained = {"pod": "a/b", "nodes": [node], "best": ["n"], "selected": "n"}
    assert text(explained)[-3:] == [
        "    node  total         a",
        "    n        15  7.5 → 15  selected",
        "    0 on each: b",
    ]


def test_a_wide_table_is_cut_between_columns_and_repeats_its_nodes() -> None:
    rules = [f"rule-number-{number}" for number in range(8)]
    weighted = dict.fromkeys(rules, 1234)
    nodes = [{"name": f"n{n}", "weighted": weighted, "total": 9872 - n} for n in range(3)]
    explained = {"pod": "a/b", "nodes": nodes, "best": ["n0"], "selected": "n0"}
    lines = text(explained, width=72)
    assert max(map(len, lines)) <= 72
    heads = [line.split() for line in lines if line.lstrip().startswith("node ")]
    assert [name for head in heads for name in head[2:]] == rules
    assert all(head[:2] == ["node", "total"] for head in heads)
    assert len(heads) == 3
    assert sum(line.lstrip().startswith("n0") for line in lines) == 3
    assert sum("selected" in line for line in lines) == 1


def test_a_tie_is_called_one() -> None:
    explained = {
        "pod": "a/b",
        "best": ["m", "n"],
        "selected": "n",
        "nodes": [{"name": name, "raw": {}, "weighted": {}, "total": 1} for name in ("m", "n")],
    }
    assert verdict(explained) == "a/b: fits 2 of 2 nodes; n is selected among the 2 best"
