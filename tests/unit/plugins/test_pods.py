"""The pods that plugins see, as watches and lists bring them."""

from __future__ import annotations

import json
from typing import Any

from kpolicy.engine import PodChange, PodState
from kpolicy.plugins.pods import PodStore


def made(name: str, *, node: str = "", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "uid": f"u-{name}", "labels": labels}
    spec = {"nodeName": node} if node else {}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}


def line(pod: dict[str, Any]) -> bytes:
    return json.dumps({"type": "ADDED", "object": pod}, separators=(",", ":")).encode() + b"\n"


def change(name: str, state: PodState) -> PodChange:
    return PodChange(state, f"u-{name}", "ns", name, 0, "kpolicy", False, "", "", 0)


def labels(store: PodStore, name: str) -> dict[str, str]:
    return store.of("ns", name, f"u-{name}").labels


def test_a_pending_pod_is_kept_with_its_newest_state_until_it_leaves() -> None:
    store = PodStore(keeps_bound=False)
    store.lines(line(made("a", team="x")) + line(made("b")))
    store.applied([change("a", PodState.PENDING), change("b", PodState.PENDING)])
    assert labels(store, "a") == {"team": "x"}
    store.lines(line(made("a", team="y")))
    store.applied([])
    assert labels(store, "a") == {"team": "y"}, "the engine need not tell of every change"
    store.applied([change("a", PodState.PENDING)])
    assert labels(store, "a") == {"team": "y"}
    store.applied([change("a", PodState.ON_NODE)])
    assert labels(store, "a") == {}
    assert store.bound() == []


def test_pods_on_nodes_are_kept_where_a_plugin_reads_them() -> None:
    store = PodStore(keeps_bound=True)
    store.lines(line(made("a", node="n1", team="x")))
    store.applied([change("a", PodState.ON_NODE)])
    assert [(pod.name, pod.node, pod.labels) for pod in store.bound()] == [
        ("a", "n1", {"team": "x"})
    ]
    store.applied([change("a", PodState.GONE)])
    assert store.bound() == []


def test_a_pod_that_was_just_bound_counts_before_the_watch_shows_it() -> None:
    store = PodStore(keeps_bound=True)
    store.lines(line(made("a")) + line(made("b")))
    store.applied([change("a", PodState.PENDING), change("b", PodState.PENDING)])
    store.just_bound("u-a", "n1")
    store.just_bound("u-b", "n1")
    store.applied([change("a", PodState.PENDING)])
    assert [(pod.name, pod.node) for pod in store.bound()] == [("a", "n1"), ("b", "n1")], (
        "an older state comes late"
    )
    store.applied([change("a", PodState.ON_NODE), change("b", PodState.GONE)])
    assert [pod.name for pod in store.bound()] == ["a"]
    store.applied([change("a", PodState.GONE)])
    store.just_bound("u-a", "n1")
    assert store.bound() == [], "it was gone before its bind was answered"


def test_lists_and_lines_in_another_order_are_read_and_what_is_no_pod_is_left_out() -> None:
    store = PodStore(keeps_bound=False)
    items = [made("a", team="x"), {"metadata": "none"}, 5, made("b", team="{]")]
    body = {"items": items, "kind": "PodList", "metadata": {"items": [1]}}
    store.page(json.dumps(body, indent=1).encode())
    # An owner's uid comes first here.
    turned = {"spec": {}, "metadata": {"ownerReferences": [{"uid": "o"}], **made("c")["metadata"]}}
    store.lines(line(turned) + b"no line\n" + b'{"type":"BOOKMARK","object":{}}\n')
    store.applied([change(name, PodState.PENDING) for name in ("a", "b", "c")])
    assert labels(store, "a") == {"team": "x"}
    assert labels(store, "b") == {"team": "{]"}
    assert store.of("ns", "c", "u-c").object["metadata"]["uid"] == "u-c"
    store.page(b"{")
    store.page(b"[1]")
