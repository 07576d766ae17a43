"""What pods ask and nodes have, for figures; the sum is compared with what the engine holds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.offline.snapshots.inventory import allocatable, requested
from kpolicy.testing import node
from tests.unit.offline.worlds import program


def container(cpu: str, **more: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}, **more}


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"schedulerName": "kpolicy", "containers": [container("100m")], **spec},
    }


SIDECAR = container("50m", restartPolicy="Always")
CASES = [
    (pod(), 100),
    (pod(containers=[container("100m"), container("200m")]), 300),
    (pod(initContainers=[container("250m")]), 250),
    (pod(initContainers=[container("20m")]), 100),
    (pod(initContainers=[SIDECAR]), 150),
    (pod(initContainers=[SIDECAR, container("90m")]), 150),
    (pod(initContainers=[SIDECAR, container("250m")]), 300),
    (pod(initContainers=[container("250m"), SIDECAR]), 250),
    (pod(overhead={"cpu": "7m"}), 107),
    (pod(resources={"requests": {"cpu": "1"}}), 1000),
    (pod(containers=[{"name": "c", "resources": {"limits": {"cpu": "300m"}}}]), 300),
    (pod(containers=[{"name": "c"}]), 0),
]


@pytest.mark.parametrize(("item", "milli"), CASES)
def test_requests_of_a_pod(item: dict[str, Any], milli: int) -> None:
    amounts = requested(item)
    assert amounts.get("cpu", Fraction(0)) == Fraction(milli, 1000)
    assert amounts["pods"] == 1


@pytest.mark.parametrize(
    ("item", "milli"), [case for case in CASES if "limits" not in str(case[0]) and case[1]]
)
def test_the_engine_asks_for_the_same(item: dict[str, Any], milli: int) -> None:
    for cpu, fits in ((milli, True), (milli - 1, False)):
        snapshot = Snapshot.of([node("n", cpu=f"{cpu}m"), item])
        engine = snapshot.engine(program())
        [decision] = engine.schedule(["default/p"], 0).decisions
        assert bool(decision.node) is fits, (cpu, decision)


def test_what_a_node_has() -> None:
    assert allocatable(node("n", cpu="1500m", memory="1Gi", pods=3)) == {
        "cpu": Fraction(3, 2),
        "memory": 2**30,
        "pods": 3,
        "ephemeral-storage": 100 * 2**30,
    }
    assert allocatable({"status": {"capacity": {"cpu": "2"}}}) == {"cpu": 2}
    assert allocatable({}) == {}
