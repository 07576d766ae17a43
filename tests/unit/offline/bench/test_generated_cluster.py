"""Made-up worlds: their shapes, their amounts, and that the engine reads every object."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from kpolicy.engine import Engine
from kpolicy.offline.bench import generated_cluster
from kpolicy.offline.bench.generated_cluster import uid
from kpolicy.offline.bench.measure import measure
from kpolicy.offline.bench.workloads import NODE_CPU_MILLI, UNIQUE, WORKLOADS
from kpolicy.offline.snapshots.inventory import quantity, requested
from kpolicy.offline.snapshots.json_objects import Broken, objects

SIZE = generated_cluster.Size(nodes=200, existing=300, pods=120)


def items(workload: str, size: generated_cluster.Size = SIZE) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for body in generated_cluster.bodies(workload, size):
        for item in objects(body):
            assert not isinstance(item, Broken)
            found.setdefault(item["kind"], []).append(item)
    return found


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_engine_reads_all_of_it_and_waits_in_the_order_of_uids(workload: str) -> None:
    engine = Engine()
    for body in generated_cluster.bodies(workload, SIZE):
        assert engine.load_objects(body, "") == []
    sizes = json.loads(engine.statistics())
    assert (sizes["nodes"], sizes["podsOnNodes"], sizes["podsPending"]) == (200, 300, 120)
    assert [pod.uid for pod in engine.pending()] == [uid(index) for index in range(120)]
    more = {"volumes": 240, "claims": 321, "claims-partitioned": 521, "extended-resource": 201}
    assert sizes["objects"] == 2 + more.get(workload, 0)


def test_nodes_are_as_the_design_says() -> None:
    nodes = items("basic")["Node"]
    assert {
        tuple(node["status"]["allocatable"][name] for name in ("cpu", "memory", "pods"))
        for node in nodes
    } == {("32", "128Gi", "110")}
    labels = [node["metadata"]["labels"] for node in nodes]
    for label, kinds in (
        ("topology.kubernetes.io/zone", 10),
        ("disk", 2),
        ("node.kubernetes.io/instance-type", 4),
        ("kubernetes.io/hostname", 200),
    ):
        counted = Counter(label_[label] for label_ in labels)
        assert len(counted) == kinds
    # Every disk and every type in every zone.
    assert (
        len(
            {
                (
                    label["topology.kubernetes.io/zone"],
                    label["disk"],
                    label["node.kubernetes.io/instance-type"],
                )
                for label in labels
            }
        )
        == 80
    )


def test_existing_pods_are_on_the_nodes_in_turn_and_pods_are_of_fifty_apps() -> None:
    pods = items("basic")["Pod"]
    on_nodes = Counter(pod["spec"]["nodeName"] for pod in pods if "nodeName" in pod["spec"])
    assert (len(on_nodes), sum(on_nodes.values()), max(on_nodes.values())) == (200, 300, 2)
    assert len({pod["metadata"]["labels"]["app"] for pod in pods}) == 50
    assert len({pod["metadata"]["uid"] for pod in pods}) == 420


def test_requests_are_as_the_design_says() -> None:
    size = generated_cluster.Size(nodes=1, existing=0, pods=3000)
    amounts = {
        workload: [requested(pod) for pod in items(workload, size)["Pod"]]
        for workload in ("basic", "mixed")
    }
    assert {(amount["cpu"], amount["memory"]) for amount in amounts["basic"]} == {
        (quantity("100m"), quantity("256Mi"))
    }
    cpu = sorted({amount["cpu"] for amount in amounts["mixed"]})
    memory = sorted({amount["memory"] for amount in amounts["mixed"]})
    assert (cpu[0], cpu[-1]) == (quantity("50m"), quantity("440m"))
    assert (memory[0], memory[-1]) == (quantity("64Mi"), quantity("1087Mi"))


def test_what_a_workload_adds_is_about_its_own_app() -> None:
    for workload, where in (
        ("spread", ("topologySpreadConstraints",)),
        ("antiaffinity", ("affinity", "podAntiAffinity")),
        ("affinity", ("affinity", "podAffinity")),
        ("prefaffinity", ("affinity", "podAntiAffinity")),
        ("nodeaffinity", ("affinity", "nodeAffinity")),
    ):
        for pod in items(workload)["Pod"]:
            part: Any = pod["spec"]
            for key in where:
                part = part.get(key) or {}
            if "nodeName" in pod["spec"]:
                assert part == {}, workload
            else:
                assert part, workload
                app = pod["metadata"]["labels"]["app"]
                assert workload == "nodeaffinity" or f"'app': '{app}'" in str(part)


def test_where_room_must_be_made_nodes_are_full_of_pods_of_lower_priority() -> None:
    size = generated_cluster.Size(nodes=10, existing=40, pods=5)
    pods = items("preemption", size)["Pod"]
    existing = [pod for pod in pods if "nodeName" in pod["spec"]]
    assert sum(requested(pod)["cpu"] for pod in existing) * 1000 == 10 * NODE_CPU_MILLI
    assert {pod["spec"]["priority"] for pod in existing} == {0}
    assert {pod["spec"]["priority"] for pod in pods if pod not in existing} == {1000}


def test_a_bound_pod_is_the_waiting_one_with_its_node() -> None:
    waiting = json.loads(list(generated_cluster.waiting("spread", SIZE))[7])
    bound = json.loads(generated_cluster.on_node("spread", 7, 3))
    assert bound["spec"].pop("nodeName") == "node-000003"
    assert (bound["spec"], bound["metadata"]) == (waiting["spec"], waiting["metadata"])


def test_equal_numbers_give_equal_bytes() -> None:
    assert list(generated_cluster.bodies("mixed", SIZE)) == list(
        generated_cluster.bodies("mixed", SIZE)
    )


@pytest.mark.parametrize("workload", ["basic", "volumes"])
def test_a_list_has_every_object_once_and_in_order(workload: str) -> None:
    document = json.loads(b"".join(generated_cluster.as_list(workload, SIZE)))
    assert (document["apiVersion"], document["kind"]) == ("v1", "List")
    of_kind: dict[str, list[dict[str, Any]]] = {}
    for item in document["items"]:
        of_kind.setdefault(item["kind"], []).append(item)
    assert of_kind == items(workload)


@pytest.mark.parametrize("workload", UNIQUE)
def test_no_two_pods_of_a_unique_workload_are_alike_and_each_fits_somewhere(workload: str) -> None:
    waiting = [json.loads(text) for text in generated_cluster.waiting(workload, SIZE)]
    kinds = {str((pod["metadata"]["labels"], pod["spec"])) for pod in waiting}
    assert len(kinds) == SIZE.pods
    assert not any("@" in kind for kind in kinds)
    assert measure(workload, SIZE).scheduled == SIZE.pods
