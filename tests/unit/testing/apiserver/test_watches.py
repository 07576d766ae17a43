"""Watches: replay, initial events, selectors, ends. Also checked on a real API server."""

from __future__ import annotations

from typing import Any

from kpolicy.testing import pod
from tests.unit.testing.client import MERGE
from tests.unit.testing.servers import Server


def make(server: Server, name: str, **labels: str) -> dict[str, Any]:
    reply = server.client.post(server.pods, pod(name, namespace=server.namespace, labels=labels))
    assert reply.code == 201
    return reply.json


def label(server: Server, name: str, value: str | None) -> None:
    body = {"metadata": {"labels": {"app": value}}}
    assert server.client.patch(f"{server.pods}/{name}", body, MERGE).code == 200


def bind(server: Server, name: str) -> None:
    assert server.bind(name, "n1").code == 201


def test_a_watch_replays_what_came_after_its_revision(server: Server) -> None:
    make(server, "early")
    start = server.client.get(server.pods).revision
    make(server, "a")
    bind(server, "a")
    assert server.client.delete(f"{server.pods}/a", gracePeriodSeconds="0").code == 200
    with server.client.watch(server.pods, resourceVersion=str(start)) as watch:
        assert watch.take(2) == [("ADDED", "a"), ("MODIFIED", "a")]
        # A pod that is deleted is marked first, even when it goes in the same moment.
        assert watch.take(2) == [("MODIFIED", "a"), ("DELETED", "a")]
        make(server, "b")
        assert watch.take(1) == [("ADDED", "b")]


def test_revisions_of_events_rise_also_at_the_deletion(server: Server) -> None:
    start = server.client.get(server.pods).revision
    make(server, "a")
    label(server, "a", "x")
    assert server.client.delete(f"{server.pods}/a").code == 200
    with server.client.watch(server.pods, resourceVersion=str(start)) as watch:
        events = [watch.next() for _ in range(4)]
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events if event]
    assert len(revisions) == 4
    assert revisions == sorted(set(revisions))
    assert all(event and event["object"]["kind"] == "Pod" for event in events)


def test_without_a_revision_it_starts_with_what_is_there(server: Server) -> None:
    make(server, "a")
    make(server, "b")
    with server.client.watch(server.pods) as watch:
        assert watch.take(2) == [("ADDED", "a"), ("ADDED", "b")]
        make(server, "c")
        assert watch.take(1) == [("ADDED", "c")]


def test_initial_events_end_with_a_bookmark(server: Server) -> None:
    make(server, "a")
    revision = server.client.get(server.pods).revision
    asked = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    with server.client.watch(server.pods, **asked) as watch:
        assert watch.take(1) == [("ADDED", "a")]
        bookmark = watch.next()
        assert bookmark is not None
        assert bookmark["type"] == "BOOKMARK"
        assert bookmark["object"]["kind"] == "Pod"
        metadata = bookmark["object"]["metadata"]
        assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert int(metadata["resourceVersion"]) >= revision
        make(server, "b")
        assert watch.take(1) == [("ADDED", "b")]


def test_objects_enter_and_leave_a_label_selector(server: Server) -> None:
    start = server.client.get(server.pods).revision
    with server.client.watch(
        server.pods, resourceVersion=str(start), labelSelector="app=web"
    ) as watch:
        make(server, "other", app="db")
        make(server, "a", app="db")
        label(server, "a", "web")
        bind(server, "a")
        label(server, "a", None)
        label(server, "a", "db")
        label(server, "a", "web")
        assert server.client.delete(f"{server.pods}/a", gracePeriodSeconds="0").code == 200
        assert watch.take(3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
        assert watch.take(3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


def test_who_leaves_a_selector_is_shown_as_it_last_fitted(server: Server) -> None:
    make(server, "a", app="web")
    start = server.client.get(server.pods).revision
    label(server, "a", "db")
    now = server.client.get(f"{server.pods}/a").json["metadata"]["resourceVersion"]
    with server.client.watch(
        server.pods, resourceVersion=str(start), labelSelector="app=web"
    ) as watch:
        event = watch.next()
    assert event is not None
    metadata = event["object"]["metadata"]
    assert (event["type"], metadata["labels"]) == ("DELETED", {"app": "web"})
    assert metadata["resourceVersion"] == now


def test_a_field_selector_sees_pods_come_to_their_node(server: Server) -> None:
    start = server.client.get(server.pods).revision
    with server.client.watch(
        server.pods, resourceVersion=str(start), fieldSelector="spec.nodeName=n1"
    ) as watch:
        make(server, "a")
        make(server, "b")
        bind(server, "b")
        assert watch.take(1) == [("ADDED", "b")]


def test_a_watch_ends_when_asked_to(server: Server) -> None:
    with server.client.watch(server.pods, timeoutSeconds="1") as watch:
        assert watch.next() is None


def test_one_namespace_does_not_see_another(server: Server) -> None:
    start = server.client.get(server.pods).revision
    path = "/api/v1/namespaces/default/configmaps"
    with server.client.watch(server.path("configmaps"), resourceVersion=str(start)) as watch:
        assert server.client.post(path, {"metadata": {"name": "elsewhere"}}).code == 201
        assert server.client.delete(f"{path}/elsewhere").code == 200
        here = {"metadata": {"name": "here"}}
        assert server.client.post(server.path("configmaps"), here).code == 201
        assert watch.take(1) == [("ADDED", "here")]


def test_both_event_apis_watch_the_same_events(server: Server) -> None:
    start = server.client.get(server.path("events")).revision
    event = {
        "metadata": {"name": "a.1", "namespace": server.namespace},
        "eventTime": "2026-11-21T13:00:00.000000Z",
        "reportingController": "kpolicy",
        "reportingInstance": "kpolicy-0",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": "assigned",
        "regarding": {"kind": "Pod", "namespace": server.namespace, "name": "a"},
    }
    new, core = server.path("events", group="events.k8s.io"), server.path("events")
    assert server.client.post(new, event).code == 201
    for path, words, about in ((new, "note", "regarding"), (core, "message", "involvedObject")):
        query = {"resourceVersion": str(start), "fieldSelector": f"{about}.name=a"}
        with server.client.watch(path, **query) as watch:
            seen = watch.next()
        assert seen is not None
        assert seen["object"][words] == "assigned"
        assert seen["object"][about]["name"] == "a"
        assert seen["object"]["apiVersion"] == ("v1" if path == core else "events.k8s.io/v1")
