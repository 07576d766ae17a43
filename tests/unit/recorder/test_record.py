"""Recording a live cluster: all of it, of one moment, and one line for what the API refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import kpolicy
from kpolicy import Origin, Snapshot
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.cluster.watch import listing
from kpolicy.offline.snapshot_file.writer import Writer
from kpolicy.offline.snapshots.json_objects import READ
from kpolicy.recorder.record import KINDS, RECORDED, Recording, record
from kpolicy.scheduler.loop.watched_resources import READABLE, RESOURCES
from kpolicy.testing import ControlPlane, FaultRule, RequestFault, ScriptedFaults, node, pod
from kpolicy.testing.apiserver.api_calls import Call, FaultPolicy, WatchFault
from kpolicy.testing.objects.store import StoreSettings
from tests.manual_clock import ManualClock
from tests.unit.cluster.canned import canned_server, replies, script, status_body
from tests.unit.cluster.doubles import ImpatientClock, client

KINDS_IN = ("Namespace", "Node", "Pod")
VERSION = replies(200, b'{"gitVersion":"v1.36.2","major":"1","minor":"36"}')


class Meanwhile:
    """Something happens in the cluster just before the nth list of a resource is answered."""

    def __init__(self, resource: str, nth: int, happens: Callable[[], object]) -> None:
        self._left, self._resource, self._happens = nth, resource, happens

    def on_request(self, call: Call) -> RequestFault | None:
        if (call.verb, call.resource) == ("list", self._resource):
            self._left -= 1
            if self._left == 0:
                self._happens()
        return None

    def on_watch_event(self, call: Call) -> WatchFault:
        return WatchFault.NONE


async def recorded(
    plane: ControlPlane, path: Path, faults: FaultPolicy | None = None, **options: Any
) -> tuple[Recording | ConnectionProblem, Snapshot]:
    plane.faults = faults
    clock = ImpatientClock()
    with Writer() as writer:
        async with client(plane.url, clock) as api:
            made = await record(api, writer, clock, **options)
        if isinstance(made, Recording):
            origin = Origin("", made.cluster_version, made.resource_versions, made.left_out)
            with path.open("wb") as stream:
                writer.write(stream, origin)
            return made, Snapshot.load(path)
    return made, Snapshot.of([])


def live(plane: ControlPlane) -> Snapshot:
    return Snapshot.of(item for kind in KINDS_IN for item in plane.objects(kind))


def names(snapshot: Snapshot, kind: str) -> set[str]:
    return {item["metadata"]["name"] for _, item in snapshot.objects() if item["kind"] == kind}


def filled(pods: int = 4) -> Iterable[Mapping[str, Any]]:
    yield from (node(f"n{number}", cpu="4") for number in range(3))
    yield from (pod(f"p{number}", cpu=f"{1 + number % 5}") for number in range(pods))
    yield pod("there", cpu="2", node_name="n1")


def test_everything_that_is_read_is_recorded() -> None:
    assert set(KINDS.values()) == frozenset[str]().union(*READ.values())
    assert [resource.name for resource in RECORDED] == list(READABLE)
    assert len(RECORDED) == 20


async def test_what_is_recorded_explains_as_the_live_state_does(tmp_path: Path) -> None:
    async with ControlPlane() as plane:
        plane.add(*filled())
        made, snapshot = await recorded(plane, tmp_path / "a.kpsnap")
        want = kpolicy.explain(live(plane))
    assert isinstance(made, Recording)
    assert made.is_of_one_moment
    assert made.left_out == {}
    assert made.problems == []
    assert set(made.resource_versions) == set(KINDS.values())
    got = kpolicy.explain(snapshot)
    assert got.explanations == want.explanations
    assert len(got.explanations) == 4
    assert snapshot.problems == ()


async def test_a_change_between_two_lists_is_not_in_it(tmp_path: Path) -> None:
    async with ControlPlane() as plane:
        plane.add(*filled())
        faults = Meanwhile("nodes", 2, lambda: plane.add(node("late")))  # the first asks for rights
        made, snapshot = await recorded(plane, tmp_path / "a.kpsnap", faults)
        assert len(plane.objects("Node")) == 4
    assert isinstance(made, Recording)
    assert made.is_of_one_moment
    assert names(snapshot, "Node") == {"n0", "n1", "n2"}


async def test_where_the_version_is_gone_the_newest_is_taken_and_said(tmp_path: Path) -> None:
    async with ControlPlane(store=StoreSettings(history_changes_max=5)) as plane:
        plane.add(*filled())
        late = [node(f"late{number}") for number in range(20)]
        made, snapshot = await recorded(
            plane, tmp_path / "a.kpsnap", Meanwhile("nodes", 2, lambda: plane.add(*late))
        )
    assert isinstance(made, Recording)
    assert not made.is_of_one_moment
    assert made.resource_versions["Pod"] != made.resource_versions["Node"]
    # What comes after agrees with the newer one.
    assert made.resource_versions["Node"] == made.resource_versions["Namespace"]
    assert len(names(snapshot, "Node")) == 23


async def test_a_list_that_outlives_its_token_begins_again(tmp_path: Path) -> None:
    async with ControlPlane(store=StoreSettings(history_changes_max=5)) as plane:
        plane.add(*filled(pods=1200))
        late = [pod(f"late{number}") for number in range(20)]
        reports: list[tuple[int, int]] = []
        # Pods: one for rights, then pages; before the second page the history moves on.
        made, snapshot = await recorded(
            plane,
            tmp_path / "a.kpsnap",
            Meanwhile("pods", 3, lambda: plane.add(*late)),
            progress=lambda done, total: reports.append((done, total)),
        )
    assert isinstance(made, Recording)
    assert made.is_of_one_moment
    assert len(names(snapshot, "Pod")) == 1221
    assert (
        reports[-1][0]
        == reports[-1][1]
        == sum(
            each.header.content.counts[kind] for each in snapshot.recordings for kind in KINDS_IN
        )
    )
    assert all(done <= total for done, total in reports)


async def test_pages_that_are_too_large_are_asked_for_in_halves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE_BYTES_MAX", 64 << 10)
    async with ControlPlane() as plane:
        plane.add(*filled(pods=600))
        made, snapshot = await recorded(plane, tmp_path / "a.kpsnap")
    assert isinstance(made, Recording)
    assert len(names(snapshot, "Pod")) == 601


async def test_a_server_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    busy = [FaultRule(RequestFault(status=429, retry_after_s=3), resource="nodes", skip=1, times=2)]
    async with ControlPlane() as plane:
        plane.add(*filled())
        made, snapshot = await recorded(plane, tmp_path / "a.kpsnap", ScriptedFaults(busy))
    assert isinstance(made, Recording)
    assert len(names(snapshot, "Node")) == 3


async def test_a_server_that_goes_away_is_one_line(tmp_path: Path) -> None:
    away = [FaultRule(RequestFault(status=503), resource="nodes", skip=1, times=None)]
    async with ControlPlane() as plane:
        plane.add(*filled())
        made, _ = await recorded(plane, tmp_path / "a.kpsnap", ScriptedFaults(away))
    assert isinstance(made, ConnectionProblem)
    assert "cannot list nodes" in str(made)
    assert "\n" not in str(made)


def refused(*resources: str) -> FaultPolicy:
    rules = [FaultRule(RequestFault(status=403), resource=each, times=None) for each in resources]
    return ScriptedFaults(rules)


async def test_every_kind_that_is_forbidden_is_named_at_once(tmp_path: Path) -> None:
    async with ControlPlane() as plane:
        made, _ = await recorded(
            plane, tmp_path / "a.kpsnap", refused("replicasets", "csinodes", "services")
        )
    assert isinstance(made, ConnectionProblem)
    assert made.code == "KPC205"
    assert "may not list services, replicasets, csinodes" in made.message
    assert "deploy/rbac/snapshot-recorder.yaml" in made.hint
    assert "--skip-forbidden" in made.hint


async def test_what_is_forbidden_can_be_left_out_and_is_reported(tmp_path: Path) -> None:
    async with ControlPlane() as plane:
        plane.add(*filled())
        made, snapshot = await recorded(
            plane, tmp_path / "a.kpsnap", refused("services", "csinodes"), skip_forbidden=True
        )
    assert isinstance(made, Recording)
    assert made.left_out == {"Service": "forbidden", "CSINode": "forbidden"}
    [recording] = snapshot.recordings
    assert recording.header.origin.left_out == made.left_out
    assert "Service" not in recording.header.origin.resource_versions


async def test_without_nodes_there_is_nothing_to_record(tmp_path: Path) -> None:
    async with ControlPlane() as plane:
        made, _ = await recorded(
            plane, tmp_path / "a.kpsnap", refused("nodes", "services"), skip_forbidden=True
        )
    assert isinstance(made, ConnectionProblem)
    assert "may not list nodes, services" in made.message
    assert "--skip-forbidden" not in made.hint


async def test_kinds_that_were_not_asked_for_are_reported(tmp_path: Path) -> None:
    async with ControlPlane() as plane:
        plane.add(*filled())
        wanted = [RESOURCES["pods"], RESOURCES["nodes"]]
        made, snapshot = await recorded(plane, tmp_path / "a.kpsnap", wanted=wanted)
    assert isinstance(made, Recording)
    assert len(made.left_out) == 18
    assert set(made.left_out.values()) == {"not asked for"}
    assert {item["kind"] for _, item in snapshot.objects()} == {"Node", "Pod"}


async def test_a_kind_that_an_older_cluster_lacks_is_left_out() -> None:
    empty = b'{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}'
    pods = empty.replace(b"NodeList", b"PodList")
    lacking = replies(404, status_body(404, "NotFound", "no such resource"))
    answers = script(
        VERSION,
        replies(200, pods),
        replies(200, empty),
        lacking,
        replies(200, pods),
        replies(200, empty),
    )
    wanted = [RESOURCES[name] for name in ("pods", "nodes", "csistoragecapacities")]
    with Writer() as writer:
        async with canned_server(answers) as server, client(server.url) as api:
            made = await record(api, writer, ManualClock(), wanted=wanted)
    assert isinstance(made, Recording)
    assert made.left_out["CSIStorageCapacity"] == "not served"
    assert made.resource_versions == {"Pod": "5", "Node": "5"}


async def test_a_kind_is_recorded_in_the_newest_version_that_is_served() -> None:
    empty = b'{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}'
    rules = (
        b'{"kind":"DeviceTaintRuleList","apiVersion":"resource.k8s.io/v1beta2",'
        b'"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"broken"},'
        b'"spec":{"taint":{"key":"k","effect":"NoSchedule"}}}]}'
    )
    lacking = replies(404, status_body(404, "NotFound", "no such resource"))
    lists = [replies(200, empty.replace(b"Node", b"Pod")), replies(200, empty)]
    answers = script(VERSION, *lists, lacking, replies(200, rules), *lists, replies(200, rules))
    wanted = [RESOURCES[name] for name in ("pods", "nodes", "devicetaintrules")]
    with Writer() as writer:
        async with canned_server(answers) as server, client(server.url) as api:
            made = await record(api, writer, ManualClock(), wanted=wanted)
        asked = server.paths("GET")
    assert isinstance(made, Recording)
    assert made.resource_versions["DeviceTaintRule"] == "5"
    assert asked[-1] == "/apis/resource.k8s.io/v1beta2/devicetaintrules"


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"{}",
        b'{"kind":"PodList"}',
        b"[" * 9999,
        b'{"kind":"PodList","metadata":{},"items":[7]}',
    ],
)
async def test_an_answer_that_is_no_list_is_one_line(body: bytes) -> None:
    with Writer() as writer:
        answers = script(VERSION, replies(200, body), replies(200, body))
        async with canned_server(answers) as server, client(server.url) as api:
            made = await record(api, writer, ManualClock(), wanted=[RESOURCES["pods"]])
    assert isinstance(made, ConnectionProblem)
    assert "something else than a list" in made.message
