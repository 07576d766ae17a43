"""`simulate`: order, the message of each pod, and the sums."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kpolicy import Snapshot, simulate
from kpolicy.offline.answers import pod_decisions
from kpolicy.offline.snapshots.survey import Utilisation
from kpolicy.policy.compile import compile_policy, shipped_source
from kpolicy.testing import node, pod
from tests.unit.offline.worlds import aged, cluster, program


def test_pods_are_placed_in_queue_order_each_seeing_the_ones_before() -> None:
    items = [
        node("n", cpu="3"),
        aged(pod("b", cpu="1")),
        aged(pod("a", cpu="1")),
        aged(pod("late", cpu="1"), "2026-02-01T00:00:00Z"),
        aged(pod("important", cpu="1", priority=5), "2026-03-01T00:00:00Z"),
    ]
    done = simulate(Snapshot.of(items), program())
    assert [pod.line() for pod in done.pods] == [
        {"pod": "default/important", "node": "n"},
        {"pod": "default/a", "node": "n"},
        {"pod": "default/b", "node": "n"},
        {"pod": "default/late", "message": "0/1 nodes are available: 1 Insufficient cpu."},
    ]


def test_a_placed_pod_says_what_its_bind_would_write() -> None:
    shared = node("n")
    shared["status"]["allocatable"]["alibabacloud.com/gpu-count"] = "2"
    asking = [pod(name, annotations={"alibabacloud.com/gpu-milli": "600"}) for name in "ab"]
    policy = compile_policy([shipped_source("gpus-best-fit")], every_pod=True).program
    lines = [each.line() for each in simulate(Snapshot.of([shared, *asking]), policy).pods]
    assert lines == [
        {
            "pod": f"default/{name}",
            "node": "n",
            "annotations": {"alibabacloud.com/gpu-index": index},
        }
        for name, index in (("a", "0"), ("b", "1"))
    ]


def test_the_summary_adds_up() -> None:
    done = simulate(Snapshot.of(cluster()), program())
    assert done.summary.line() == {
        "summary": {
            "pods": 2,
            "placed": 1,
            "pending": 1,
            "notServed": 1,
            "nodes": 4,
            "byReason": {done.pods[1].message: 1},
            "byRule": {"NodeResourcesFit": 1, "NodeUnschedulable": 1, "TaintToleration": 1},
            "utilisation": {
                "cpu": {"allocatable": 16, "before": 3, "after": 5},
                "ephemeral-storage": {"allocatable": 400 * 2**30, "before": 0, "after": 0},
                "memory": {"allocatable": 32 * 2**30, "before": 2**30, "after": 2 * 2**30},
                "pods": {"allocatable": 440, "before": 1, "after": 2},
            },
        }
    }


def test_gated_and_deleted_pods_are_named_as_such() -> None:
    deleted = pod("deleted")
    deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    items = [node("n"), pod("gated", scheduling_gates=["example.com/wait"]), deleted]
    lines = [pod.line() for pod in simulate(Snapshot.of(items), program()).pods]
    assert lines[0] == {"pod": "default/deleted", "message": "the pod is being deleted"}
    assert "example.com/wait" in lines[1]["message"]


def test_the_same_seed_gives_the_same_placements_in_batches_of_any_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    items = [node(f"n{number}", cpu="2") for number in range(5)]
    items += [pod(f"p{number:02}", cpu="500m") for number in range(25)]
    whole = simulate(Snapshot.of(items), program(), seed=3)
    monkeypatch.setattr(pod_decisions, "BATCH_PODS", 4)
    reports: list[tuple[int, int]] = []
    in_parts = simulate(
        Snapshot.of(items), program(), seed=3, progress=lambda *at: reports.append(at)
    )
    assert in_parts.pods == whole.pods
    assert (whole.summary.placed, whole.summary.pending) == (20, 5)
    assert reports == [*((number, 25) for number in range(4, 25, 4)), (25, 25)]


def test_a_share_of_nothing_is_none() -> None:
    nothing = Fraction(0)
    assert Utilisation(nothing, nothing, nothing).share(nothing) == 0.0
