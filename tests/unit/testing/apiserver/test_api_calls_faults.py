"""Faults: what a client sees of them, and whether its request was carried out."""

from __future__ import annotations

import http.client
import json
import threading
import time

import aiohttp
import pytest

from kpolicy.testing import (
    Call,
    ControlPlane,
    Drop,
    FaultRule,
    RequestFault,
    ScriptedFaults,
    WatchFault,
    pod,
)
from tests.unit.testing.client import PODS
from tests.unit.testing.servers import Embedded, embedded

BINDING = {"metadata": {"name": "a"}, "target": {"name": "n1"}}
BROKEN = (http.client.RemoteDisconnected, ConnectionResetError)


def inject(plane: Embedded, *rules: FaultRule) -> None:
    plane.do(lambda control_plane: setattr(control_plane, "faults", ScriptedFaults(rules)))


def test_429_says_when_to_come_back_and_nothing_is_written(plane: Embedded) -> None:
    inject(plane, FaultRule(RequestFault(status=429, retry_after_s=7), verb="create"))
    reply = plane.client.post(PODS, pod("a"))
    assert (reply.code, reply.headers["retry-after"]) == (429, "7")
    assert reply.body == b"Too many requests, please try again later.\n"
    assert plane.client.get(PODS).names == []
    assert plane.client.post(PODS, pod("a")).code == 201


@pytest.mark.parametrize(
    ("code", "reason"), [(500, "InternalError"), (503, "ServiceUnavailable"), (504, "Timeout")]
)
def test_server_errors_carry_a_status(plane: Embedded, code: int, reason: str) -> None:
    inject(plane, FaultRule(RequestFault(status=code)))
    reply = plane.client.get(PODS)
    assert (reply.code, reply.json["reason"]) == (code, reason)


def test_a_lost_request_is_not_done(plane: Embedded) -> None:
    plane.do(lambda control_plane: control_plane.add(pod("a")))
    inject(plane, FaultRule(RequestFault(drop=Drop.BEFORE_COMMIT), subresource="binding"))
    with pytest.raises(BROKEN):
        plane.client.post(f"{PODS}/a/binding", BINDING)
    assert "nodeName" not in plane.client.get(f"{PODS}/a").json["spec"]
    assert plane.do(lambda control_plane: control_plane.audit()) == ()


def test_a_lost_answer_is_done_all_the_same(plane: Embedded) -> None:
    plane.do(lambda control_plane: control_plane.add(pod("a")))
    inject(plane, FaultRule(RequestFault(drop=Drop.AFTER_COMMIT), subresource="binding"))
    with pytest.raises(BROKEN):
        plane.client.post(f"{PODS}/a/binding", BINDING)
    assert plane.client.get(f"{PODS}/a").json["spec"]["nodeName"] == "n1"
    assert [entry.code for entry in plane.do(lambda control_plane: control_plane.audit())] == [201]
    again = plane.client.post(f"{PODS}/a/binding", BINDING)
    assert (again.code, "already assigned" in again.json["message"]) == (409, True)


def test_a_delayed_request_is_done_late_and_holds_nobody_up(plane: Embedded) -> None:
    inject(plane, FaultRule(RequestFault(delay_s=0.3), verb="create"))
    took: list[float] = []
    started = threading.Event()

    def create() -> None:
        start = time.monotonic()
        started.set()
        assert plane.client.post(PODS, pod("slow")).code == 201
        took.append(time.monotonic() - start)

    thread = threading.Thread(target=create)
    thread.start()
    assert started.wait(10)
    assert plane.client.get(PODS).names == []
    thread.join(10)
    assert len(took) == 1
    assert took[0] >= 0.3
    assert plane.client.get(PODS).names == ["slow"]


def test_rules_skip_and_count(plane: Embedded) -> None:
    fault = RequestFault(status=503)
    inject(plane, FaultRule(fault, verb="list", resource="pods", skip=1, times=2))
    assert plane.client.get("/api/v1/nodes").code == 200
    assert [plane.client.get(PODS).code for _ in range(5)] == [200, 503, 503, 200, 200]


def watched(plane: Embedded, fault: WatchFault, *, count: int) -> list[str]:
    """Names told by a watch of three creations of which the second meets the fault."""
    inject(plane, FaultRule(fault, verb="watch", skip=1))
    start = plane.client.get(PODS).revision
    query = {"resourceVersion": str(start), "timeoutSeconds": "1"}
    with plane.client.watch(PODS, **query) as watch:
        for name in "abc":
            plane.do(lambda control_plane, name=name: control_plane.add(pod(name)))  # type: ignore[misc]
        return [name for _, name in watch.take(count)]


def test_a_watch_closes_before_the_event(plane: Embedded) -> None:
    assert watched(plane, WatchFault.CLOSE, count=3) == ["a"]


def test_a_watch_falls_silent(plane: Embedded) -> None:
    assert watched(plane, WatchFault.SILENCE, count=3) == ["a"]


async def test_a_silent_watch_stays_silent_whatever_else_befalls_it() -> None:
    faults = ScriptedFaults(
        [
            FaultRule(WatchFault.SILENCE, verb="watch", skip=1),
            FaultRule(WatchFault.DUPLICATE, verb="watch", skip=1),
            FaultRule(WatchFault.BREAK, verb="watch", skip=2),
        ]
    )
    async with (
        ControlPlane(faults=faults) as plane,
        aiohttp.ClientSession() as session,
        session.get(f"{plane.url}{PODS}?watch=1&timeoutSeconds=1") as reply,
    ):
        for name in "abcd":
            plane.add(pod(name))
        text = await reply.text()
    assert [json.loads(line)["object"]["metadata"]["name"] for line in text.splitlines()] == ["a"]


def test_an_event_comes_twice(plane: Embedded) -> None:
    assert watched(plane, WatchFault.DUPLICATE, count=4) == ["a", "b", "b", "c"]


def test_an_event_is_dropped(plane: Embedded) -> None:
    assert watched(plane, WatchFault.DROP, count=3) == ["a", "c"]


async def test_a_watch_breaks_off_in_the_middle() -> None:
    faults = ScriptedFaults([FaultRule(WatchFault.BREAK, verb="watch", skip=1)])
    async with (
        ControlPlane(faults=faults) as plane,
        aiohttp.ClientSession() as session,
        session.get(f"{plane.url}{PODS}?watch=1") as reply,
    ):
        plane.add(pod("a"))
        assert b'"name":"a"' in await reply.content.readline()
        plane.add(pod("b"))
        with pytest.raises((aiohttp.ClientPayloadError, ConnectionError)):
            await reply.content.readline()


def test_a_policy_of_ones_own_sees_every_call() -> None:
    class Recording:
        def __init__(self) -> None:
            self.calls: list[Call] = []

        def on_request(self, call: Call) -> None:
            self.calls.append(call)

        def on_watch_event(self, call: Call) -> WatchFault:
            return WatchFault.NONE

    recording = Recording()
    with embedded(lambda: ControlPlane(faults=recording)) as plane:
        plane.client.post(PODS, pod("a"))
        plane.client.post(f"{PODS}/a/binding", BINDING)
        plane.client.get("/healthz")
    seen = [(call.verb, call.resource, call.subresource, call.name) for call in recording.calls]
    assert seen == [("create", "pods", "", ""), ("create", "pods", "binding", "a")]
