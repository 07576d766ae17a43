"""kubectl's tables: the columns a real API server prints, and the cells."""

from __future__ import annotations

from typing import Any

from kpolicy.api_times import NANOSECONDS
from kpolicy.testing import ControlPlane, node, pod
from tests.manual_clock import ManualClock
from tests.unit.testing.client import TABLE
from tests.unit.testing.servers import Embedded, Server, embedded

START_NS = 1_790_000_000 * NANOSECONDS


def get(server: Server | Embedded, path: str) -> dict[str, Any]:
    reply = server.client.send("GET", path, headers={"Accept": TABLE})
    assert reply.code == 200
    assert reply.json["kind"] == "Table"
    return reply.json


def columns(table: dict[str, Any]) -> list[tuple[str, str, str, int]]:
    return [
        (each["name"], each["type"], each["format"], each["priority"])
        for each in table["columnDefinitions"]
    ]


def wide(*names: str) -> list[tuple[str, str, str, int]]:
    return [(name, "string", "", 1) for name in names]


def plain(*names: str) -> list[tuple[str, str, str, int]]:
    return [(name, "string", "name" if name == "Name" else "", 0) for name in names]


def test_columns(server: Server) -> None:
    assert columns(get(server, server.pods)) == [
        *plain("Name", "Ready", "Status", "Restarts", "Age"),
        *wide("IP", "Node", "Nominated Node", "Readiness Gates"),
    ]
    assert columns(get(server, "/api/v1/nodes")) == [
        *plain("Name", "Status", "Roles", "Age", "Version"),
        *wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
    ]
    assert columns(get(server, server.path("events"))) == [
        *plain("Last Seen", "Type", "Reason", "Object"),
        *wide("Subobject", "Source"),
        *plain("Message"),
        *wide("First Seen"),
        ("Count", "string", "", 1),
        ("Name", "string", "name", 1),
    ]
    assert columns(get(server, "/api/v1/namespaces")) == plain("Name", "Status", "Age")


def test_rows_of_pods(server: Server) -> None:
    for name in ("bound", "waits"):
        assert server.client.post(server.pods, pod(name, namespace=server.namespace)).code == 201
    gated = pod("gated", namespace=server.namespace, scheduling_gates=["example.com/wait"])
    assert server.client.post(server.pods, gated).code == 201
    assert server.bind("bound", "n1").code == 201
    rows = [row["cells"] for row in get(server, server.pods)["rows"]]
    assert [row[:4] + row[5:] for row in rows] == [
        ["bound", "0/1", "Pending", "0", "<none>", "n1", "<none>", "<none>"],
        ["gated", "0/1", "SchedulingGated", "0", "<none>", "<none>", "<none>", "<none>"],
        ["waits", "0/1", "Pending", "0", "<none>", "<none>", "<none>", "<none>"],
    ]
    assert server.client.delete(f"{server.pods}/bound").code == 200
    assert get(server, f"{server.pods}/bound")["rows"][0]["cells"][2] == "Terminating"


def test_rows_carry_metadata_the_object_or_nothing(server: Server) -> None:
    assert server.client.post(server.pods, pod("a", namespace=server.namespace)).code == 201
    rows = get(server, server.pods)["rows"]
    assert rows[0]["object"]["kind"] == "PartialObjectMetadata"
    assert rows[0]["object"]["metadata"]["name"] == "a"
    whole = get(server, f"{server.pods}?includeObject=Object")["rows"]
    assert whole[0]["object"]["spec"]["schedulerName"] == "kpolicy"
    assert get(server, f"{server.pods}?includeObject=None")["rows"][0]["object"] is None


def test_a_watch_tells_rows_and_names_the_columns_once(server: Server) -> None:
    for name in ("a", "b"):
        assert server.client.post(server.pods, pod(name, namespace=server.namespace)).code == 201
    with server.client.watch(server.pods, accept=TABLE) as watch:
        tables = [event["object"] for event in (watch.next(), watch.next()) if event]
    assert [table["rows"][0]["cells"][0] for table in tables] == ["a", "b"]
    assert [bool(table.get("columnDefinitions")) for table in tables] == [True, False]


def test_nodes_and_ages() -> None:
    clock = ManualClock(START_NS)
    with embedded(lambda: ControlPlane(clock=clock)) as plane:
        plane.do(
            lambda control_plane: control_plane.add(
                node("a", labels={"node-role.kubernetes.io/worker": ""}),
                node("b", unschedulable=True),
            )
        )
        clock.step_wall(125)
        rows = [row["cells"] for row in get(plane, "/api/v1/nodes")["rows"]]
    assert [row[:5] for row in rows] == [
        ["a", "Ready", "worker", "2m5s", "v1.37.0"],
        ["b", "Ready,SchedulingDisabled", "<none>", "2m5s", "v1.37.0"],
    ]


def test_events_say_how_often_and_since_when() -> None:
    clock = ManualClock(START_NS)
    with embedded(lambda: ControlPlane(clock=clock)) as plane:
        event = {
            "metadata": {"name": "a.1"},
            "involvedObject": {"kind": "Pod", "namespace": "default", "name": "a"},
            "reason": "FailedScheduling",
            "message": "0/1 nodes are available\n",
            "type": "Warning",
            "reportingComponent": "kpolicy",
            "firstTimestamp": "2026-09-21T14:13:20Z",
            "lastTimestamp": "2026-09-21T14:15:20Z",
            "count": 4,
        }
        path = "/api/v1/namespaces/default/events"
        assert plane.client.post(path, event).code == 201
        clock.step_wall(180)
        cells = get(plane, path)["rows"][0]["cells"]
    assert cells[:4] == ["60s (x4 over 3m)", "Warning", "FailedScheduling", "pod/a"]
    assert cells[4:8] == ["", "kpolicy", "0/1 nodes are available", "3m"]
    assert cells[8:] == [4, "a.1"]


def test_what_has_no_columns_of_its_own_shows_name_and_age(plane: Embedded) -> None:
    table = get(plane, "/apis/scheduling.k8s.io/v1/priorityclasses")
    assert columns(table) == plain("Name", "Age")
    assert [row["cells"][0] for row in table["rows"]] == [
        "system-cluster-critical",
        "system-node-critical",
    ]
