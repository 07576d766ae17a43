"""Facts that other objects tell of a pod: its siblings, its controller's replicas, its budgets."""

from __future__ import annotations

from typing import Any

import pytest

import kpolicy
from kpolicy import Snapshot
from kpolicy.offline.redaction.redact import redactor

ZONE = "topology.kubernetes.io/zone"
Json = dict[str, Any]


def node(name: str, zone: str) -> Json:
    meta = {"name": name, "labels": {ZONE: zone}}
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "20"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta,
        "status": {"allocatable": amounts},
    }


def pod(name: str, owner: str, on: str = "", namespace: str = "shop") -> Json:
    meta: Json = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"}
    meta["labels"] = {"app": "web"}
    if owner:
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner}
        meta["ownerReferences"] = [reference | {"controller": True}]
    spec: Json = {"containers": [{"name": "c", "image": "i"}]} | ({"nodeName": on} if on else {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def replica_set(name: str, replicas: int) -> Json:
    meta = {"name": name, "namespace": "shop", "uid": name}
    selector = {"matchLabels": {"app": "web"}}
    spec = {"replicas": replicas, "selector": selector}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}


def budget(name: str, selector: Json | None, allowed: int) -> Json:
    meta = {"name": name, "namespace": "shop", "uid": name}
    spec = {} if selector is None else {"selector": selector}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta,
        "spec": spec,
        "status": {"disruptionsAllowed": allowed},
    }


CLUSTER = (
    node("n1", "a"),
    node("n2", "a"),
    node("n3", "b"),
    pod("old-1", "web", "n1"),
    pod("old-2", "web", "n2"),
    pod("other", "batch", "n1"),
    # The same controller by its reference, in another namespace.
    pod("far", "web", "n1", "elsewhere"),
    pod("new", "web"),
    pod("bare", ""),
    replica_set("web", 5),
    budget("web", {"matchLabels": {"app": "web"}}, 2),
    budget("all", {}, 0),
    budget("none", None, 9),
)
ANSWERS = (
    ("new", "node.pods.sameController(pod)", 1),
    ("bare", "node.pods.sameController(pod)", 0),
    ("new", f"node.domain('{ZONE}').pods.sameController(pod)", 2),
    ("new", "cluster.pods.sameController(pod)", 2),
    ("bare", "cluster.pods.sameController(pod)", 0),
    ("new", "pod.controllerReplicas", 5),
    ("bare", "has(pod.controllerReplicas)", False),
    ("bare", "pod.?controllerReplicas.orValue(1)", 1),
    ("new", "pod.disruptionBudgets.size()", 2),
    ("new", "pod.disruptionBudgets.map(b, b.disruptionsAllowed).sort()", [0, 2]),
    ("new", "pod.disruptionBudgets.all(b, b.disruptionsAllowed > 0)", False),
)


@pytest.mark.parametrize("redacted", [False, True])
def test_what_other_objects_tell_of_a_pod(redacted: bool) -> None:
    items: list[Json] = list(CLUSTER)
    names = {"new": "shop/new", "bare": "shop/bare", "n1": "n1"}
    if redacted:
        work = redactor(Snapshot.of(items), b"the key of this test", keep_labels=(ZONE,))
        items = list(work.redacted())
        words = work.words.replaced()
        names = {
            "new": f"{words['shop']}/{words['new']}",
            "bare": f"{words['shop']}/{words['bare']}",
            "n1": words["n1"],
        }
    snapshot = Snapshot.of(items)
    for of, expression, want in ANSWERS:
        got = kpolicy.evaluate(expression, snapshot=snapshot, pod=names[of], node=names["n1"])
        assert (got.error, got.value) == (None, want), (of, expression)


def test_they_are_told_of_the_pending_pod_only() -> None:
    snapshot = Snapshot.of(CLUSTER)
    for asked in ("node.pods.exists(p, has(p.controllerReplicas))", "victim.disruptionBudgets"):
        got = kpolicy.evaluate(asked, snapshot=snapshot, pod="shop/new", node="n1")
        assert got.is_refused, asked
