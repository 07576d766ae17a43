"""Units of pods, decided by the real engine: all of them are placed, or none."""

from __future__ import annotations

import json
from typing import Any

from kpolicy.engine import Engine, Verdict, VolumeWork
from kpolicy.testing.builders import node, pod

PROGRAM: dict[str, Any] = {
    "format": 1,
    "hash": "sha256:0000",
    "policies": ["test"],
    "tieBreak": "name",
    "profiles": [
        {
            "schedulerName": "kpolicy",
            "percentageOfNodesToScore": 100,
            "filters": [
                {"name": name, "builtin": name, "args": {}}
                for name in ("NodeResourcesFit", "VolumeBinding")
            ],
            "scores": [],
        }
    ],
}
LOCAL = {"storageClassName": "local", "accessModes": ["ReadWriteOnce"]}
VOLUMES: list[dict[str, Any]] = [
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "local"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv", "uid": "pv"},
        "spec": {**LOCAL, "capacity": {"storage": "1Gi"}},
        "status": {"phase": "Available"},
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default", "uid": "data"},
        "spec": {**LOCAL, "resources": {"requests": {"storage": "1Gi"}}},
    },
]


def engine_with(*pods: dict[str, Any]) -> Engine:
    engine = Engine()
    assert engine.load(json.dumps(PROGRAM).encode()) == []
    for item in (node("n1", cpu="2"), node("n2", cpu="2"), *VOLUMES, *pods):
        assert engine.load_objects(json.dumps(item).encode(), "") == []
    return engine


def with_volume(name: str) -> dict[str, Any]:
    item = pod(name, cpu="2")
    item["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    return item


def test_a_unit_that_fits_is_placed_whole_with_the_writes_of_each_pod() -> None:
    engine = engine_with(with_volume("a"), pod("b", cpu="2"))
    unit = engine.schedule_unit(["default/a", "default/b"], 0)
    assert unit.program_hash == "sha256:0000"
    assert unit.rejection is None
    assert [decision.verdict for decision in unit.placements] == [Verdict.PLACED] * 2
    assert {decision.node for decision in unit.placements} == {"n1", "n2"}
    (write,) = unit.placements[0].writes
    assert isinstance(write, VolumeWork)
    assert (write.claim, write.volume, write.to_write) == ("data", "pv", True)
    assert unit.placements[0].volumes == [write]
    assert unit.placements[1].writes == []


def test_a_unit_that_does_not_fit_leaves_everything_as_it_was() -> None:
    engine = engine_with(with_volume("a"), pod("b", cpu="2"), pod("c", cpu="2"))
    before = engine.holdings()
    unit = engine.schedule_unit(["default/a", "default/b", "default/c"], 0)
    assert unit.placements == []
    assert unit.rejection is not None
    assert (unit.rejection.uid, unit.rejection.verdict) == ("default/c", Verdict.PARKED)
    assert "Insufficient cpu" in unit.rejection.message
    assert engine.holdings() == before
    sizes = json.loads(engine.statistics())
    assert (sizes["podsAssumed"], sizes["podsParked"]) == (0, 0)


def test_a_unit_of_one_pod_is_decided_as_the_pod_alone() -> None:
    alone, in_unit = (engine_with(with_volume("a")) for _ in range(2))
    (decision,) = alone.schedule(["default/a"], 0).decisions
    (placement,) = in_unit.schedule_unit(["default/a"], 0).placements
    expected = decision._replace(filter_ns=placement.filter_ns, score_ns=placement.score_ns)
    assert placement == expected


def test_a_unit_with_a_pod_whose_spec_asks_for_too_much_is_set_aside() -> None:
    nodes = [node(f"n{index}", cpu="2") for index in range(3, 103)]
    hostile = pod("b", cpu="2", node_selector={f"k{index}": "x" for index in range(8_000)})
    engine = engine_with(*nodes, with_volume("a"), hostile)
    before = engine.holdings()
    unit = engine.schedule_unit(["default/a", "default/b"], 0)
    assert unit.placements == []
    assert unit.rejection is not None
    assert (unit.rejection.uid, unit.rejection.verdict) == ("default/b", Verdict.SET_ASIDE)
    assert "spec.nodeSelector (8000 entries)" in unit.rejection.message
    assert engine.holdings() == before
    sizes = json.loads(engine.statistics())
    assert (sizes["podsAssumed"], sizes["podsParked"]) == (0, 0)
