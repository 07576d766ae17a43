"""The Python API behind the offline verbs."""

from __future__ import annotations

import kpolicy
from kpolicy.testing import node, pod

OFFLINE = {
    "Explained",
    "Header",
    "InputPlan",
    "Measured",
    "Origin",
    "Plan",
    "PlanOptions",
    "PolicyRefusedError",
    "Problem",
    "SimulatedPod",
    "Simulation",
    "Size",
    "Snapshot",
    "Survey",
    "explain",
    "journal_plan",
    "measure",
    "read_journal",
    "redact",
    "replay",
    "replay_with",
    "simulate",
    "snapshot_plan",
    "survey",
    "write_snapshot",
}


def test_every_name_is_there() -> None:
    assert set(kpolicy.__all__) >= OFFLINE
    assert all(getattr(kpolicy, name) is not None for name in kpolicy.__all__)


def test_a_few_lines_do_what_the_verbs_do() -> None:
    snapshot = kpolicy.Snapshot.of([node("n"), pod("p", cpu="1")])
    [explained] = kpolicy.explain(snapshot, pods=["p"]).explanations
    assert explained["selected"] == "n"
    assert [pod.node for pod in kpolicy.simulate(snapshot).pods] == ["n"]
    assert kpolicy.survey(snapshot).pods_pending == 1
    assert kpolicy.measure("basic", kpolicy.Size(nodes=5, existing=0, pods=5)).scheduled == 5
