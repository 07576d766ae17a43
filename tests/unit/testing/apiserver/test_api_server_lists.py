"""Lists: order, selectors, pages, revisions. Also checked on a real API server."""

from __future__ import annotations

import pytest

from kpolicy.testing import pod
from tests.unit.testing.servers import Server


def make(server: Server, name: str, **labels: str) -> None:
    body = pod(name, namespace=server.namespace, labels=labels)
    assert server.client.post(server.pods, body).code == 201


@pytest.fixture
def three(server: Server) -> Server:
    make(server, "b", app="web", tier="1")
    make(server, "a", app="db", tier="2")
    make(server, "c", app="web")
    assert server.bind("c", "n1").code == 201
    return server


def test_a_list_is_in_the_order_of_names(three: Server) -> None:
    reply = three.client.get(three.pods)
    assert (reply.code, reply.names) == (200, ["a", "b", "c"])
    assert (reply.json["kind"], reply.json["apiVersion"]) == ("PodList", "v1")


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("app=web", ["b", "c"]),
        ("app==web,tier", ["b"]),
        ("app!=web", ["a"]),
        ("tier in (1, 2)", ["a", "b"]),
        ("tier notin (1)", ["a", "c"]),
        ("!tier", ["c"]),
        ("tier>1", ["a"]),
        ("tier<2", ["b"]),
        ("app in (web),tier=1", ["b"]),
        ("nope", []),
    ],
)
def test_label_selectors(three: Server, selector: str, names: list[str]) -> None:
    assert three.client.get(three.pods, labelSelector=selector).names == names


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("metadata.name=a", ["a"]),
        ("metadata.name!=a", ["b", "c"]),
        ("spec.nodeName=n1", ["c"]),
        ("spec.nodeName=", ["a", "b"]),
        ("spec.schedulerName=kpolicy,spec.nodeName!=n1", ["a", "b"]),
        ("status.phase=Pending", ["a", "b", "c"]),
        ("status.phase!=Pending", []),
    ],
)
def test_field_selectors(three: Server, selector: str, names: list[str]) -> None:
    assert three.client.get(three.pods, fieldSelector=selector).names == names


def test_all_namespaces_narrowed_to_one(three: Server) -> None:
    selector = f"metadata.namespace={three.namespace}"
    assert three.client.get("/api/v1/pods", fieldSelector=selector).names == ["a", "b", "c"]


def test_pages_are_of_one_revision(three: Server) -> None:
    first = three.client.get(three.pods, limit="2")
    assert first.names == ["a", "b"]
    assert first.json["metadata"]["remainingItemCount"] == 1
    make(three, "bb")
    assert three.client.delete(f"{three.pods}/c", gracePeriodSeconds="0").code == 200
    token = first.json["metadata"]["continue"]
    second = three.client.get(three.pods, **{"limit": "2", "continue": token})
    assert (second.names, second.revision) == (["c"], first.revision)
    assert "continue" not in second.json["metadata"]
    assert three.client.get(three.pods).names == ["a", "b", "bb"]


def test_a_list_of_the_past(three: Server) -> None:
    before = three.client.get(three.pods).revision
    assert three.client.delete(f"{three.pods}/a").code == 200
    exact = {"resourceVersion": str(before), "resourceVersionMatch": "Exact"}
    past = three.client.get(three.pods, **exact)
    assert (past.names, past.revision) == (["a", "b", "c"], before)
    newer = {"resourceVersion": str(before), "resourceVersionMatch": "NotOlderThan"}
    assert three.client.get(three.pods, **newer).names == ["b", "c"]
    assert three.client.get(three.pods, resourceVersion="0").names == ["b", "c"]


def test_the_revision_of_a_list_never_goes_back(three: Server) -> None:
    revisions = [three.client.get(three.pods).revision]
    for name in ("x", "y"):
        make(three, name)
        revisions.append(three.client.get(three.pods).revision)
    assert revisions == sorted(set(revisions))
