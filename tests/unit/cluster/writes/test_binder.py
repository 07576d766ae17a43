"""Every bind has exactly one outcome, which is what the API server holds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.limits import (
    BIND_SENDS_IN_DOUBT_MAX,
    BIND_TIMEOUT_S,
    REQUEST_TIMEOUT_S,
    UNANSWERED_IN_DOUBT_S,
)
from kpolicy.cluster.writes.binder import (
    AlreadyOurs,
    Binder,
    Binding,
    BindOutcome,
    Bound,
    Conflict,
    Fenced,
    Gone,
    Overloaded,
    PodUnreadable,
    Refused,
    TakenByOther,
    Unknown,
    binding_body,
    conflict_outcome,
    seen_on,
)
from kpolicy.cluster.writes.conventions import pod_path
from kpolicy.testing import (
    ControlPlane,
    Drop,
    FaultRule,
    RequestFault,
    ScriptedFaults,
    node,
    pod,
)
from tests.unit.cluster.canned import canned_server, replies, script, status_body
from tests.unit.cluster.doubles import ImpatientClock, client


@dataclass
class Cluster:
    control_plane: ControlPlane
    binder: Binder
    clock: ImpatientClock
    api: ApiClient

    def pod(self, name: str = "a") -> Mapping[str, Any]:
        pods = self.control_plane.objects("Pod", "default")
        return next(pod for pod in pods if pod["metadata"]["name"] == name)

    def binding(self, name: str = "a", to: str = "n1") -> Binding:
        return Binding("default", name, self.pod(name)["metadata"]["uid"], to, {"k": 'v"é'})

    def sent(self) -> int:
        """Also what never arrived."""
        return sum(count for (verb, _), count in self.api.counts.items() if verb == "POST")

    def faults(self, *faults: FaultRule) -> None:
        self.control_plane.faults = ScriptedFaults(faults)


@asynccontextmanager
async def cluster_with(fence: Callable[[], bool] = lambda: True) -> AsyncIterator[Cluster]:
    async with ControlPlane() as control_plane:
        control_plane.add(node("n1"), node("n2"), pod("a"))
        clock = ImpatientClock()
        async with client(control_plane.url, clock) as api:
            yield Cluster(control_plane, Binder(api, clock, fence, timeout_s=0.2), clock, api)


def posts(fault: RequestFault, times: int | None = 1, skip: int = 0) -> FaultRule:
    return FaultRule(fault, verb="create", subresource="binding", times=times, skip=skip)


def reads(fault: RequestFault, times: int | None = 1) -> FaultRule:
    return FaultRule(fault, verb="get", resource="pods", times=times)


async def test_a_bind_is_written_with_its_annotations() -> None:
    async with cluster_with() as cluster:
        assert await cluster.binder.bind(cluster.binding()) == Bound()
        assert cluster.pod()["spec"]["nodeName"] == "n1"
        assert cluster.pod()["metadata"]["annotations"] == {"k": 'v"é'}


async def test_the_same_again_is_already_ours_and_another_node_is_taken() -> None:
    async with cluster_with() as cluster:
        await cluster.binder.bind(cluster.binding())
        assert await cluster.binder.bind(cluster.binding()) == AlreadyOurs()
        assert await cluster.binder.bind(cluster.binding(to="n2")) == TakenByOther("n1")
        assert cluster.pod()["spec"]["nodeName"] == "n1"


async def test_a_pod_of_the_same_name_is_not_ours() -> None:
    async with cluster_with() as cluster:
        other = Binding("default", "a", "another-uid", "n1")
        assert await cluster.binder.bind(other) == Gone()
        assert "nodeName" not in cluster.pod()["spec"]


async def test_a_pod_that_is_not_there_is_gone() -> None:
    async with cluster_with() as cluster:
        assert await cluster.binder.bind(Binding("default", "nobody", "u", "n1")) == Gone()


async def test_a_gated_pod_is_a_conflict() -> None:
    async with cluster_with() as cluster:
        cluster.control_plane.add(pod("g", scheduling_gates=["wait"]))
        outcome = await cluster.binder.bind(cluster.binding("g"))
        assert isinstance(outcome, Conflict)
        assert "schedulingGates" in outcome.message


async def test_an_answer_lost_after_the_write_is_found_out() -> None:
    async with cluster_with() as cluster:
        cluster.faults(posts(RequestFault(drop=Drop.AFTER_COMMIT)))
        assert await cluster.binder.bind(cluster.binding()) == AlreadyOurs()
        assert cluster.pod()["spec"]["nodeName"] == "n1"


async def test_a_request_lost_before_the_write_is_sent_again() -> None:
    async with cluster_with() as cluster:
        cluster.faults(posts(RequestFault(drop=Drop.BEFORE_COMMIT)))
        assert await cluster.binder.bind(cluster.binding()) == Bound()
        assert cluster.pod()["spec"]["nodeName"] == "n1"


async def test_a_bind_that_was_sent_and_never_answered_is_not_given_up() -> None:
    """None of the three is written yet, and each of them may be."""
    async with cluster_with() as cluster:
        cluster.faults(posts(RequestFault(delay_s=1), times=3))
        doubt = await cluster.binder.bind(cluster.binding())
        assert isinstance(doubt, Unknown)
        assert "nodeName" not in cluster.pod()["spec"]
        outcome: BindOutcome = doubt
        while isinstance(outcome, Unknown):
            assert outcome.until_ns == doubt.until_ns, "the request was sent again"
            outcome = await cluster.binder.settle(cluster.binding(), outcome, may_send=False)
        assert outcome == AlreadyOurs()
        assert cluster.pod()["spec"]["nodeName"] == "n1"


async def test_a_bind_in_doubt_is_sent_again_and_the_answer_ends_the_doubt() -> None:
    async with cluster_with() as cluster:
        cluster.faults(posts(RequestFault(drop=Drop.BEFORE_COMMIT), times=4))
        first = await cluster.binder.bind(cluster.binding())
        assert isinstance(first, Unknown)
        await cluster.clock.advance(1)
        second = await cluster.binder.settle(cluster.binding(), first)
        assert isinstance(second, Unknown)
        assert second.until_ns > first.until_ns
        assert second.sends_left == first.sends_left - 1
        assert await cluster.binder.settle(cluster.binding(), second) == Bound()


async def test_a_bind_is_in_doubt_until_no_server_works_on_it_any_more() -> None:
    async with cluster_with() as cluster:
        cluster.faults(posts(RequestFault(drop=Drop.BEFORE_COMMIT), times=None))
        doubt = await cluster.binder.bind(cluster.binding())
        while isinstance(doubt, Unknown) and doubt.sends_left:
            doubt = await cluster.binder.settle(cluster.binding(), doubt)
        assert isinstance(doubt, Unknown)
        sent = cluster.sent()
        assert sent == 3 + BIND_SENDS_IN_DOUBT_MAX
        left_s = (doubt.until_ns - cluster.clock.monotonic_ns()) / NANOSECONDS
        # Longer than a proxy holds a request, and the API server works on one, after each other.
        assert left_s == UNANSWERED_IN_DOUBT_S > 2 * REQUEST_TIMEOUT_S
        await cluster.clock.advance(left_s - 1)
        assert await cluster.binder.settle(cluster.binding(), doubt) == doubt
        await cluster.clock.advance(1)
        assert isinstance(await cluster.binder.settle(cluster.binding(), doubt), Overloaded)
        assert cluster.sent() == sent


async def test_a_later_refusal_tells_nothing_of_what_was_sent_before() -> None:
    async with cluster_with() as cluster:
        cluster.faults(
            posts(RequestFault(drop=Drop.BEFORE_COMMIT)),
            posts(RequestFault(status=403), times=None),
        )
        doubt = await cluster.binder.bind(cluster.binding())
        assert isinstance(doubt, Unknown)
        assert await cluster.binder.settle(cluster.binding(), doubt) == doubt


async def test_the_doubt_stays_when_leadership_or_the_server_goes() -> None:
    leading = [True, True, False, False]  # each send asks twice
    async with cluster_with(fence=lambda: leading.pop(0)) as cluster:
        cluster.faults(
            posts(RequestFault(drop=Drop.BEFORE_COMMIT), times=None),
            FaultRule(RequestFault(status=500), verb="get", resource="pods", skip=2, times=3),
        )
        doubt = await cluster.binder.bind(cluster.binding())
        assert isinstance(doubt, Unknown)
        assert await cluster.binder.settle(cluster.binding(), doubt) == doubt, "fenced"
        await cluster.clock.advance(UNANSWERED_IN_DOUBT_S)
        assert await cluster.binder.settle(cluster.binding(), doubt) == doubt, (
            "the pod cannot be read"
        )
        assert isinstance(await cluster.binder.settle(cluster.binding(), doubt), Overloaded)
        assert cluster.sent() == 1


async def test_the_api_server_is_asked_to_give_up_before_we_do() -> None:
    async with canned_server(replies(201)) as server, client(server.url) as api:
        await Binder(api, ImpatientClock()).bind(Binding("ns", "a", "u", "n1"))
        assert [asked.query for asked in server.asked] == [{"timeout": "4s"}]
        assert BIND_TIMEOUT_S > 4


async def test_an_answer_that_takes_too_long_is_found_out() -> None:
    async with cluster_with() as cluster:
        cluster.faults(posts(RequestFault(delay_s=30), times=1))
        assert await cluster.binder.bind(cluster.binding()) == Bound()


async def test_what_cannot_be_found_out_is_unknown() -> None:
    async with cluster_with() as cluster:
        cluster.faults(
            posts(RequestFault(drop=Drop.AFTER_COMMIT)),
            reads(RequestFault(status=500), times=None),
        )
        assert isinstance(await cluster.binder.bind(cluster.binding()), Unknown)
        assert cluster.pod()["spec"]["nodeName"] == "n1"


async def test_reads_are_tried_again_to_find_out() -> None:
    async with cluster_with() as cluster:
        cluster.faults(
            posts(RequestFault(drop=Drop.AFTER_COMMIT)),
            reads(RequestFault(status=500), times=2),
        )
        assert await cluster.binder.bind(cluster.binding()) == AlreadyOurs()


async def test_a_busy_server_is_waited_for_as_it_asks() -> None:
    async with cluster_with() as cluster:
        cluster.faults(posts(RequestFault(status=429, retry_after_s=2), times=2))
        assert await cluster.binder.bind(cluster.binding()) == Bound()
        assert cluster.clock.slept == [2.0, 2.0]


async def test_a_server_busy_for_long_is_reported_not_waited_for() -> None:
    async with cluster_with() as cluster:
        cluster.faults(posts(RequestFault(status=429, retry_after_s=30), times=None))
        outcome = await cluster.binder.bind(cluster.binding())
        assert isinstance(outcome, Overloaded)
        assert outcome.retry_after_s == 30
        assert cluster.clock.slept == []


async def test_retries_end() -> None:
    async with cluster_with() as cluster:
        cluster.faults(posts(RequestFault(status=503, retry_after_s=1), times=None))
        assert isinstance(await cluster.binder.bind(cluster.binding()), Overloaded)
        assert len([e for e in cluster.control_plane.audit() if e.subresource == "binding"]) == 3


async def test_what_may_not_be_done_is_refused_at_once() -> None:
    async with cluster_with() as cluster:
        cluster.faults(posts(RequestFault(status=403), times=None))
        outcome = await cluster.binder.bind(cluster.binding())
        assert isinstance(outcome, Refused)
        assert outcome.code == 403
        assert cluster.clock.slept == []


async def test_without_leadership_nothing_is_sent() -> None:
    async with cluster_with(fence=lambda: False) as cluster:
        assert await cluster.binder.bind(cluster.binding()) == Fenced()
        assert not [e for e in cluster.control_plane.audit() if e.subresource == "binding"]


async def test_the_fence_is_asked_again_before_a_retry() -> None:
    leading = [True, True, False]  # each send asks twice
    async with cluster_with(fence=lambda: leading.pop(0)) as cluster:
        cluster.faults(posts(RequestFault(status=429, retry_after_s=1), times=None))
        assert isinstance(await cluster.binder.bind(cluster.binding()), Overloaded)
        assert len([e for e in cluster.control_plane.audit() if e.subresource == "binding"]) == 1


async def test_an_error_after_the_write_is_found_out() -> None:
    bound = json.dumps({"metadata": {"uid": "u"}, "spec": {"nodeName": "n1"}}).encode()
    answers = script(replies(500, status_body(500, "InternalError", "etcd")), replies(200, bound))
    async with canned_server(answers) as server, client(server.url) as api:
        outcome = await Binder(api, ImpatientClock()).bind(Binding("ns", "a", "u", "n1"))
        assert outcome == AlreadyOurs()
        assert [asked.verb for asked in server.asked] == ["POST", "GET"]


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"metadata":1}', b'{"metadata":{"uid":[]}'])
async def test_an_answer_that_is_no_pod_settles_nothing(body: bytes) -> None:
    answers = script(replies(500, b"?"), replies(200, body))
    async with canned_server(answers) as server, client(server.url) as api:
        outcome = await Binder(api, ImpatientClock()).bind(Binding("ns", "a", "u", "n1"))
        assert isinstance(outcome, Unknown)


async def test_many_at_once_are_each_bound_once() -> None:
    async with cluster_with() as cluster:
        cluster.control_plane.add(*(pod(f"p{n}") for n in range(200)))
        bindings = [cluster.binding(f"p{n}", "n1") for n in range(200)]
        outcomes = await asyncio.gather(*(cluster.binder.bind(binding) for binding in bindings))
        # A slow machine may time out a request that was committed; the retry finds it ours.
        assert all(isinstance(outcome, Bound | AlreadyOurs) for outcome in outcomes)
        pods = cluster.control_plane.objects("Pod", "default")
        assert sum(pod["spec"].get("nodeName") == "n1" for pod in pods) == 200


BINDING = Binding("ns", "a", "uid-1", "n1")


@given(st.text(), st.text(), st.dictionaries(st.text(), st.text(), max_size=3))
def test_the_body_is_what_json_would_make_of_it(
    name: str, node: str, annotations: dict[str, str]
) -> None:
    metadata: dict[str, object] = {"name": name, "namespace": "ns", "uid": "u"}
    if annotations:
        metadata["annotations"] = annotations
    body = binding_body(Binding("ns", name, "u", node, annotations))
    assert json.loads(body) == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        (
            'Operation cannot be fulfilled: pod a is already assigned to node "n1"',
            AlreadyOurs(),
        ),
        ('pod a is already assigned to node "n2"', TakenByOther("n2")),
        ('pod a is already assigned to node "n11"', TakenByOther("n11")),
        ("pod a is being deleted, cannot be assigned to a host", Gone()),
        ("Precondition failed: UID in precondition: x, UID in object meta: y", Gone()),
        ("pod a has non-empty .spec.schedulingGates", Conflict),
        ("Precondition failed: ResourceVersion in precondition: 1, in object meta: 2", Conflict),
        ("the object has been modified", Conflict),
    ],
)
def test_a_conflict_is_read_by_its_words(
    message: str, outcome: BindOutcome | type[Conflict]
) -> None:
    expected = Conflict(message) if outcome is Conflict else outcome
    assert conflict_outcome(BINDING, message) == expected


@pytest.mark.parametrize(
    ("uid", "node", "deleting", "outcome"),
    [
        ("uid-1", "n1", False, AlreadyOurs()),
        ("uid-1", "n1", True, AlreadyOurs()),
        ("uid-1", "n2", False, TakenByOther("n2")),
        ("uid-1", "", False, None),
        ("uid-1", "", True, Gone()),
        ("uid-2", "n1", False, Gone()),
    ],
)
def test_a_pod_tells_what_became_of_its_bind(
    uid: str, node: str, deleting: bool, outcome: BindOutcome | None
) -> None:
    metadata: dict[str, str] = {"uid": uid} | ({"deletionTimestamp": "now"} if deleting else {})
    pod = {"metadata": metadata, "spec": {"nodeName": node}}
    assert seen_on(BINDING, json.dumps(pod).encode()) == outcome


@pytest.mark.parametrize("body", [b"<html>", b"\xff", b"[]", b"null", b"{}", b"[" * 100_000])
def test_what_is_no_pod_tells_nothing(body: bytes) -> None:
    assert seen_on(BINDING, body) == PodUnreadable()


def test_what_is_no_name_stays_one_segment_of_the_path() -> None:
    assert pod_path("ns", "a.b-1") == "/api/v1/namespaces/ns/pods/a.b-1"
    assert pod_path("../x", "a/b?c") == "/api/v1/namespaces/..%2Fx/pods/a%2Fb%3Fc"
