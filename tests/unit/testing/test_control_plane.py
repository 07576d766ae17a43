"""The embedded control plane apart from its answers: history, bookmarks, tokens, audit, start and
stop.
"""

from __future__ import annotations

import http.client
import threading
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from kpolicy.release_table import RELEASES
from kpolicy.testing import AuditEntry, ControlPlane, node, pod
from kpolicy.testing.objects.store import StoreSettings
from tests.manual_clock import ManualClock
from tests.unit.testing.client import PODS, Client
from tests.unit.testing.servers import Embedded, embedded


def fill(plane: Embedded, count: int, prefix: str = "pod") -> None:
    plane.do(
        lambda control_plane: control_plane.add(
            *(pod(f"{prefix}-{number}") for number in range(count))
        )
    )


def test_a_watch_from_a_forgotten_revision_ends_with_expired() -> None:
    with embedded(lambda: ControlPlane(store=StoreSettings(history_changes_max=4))) as plane:
        start = plane.client.get(PODS).revision
        fill(plane, 5)
        with plane.client.watch(PODS, resourceVersion=str(start)) as watch:
            events = watch.rest()
        assert [event["type"] for event in events] == ["ERROR"]
        status = events[0]["object"]
        assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
        assert status["message"].startswith(f"too old resource version: {start} (")
        with plane.client.watch(PODS, resourceVersion=str(start + 1)) as watch:
            assert [name for _, name in watch.take(4)] == [
                f"pod-{number}" for number in range(1, 5)
            ]


def test_an_exact_list_of_a_forgotten_revision_is_gone(plane: Embedded) -> None:
    fill(plane, 3)
    first = plane.client.get(PODS, limit="1")
    fill(plane, 1, "later")
    plane.do(lambda control_plane: control_plane.store.compact())
    exact = {"resourceVersion": str(first.revision), "resourceVersionMatch": "Exact"}
    gone = plane.client.get(PODS, **exact)
    assert (gone.code, gone.json["reason"]) == (410, "Expired")
    token = first.json["metadata"]["continue"]
    stale = plane.client.get(PODS, **{"continue": token})
    assert (stale.code, stale.json["reason"]) == (410, "Expired")
    assert "continue parameter is too old" in stale.json["message"]


def test_compaction_leaves_the_present(plane: Embedded) -> None:
    fill(plane, 2)
    plane.do(lambda control_plane: control_plane.store.compact())
    now = plane.client.get(PODS)
    assert now.names == ["pod-0", "pod-1"]
    with plane.client.watch(PODS, resourceVersion=str(now.revision)) as watch:
        fill(plane, 1, "later")
        assert watch.take(1) == [("ADDED", "later-0")]


async def test_bookmarks_come_each_minute_and_before_the_end() -> None:
    clock = ManualClock()
    async with ControlPlane(clock=clock) as plane, aiohttp.ClientSession() as session:
        query = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "150"}
        async with session.get(f"{plane.url}{PODS}", params=query) as reply:
            seen = 0
            for wait_s in (60, 60, 28):
                await clock.settle()
                plane.add(node(f"n{seen}"))
                await clock.advance(wait_s)
                event = await reply.content.readline()
                assert b'"type":"BOOKMARK"' in event
                assert f'"resourceVersion":"{plane.store.revision}"'.encode() in event
                seen += 1
            assert (seen, plane.watches) == (3, 1)
            await clock.advance(2)
            assert await reply.content.readline() == b""
            assert plane.watches == 0


def test_no_bookmarks_for_those_who_did_not_ask() -> None:
    clock = ManualClock()
    with embedded(lambda: ControlPlane(clock=clock)) as plane, plane.client.watch(PODS) as watch:
        while not plane.do(lambda control_plane: control_plane.watches):
            threading.Event().wait(0.01)
        plane.run(clock.advance(61))
        fill(plane, 1)
        assert watch.take(1) == [("ADDED", "pod-0")]


def test_tokens_say_who_asks() -> None:
    with embedded(lambda: ControlPlane(tokens={"s3cret": "alice", "other": "bob"})) as plane:
        assert plane.client.get(PODS).code == 401
        assert plane.client.get(PODS).json["reason"] == "Unauthorized"
        url = plane.control_plane.url
        assert Client(url, token="wrong").get(PODS).code == 401
        assert Client(url, token="s3cret").post(PODS, pod("a")).code == 201
        assert Client(url, token="other").delete(f"{PODS}/a").code == 200
        users = [entry.user for entry in plane.do(lambda control_plane: control_plane.audit())]
    assert users == ["alice", "bob"]


def test_the_audit_log_has_every_write_and_no_read() -> None:
    clock = ManualClock()
    with embedded(lambda: ControlPlane(clock=clock)) as plane:
        client = plane.client
        client.post(PODS, pod("a"))
        client.get(f"{PODS}/a")
        client.get(PODS)
        binding = {"metadata": {"name": "a"}, "target": {"name": "n1"}}
        client.post(f"{PODS}/a/binding", binding)
        client.post(f"{PODS}/a/binding", binding)
        client.patch(f"{PODS}/a/status", {"status": {"phase": "Running"}})
        client.delete(f"{PODS}/ghost")
        entries = plane.do(lambda control_plane: control_plane.audit())
    brief = [
        (entry.verb, entry.resource, entry.subresource, entry.name, entry.code) for entry in entries
    ]
    assert brief == [
        ("create", "pods", "", "", 201),
        ("create", "pods", "binding", "a", 201),
        ("create", "pods", "binding", "a", 409),
        ("patch", "pods", "status", "a", 200),
        ("delete", "pods", "", "ghost", 404),
    ]
    assert entries[0] == AuditEntry(
        user="system:anonymous",
        verb="create",
        resource="pods",
        subresource="",
        namespace="default",
        name="",
        code=201,
        time_ns=clock.now_ns(),
    )


def test_a_namespace_takes_its_contents_with_it(plane: Embedded) -> None:
    assert plane.client.post("/api/v1/namespaces", {"metadata": {"name": "team"}}).code == 201
    made = plane.client.get("/api/v1/namespaces/team").json
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}
    assert made["status"] == {"phase": "Active"}
    plane.do(lambda control_plane: control_plane.add(pod("a", namespace="team"), pod("b")))
    assert plane.client.delete("/api/v1/namespaces/team").code == 200
    assert plane.client.get("/api/v1/pods").names == ["b"]
    assert plane.client.get("/api/v1/namespaces/team").code == 404


def test_the_same_seed_gives_the_same_uids() -> None:
    def uids(seed: int) -> list[str]:
        with embedded(
            lambda: ControlPlane(store=StoreSettings(seed), clock=ManualClock())
        ) as plane:
            fill(plane, 3)
            return [item["metadata"]["uid"] for item in plane.client.get(PODS).json["items"]]

    assert uids(1) == uids(1)
    assert not set(uids(1)) & set(uids(2))


def test_what_cannot_be_added_is_reported(plane: Embedded) -> None:
    with pytest.raises(ValueError, match="no such kind here: v1 Gizmo"):
        plane.do(lambda control_plane: control_plane.add({"apiVersion": "v1", "kind": "Gizmo"}))
    plane.do(lambda control_plane: control_plane.add(pod("a")))
    with pytest.raises(ValueError, match='pods "a" already exists'):
        plane.do(lambda control_plane: control_plane.add(pod("a")))
    assert [
        pod["metadata"]["name"]
        for pod in plane.do(lambda control_plane: control_plane.objects("Pod"))
    ] == ["a"]


async def test_it_stops_and_starts_again_at_its_port_with_its_objects() -> None:
    control_plane = ControlPlane()
    await control_plane.start()
    control_plane.add(pod("a"))
    url = control_plane.url
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{url}{PODS}?watch=1") as watch:
            assert await watch.content.readline()
            await control_plane.stop()
            with pytest.raises((aiohttp.ClientError, ConnectionError)):
                await watch.content.readexactly(1)
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(f"{url}{PODS}")
        await control_plane.start()
        assert control_plane.url == url
        async with session.get(f"{url}{PODS}") as reply:
            body: dict[str, Any] = await reply.json()
        assert [item["metadata"]["name"] for item in body["items"]] == ["a"]
    await control_plane.stop()
    assert control_plane.watches == 0


def test_a_kubeconfig_points_at_it(tmp_path: Path) -> None:
    with embedded(lambda: ControlPlane(tokens={"s3cret": "alice"})) as plane:
        path = plane.do(lambda control_plane: control_plane.write_kubeconfig(tmp_path / "config"))
        parsed = yaml.safe_load(path.read_text())
        assert parsed["clusters"][0]["cluster"]["server"] == plane.control_plane.url
        assert parsed["users"][0]["user"] == {"token": "s3cret"}
        assert parsed["current-context"] == parsed["contexts"][0]["name"]


def test_discovery_lists_every_resource(plane: Embedded) -> None:
    groups = [group["name"] for group in plane.client.get("/apis").json["groups"]]
    assert groups == [
        "apps",
        "coordination.k8s.io",
        "events.k8s.io",
        "policy",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "resource.k8s.io",
    ]
    seen = 0
    for path in ("/api/v1", *(f"/apis/{group}/v1" for group in groups)):
        document = plane.client.get(path).json
        assert document["kind"] == "APIResourceList"
        for resource in document["resources"]:
            if "/" in resource["name"]:
                continue
            seen += 1
            listed = plane.client.get(f"{path}/{resource['name']}")
            assert listed.json["kind"] == f"{resource['kind']}List"
    assert seen == 26
    assert plane.client.get("/version").json["minor"] == RELEASES[-1].partition(".")[2]
    for path in ("/healthz", "/livez", "/readyz", "/readyz/ping"):
        assert plane.client.get(path).body == b"ok"


def test_requests_share_a_connection_and_come_in_any_pieces(plane: Embedded) -> None:
    port = plane.control_plane.port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.connect()
    sock = connection.sock
    assert sock is not None
    body = b'{"metadata":{"name":"c"}}'
    path = b"/api/v1/namespaces/default/configmaps"
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    first = b"POST %b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" % path
    second = b"GET %b/c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % path
    for byte in first + chunked + second:
        sock.sendall(bytes((byte,)))
    received = b""
    while chunk := sock.recv(65536):
        received += chunk
    connection.close()
    assert received.count(b"HTTP/1.1 201 Created") == 1
    assert received.count(b"HTTP/1.1 200 OK") == 1


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", b"505"),
        (b"GET / HTTP/1.1\r\nbad header\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * 70_000 + b"\r\n\r\n", b"400"),
    ],
)
def test_what_is_not_http_is_answered_and_cut_off(
    plane: Embedded, sent: bytes, code: bytes
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", plane.control_plane.port, timeout=10)
    connection.connect()
    sock = connection.sock
    assert sock is not None
    sock.sendall(sent)
    received = b""
    try:
        while chunk := sock.recv(65536):
            received += chunk
    except ConnectionResetError:
        pass
    connection.close()
    assert received.split(b" ", 2)[1] == code
    assert plane.client.get(PODS).code == 200
