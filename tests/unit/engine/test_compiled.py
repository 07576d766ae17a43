"""The engine from Python: a small world from lists and watches to binds, and what goes wrong."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, get_type_hints

import pytest

from kpolicy import _engine
from kpolicy.engine import (
    Applied,
    Decision,
    Engine,
    JudgedNodes,
    KeptNode,
    Outcome,
    PodChange,
    PodState,
    Refusal,
    RefusedNode,
    RemainingCandidate,
    RemainingCandidates,
    Scheduled,
    Unreadable,
    Verdict,
    Wake,
    evaluate_expression,
)
from kpolicy.engine_threads import ENGINE_THREADS_MAX
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from kpolicy.testing.builders import node, pod
from tests.unit.telemetry.exposition import parsed

NOW_NS = 1_000_000_000
NANOSECONDS = 1_000_000_000
PROGRAM: dict[str, Any] = {
    "format": 1,
    "hash": "sha256:0000",
    "policies": ["test"],
    "tieBreak": "name",
    "profiles": [
        {
            "schedulerName": "kpolicy",
            "percentageOfNodesToScore": 100,
            "filters": [{"name": "NodeResourcesFit", "builtin": "NodeResourcesFit", "args": {}}],
            "scores": [],
        }
    ],
}


def encoded(value: object) -> bytes:
    return json.dumps(value).encode()


def page(kind: str, items: Iterable[dict[str, Any]], **metadata: object) -> bytes:
    bare = [{key: item[key] for key in item.keys() - {"kind", "apiVersion"}} for item in items]
    return encoded({"kind": f"{kind}List", "apiVersion": "v1", "metadata": metadata, "items": bare})


def line(event: str, value: dict[str, Any], **metadata: object) -> bytes:
    value = {**value, "metadata": {**value["metadata"], **metadata}}
    return encoded({"type": event, "object": value}) + b"\n"


def listed(engine: Engine, resource: str, body: bytes) -> Applied:
    engine.list_begin(resource)
    applied = engine.list_page(resource, body, NOW_NS)
    ended = engine.list_end(resource, NOW_NS)
    return applied._replace(pods=applied.pods + ended.pods, wakes=applied.wakes + ended.wakes)


@pytest.fixture
def engine() -> Engine:
    engine = Engine(seed=7)
    assert engine.load(encoded(PROGRAM)) == []
    listed(engine, "nodes", page("Node", [node("n1", cpu="1"), node("n2", cpu="2")]))
    return engine


def sizes(engine: Engine) -> dict[str, int]:
    answer: dict[str, int] = json.loads(engine.statistics())
    return answer


def uids(changes: Iterable[PodChange]) -> list[str]:
    return sorted(change.uid for change in changes)


def test_a_pod_goes_from_list_to_bind(engine: Engine) -> None:
    waiting = pod("a", cpu="1500m", priority=5)
    created = {"uid": "u", "creationTimestamp": "1970-01-01T00:00:02Z", "generation": 3}
    waiting["metadata"] |= created
    applied = listed(engine, "pods", page("Pod", [waiting], resourceVersion="7"))
    assert applied.resource_version == "7"
    change = PodChange(
        PodState.PENDING, "u", "default", "a", 5, "kpolicy", False, "", "", 2 * NANOSECONDS, 3
    )
    assert applied.pods == [change]
    assert engine.pending() == [change]

    scheduled = engine.schedule(["u", "unknown"], NOW_NS)
    assert isinstance(scheduled, Scheduled)
    assert scheduled.program_hash == "sha256:0000"
    placed, unknown = scheduled.decisions
    assert (placed.verdict, placed.node, placed.message) == (Verdict.PLACED, "n2", "")
    assert (placed.uid, placed.namespace, placed.name) == ("u", "default", "a")
    assert (placed.nodes_total, placed.nodes_feasible) == (2, 1)
    assert placed.filter_ns > 0
    assert unknown.verdict == Verdict.GONE
    assert sizes(engine)["podsAssumed"] == 1

    assert engine.settle([("u", Outcome.BOUND)], NOW_NS) == []
    waiting["spec"]["nodeName"] = "n2"
    applied = engine.watch("pods", line("MODIFIED", waiting, resourceVersion="8"), NOW_NS)
    assert applied.resource_version == "8"
    assert [(each.change, each.node) for each in applied.pods] == [(PodState.ON_NODE, "n2")]
    assert sizes(engine)["podsAssumed"] == 0
    assert engine.pending() == []


def test_timings_fill_the_buckets_that_metrics_have(engine: Engine) -> None:
    assert engine.timings() == ([], [])
    waiting = pod("a", cpu="100m")
    waiting["metadata"]["uid"] = "u"
    listed(engine, "pods", page("Pod", [waiting]))
    (decision,) = engine.schedule(["u"], NOW_NS).decisions
    stages, rules = engine.timings()
    metrics = SchedulerMetrics()
    metrics.extension_point_seconds.join(
        lambda: {
            (stage.point, stage.status, stage.name): (stage.counts, stage.seconds)
            for stage in stages
        }
    )
    metrics.plugin_seconds.join(
        lambda: {
            (rule.name, rule.point, rule.status): (rule.counts, rule.seconds) for rule in rules
        }
    )
    families = parsed(metrics.registry.render())
    points = families["scheduler_framework_extension_point_duration_seconds"]
    seconds = {dict(labels)["extension_point"]: each for labels, each in points.sums.items()}
    assert set(seconds) == {"PreFilter", "Filter", "PreScore", "Score"}
    assert sum(seconds.values()) == pytest.approx(decision.took_ns / NANOSECONDS)
    plugins = families["scheduler_plugin_execution_duration_seconds"]
    fit = {"plugin": "NodeResourcesFit", "extension_point": "Filter", "status": "Success"}
    assert plugins.count(**fit) == 2


def test_a_parked_pod_says_why_and_wakes(engine: Engine) -> None:
    big = pod("big", cpu="3")
    big["metadata"]["uid"] = "u"
    listed(engine, "pods", page("Pod", [big]))
    [decision] = engine.schedule(["u"], NOW_NS).decisions
    assert decision.verdict == Verdict.PARKED
    assert decision.rejected_by == ["NodeResourcesFit"]
    assert "0/2 nodes are available" in decision.message
    assert engine.message("u").startswith("0/2 nodes are available")
    applied = engine.watch("nodes", line("ADDED", node("n3", cpu="4")), NOW_NS)
    assert applied.wakes == [Wake("u", "NodeAdd")]
    [decision] = engine.schedule(["u"], NOW_NS).decisions
    assert (decision.verdict, decision.node) == (Verdict.PLACED, "n3")
    assert engine.message("u") == ""


def test_a_failed_bind_frees_the_node(engine: Engine) -> None:
    listed(engine, "pods", page("Pod", [pod("a", cpu="2"), pod("b", cpu="2")]))
    first, second = engine.schedule(["default/a", "default/b"], NOW_NS).decisions
    assert (first.node, second.verdict) == ("n2", Verdict.PARKED)
    wakes = engine.settle([("default/a", Outcome.FAILED)], NOW_NS)
    assert [wake.uid for wake in wakes] == ["default/b"]
    [again] = engine.schedule(["default/b"], NOW_NS).decisions
    assert again.node == "n2"


def test_what_a_list_does_not_name_is_gone(engine: Engine) -> None:
    listed(engine, "pods", page("Pod", [pod("a"), pod("b")]))
    applied = listed(engine, "pods", page("Pod", [pod("b")]))
    gone = [change for change in applied.pods if change.change == PodState.GONE]
    assert uids(gone) == ["default/a"]
    assert uids(engine.pending()) == ["default/b"]


def test_a_list_that_breaks_off_removes_nothing(engine: Engine) -> None:
    listed(engine, "pods", page("Pod", [pod("a"), pod("b")]))
    whole = page("Pod", [pod("b"), pod("a")], resourceVersion="9")
    engine.list_begin("pods")
    read = engine.list_page("pods", whole[:-40], NOW_NS)
    ended = engine.list_end("pods", NOW_NS)
    for applied in (read, ended):
        assert (applied.status_code, applied.status_reason) == (500, "NotJson")
    assert uids(engine.pending()) == ["default/a", "default/b"]
    assert listed(engine, "pods", page("Pod", [])).status_code == 0
    assert engine.pending() == []


def test_pages_tell_where_to_go_on(engine: Engine) -> None:
    engine.list_begin("pods")
    body = page("Pod", [pod("a")], **{"continue": "token", "remainingItemCount": 4})
    applied = engine.list_page("pods", body, NOW_NS)
    assert (applied.continue_token, applied.remaining_item_count) == ("token", 4)


def test_watches_tell_of_bookmarks_and_failures(engine: Engine) -> None:
    bookmark: dict[str, object] = {"metadata": {}}
    failure = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    lines = line("BOOKMARK", bookmark, resourceVersion="12")
    lines += encoded({"type": "ERROR", "object": failure}) + b"\n"
    applied = engine.watch("pods", lines, NOW_NS)
    assert applied.resource_version == "12"
    assert applied[3:6] == (410, "Expired", "too old")


def test_a_deletion_needs_no_more_than_metadata(engine: Engine) -> None:
    listed(engine, "pods", page("Pod", [pod("a")]))
    removed = {"metadata": pod("a")["metadata"], "spec": "unreadable"}
    applied = engine.watch("pods", line("DELETED", removed), NOW_NS)
    assert [change.change for change in applied.pods] == [PodState.GONE]
    assert applied.unreadable == []


def test_what_cannot_be_read_costs_itself(engine: Engine) -> None:
    bad = pod("bad")
    bad["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "lots"}}
    applied = listed(engine, "pods", page("Pod", [bad, pod("good")]))
    [unreadable] = applied.unreadable
    assert isinstance(unreadable, Unreadable)
    assert (unreadable.code, unreadable.object) == ("BadField", "Pod default/bad")
    assert unreadable.message.startswith("spec.containers[0].resources.requests.cpu: ")
    assert uids(applied.pods) == ["default/good"]


def test_a_file_is_read_whole_and_names_its_faults(engine: Engine) -> None:
    items = [pod("a"), {"kind": "ConfigMap", "apiVersion": "v1"}, {"kind": "Pod", "metadata": {}}]
    body = encoded({"apiVersion": "v1", "items": items, "kind": "List"})
    [unreadable, other] = engine.load_objects(body, "cluster.json")
    assert (other.code, other.object) == ("OtherKind", "cluster.json")
    assert other.message.endswith(": 1 ConfigMap")
    assert unreadable.code == "NoName"
    assert unreadable.object == "cluster.json: document 0 items[2]"
    assert uids(engine.pending()) == ["default/a"]
    explained = [json.loads(each) for each in engine.explain(b'{"pods": null}', 0).splitlines()]
    assert [each["pod"] for each in explained] == ["default/a"]
    assert engine.explain(b'{"pods": ["default/none"]}', 0) == b""


def test_a_refused_program_leaves_the_one_in_force(engine: Engine) -> None:
    for program in (b"", b"[", b"[]", b"\xff", b"[" * 100_000, encoded({**PROGRAM, "more": 1})):
        refusals = engine.load(program)
        assert refusals
        assert all(isinstance(refusal, Refusal) for refusal in refusals)
        assert all(refusal.code and refusal.place and refusal.message for refusal in refusals)
        assert engine.program_hash() == "sha256:0000"
    assert {"pods", "nodes"} <= set(engine.resources())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda engine: engine.list_begin("secrets"), ValueError, "secrets"),
        (lambda engine: engine.list_page("Pod", b"{}", 0), ValueError, "Pod"),
        (lambda engine: engine.list_end("", 0), ValueError, "reads no"),
        (lambda engine: engine.watch("nodes", "text", 0), TypeError, "bytes"),
        (lambda engine: engine.settle([("u", 3)], 0), ValueError, "no outcome"),
        (lambda engine: engine.schedule("abc", 0), TypeError, "str"),
        (lambda engine: engine.explain(b"{", 0), ValueError, "request"),
        (lambda engine: engine.explain(b'{"pods": "all"}', 0), ValueError, "list or null"),
        (lambda engine: engine.advise(b"{", 0), ValueError, "request"),
        (lambda engine: engine.advise(b'{"namespace": 1}', 0), ValueError, "string or null"),
    ],
)
def test_wrong_calls_are_refused(
    engine: Engine, call: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(engine)
    assert engine.program_hash() == "sha256:0000"


def test_arbitrary_bytes_never_end_it(engine: Engine) -> None:
    bodies = [
        b"",
        b"\x00\xff\xfe",
        b"[" * 200_000,
        b'{"items":' + b"[" * 200_000,
        b'{"items":[' + b'{"a":' * 100_000,
        b'{"type":"ADDED","object":' + b"[" * 200_000,
        b'{"kind":"Pod","metadata":{"name":"x","labels":{'
        + b",".join(b'"%d":""' % number for number in range(1_000_000))
        + b"}}}",
    ]
    for body in bodies:
        engine.list_begin("pods")
        engine.list_page("pods", body, NOW_NS)
        engine.list_end("pods", NOW_NS)
        engine.watch("nodes", body, NOW_NS)
        engine.load_objects(body, "body")
        evaluate_expression(body[:1000], body[:1000])
    assert sizes(engine)["nodes"] == 2


def test_threads_do_not_wait_for_each_other_forever(engine: Engine) -> None:
    until = time.monotonic() + 1.0
    failures: list[BaseException] = []
    calls = [0] * 8
    nodes = page("Node", [node(f"n{number}") for number in range(50)])
    pods = page("Pod", [pod(f"p{number}", cpu="1m") for number in range(200)])
    uids_waiting = [f"default/p{number}" for number in range(200)]
    works: list[Callable[[], object]] = [
        lambda: listed(engine, "nodes", nodes),
        lambda: listed(engine, "pods", pods),
        lambda: engine.schedule(uids_waiting, NOW_NS),
        lambda: engine.settle([(uid, Outcome.FAILED) for uid in uids_waiting], NOW_NS),
        engine.statistics,
        engine.pending,
        lambda: engine.load(encoded(PROGRAM)),
        lambda: engine.explain(b'{"pods": ["default/p0"]}', NOW_NS),
    ]

    def work(number: int) -> None:
        try:
            while time.monotonic() < until:
                works[number]()
                calls[number] += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)
    assert failures == []
    assert all(calls), calls


def test_other_threads_run_while_it_works() -> None:
    engine = Engine()
    body = page("Pod", [pod(f"p{number}") for number in range(20_000)])
    ticks = 0
    done = threading.Event()

    def read() -> None:
        engine.list_begin("pods")
        engine.list_page("pods", body, NOW_NS)
        done.set()

    thread = threading.Thread(target=read)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.0001)
    thread.join()
    assert ticks > 10


def test_the_same_seed_gives_the_same_placements() -> None:
    def placements(seed: int) -> list[str]:
        engine = Engine(seed)
        assert engine.load(encoded({**PROGRAM, "tieBreak": "random"})) == []
        listed(engine, "nodes", page("Node", [node(f"n{number}") for number in range(20)]))
        listed(engine, "pods", page("Pod", [pod(f"p{number}") for number in range(30)]))
        scheduled = engine.schedule([f"default/p{number}" for number in range(30)], NOW_NS)
        return [decision.node for decision in scheduled.decisions]

    assert placements(1) == placements(1)
    assert placements(1) != placements(2)


def test_a_decision_in_two_steps() -> None:
    engine = Engine()
    assert engine.load(encoded(PROGRAM)) == []
    nodes = [node("big", cpu="8"), node("mid", cpu="4"), node("tiny", cpu="100m")]
    engine.load_objects(encoded([*nodes, pod("a", cpu="1"), pod("b", cpu="1")]), "")
    engine.load_objects(encoded([pod("c", cpu="1")]), "")
    a, b, c = "default/a", "default/b", "default/c"
    token, feasible = engine.filter(a, NOW_NS)
    assert feasible == ["big", "mid"]
    decision = engine.choose(a, JudgedNodes(token, [KeptNode("big"), KeptNode("mid", 3)]), NOW_NS)
    assert (decision.verdict, decision.node, decision.score) == (Verdict.PLACED, "mid", 30)
    assert sizes(engine)["podsAssumed"] == 1
    token = engine.filter(b, NOW_NS).token
    refused = [RefusedNode("big", "no licence"), RefusedNode("mid", "no licence", True)]
    decision = engine.choose(b, JudgedNodes(token, [], refused), NOW_NS)
    assert (decision.verdict, decision.rejected_by) == (
        Verdict.PARKED,
        ["Extender", "NodeResourcesFit"],
    )
    message = "0/3 nodes are available: 1 Insufficient cpu, 2 no licence."
    assert decision.message == engine.message(b) == message
    token = engine.filter(c, NOW_NS).token
    engine.watch("nodes", line("DELETED", nodes[1]), NOW_NS)
    decision = engine.choose(c, JudgedNodes(token, [KeptNode("mid")]), NOW_NS)
    assert (decision.verdict, decision.node) == (Verdict.STALE, "")


def test_room_is_made_where_others_leave_it() -> None:
    program = {**PROGRAM, "profiles": [{**PROGRAM["profiles"][0], "preemption": {}}]}
    engine = Engine()
    assert engine.load(encoded(program)) == []
    there = [pod(name, cpu="900m", priority=0) for name in ("a", "b")]
    for each, name in zip(there, ("n1", "n2"), strict=True):
        each["spec"]["nodeName"] = name
    high = pod("high", cpu="900m", priority=2)
    engine.load_objects(encoded([node("n1", cpu="1"), node("n2", cpu="1"), *there, high]), "")
    uid = "default/high"
    judged = JudgedNodes(engine.filter(uid, NOW_NS).token)
    found = engine.candidates(uid, judged, NOW_NS)
    assert sorted(found.nodes) == [  # the search begins anywhere
        ("n1", [("default/a", "default", "a", False, 0)], 0),
        ("n2", [("default/b", "default", "b", False, 0)], 0),
    ]
    assert engine.located([uid, "default/b"]) == [("default/b", "default", "b", "n2")]
    for left, message in (
        (RemainingCandidates(found.token, "it is down", []), "preemption: it is down"),
        (RemainingCandidates(found.token, "", []), "preemption: no candidate node for preemption"),
    ):
        decision = engine.preempt(uid, judged, left, NOW_NS)
        assert (decision.verdict, decision.victims) == (Verdict.PARKED, [])
        assert decision.message.endswith(message)
    left = RemainingCandidates(found.token, "", [RemainingCandidate("n2", ["default/b"])])
    decision = engine.preempt(uid, judged, left, NOW_NS)
    assert (decision.nominated_node, [victim.name for victim in decision.victims]) == ("n2", ["b"])
    engine.watch("nodes", line("DELETED", node("n2", cpu="1")), NOW_NS)
    decision = engine.preempt(uid, judged, RemainingCandidates(found.token, "", None), NOW_NS)
    assert decision.verdict == Verdict.STALE


def test_who_loses_a_nomination_to_another_pod_is_reported() -> None:
    program = {**PROGRAM, "profiles": [{**PROGRAM["profiles"][0], "preemption": {}}]}
    engine = Engine()
    assert engine.load(encoded(program)) == []
    there = pod("there", cpu="900m", priority=0)
    there["spec"]["nodeName"] = "n"
    waits = pod("waits", cpu="900m", priority=1)
    waits["status"] = {"nominatedNodeName": "n"}
    high = pod("high", cpu="900m", priority=2)
    engine.load_objects(encoded([node("n", cpu="1"), there, waits, high]), "")
    [decision] = engine.schedule(["default/high"], NOW_NS).decisions
    assert (decision.nominated_node, decision.victims) == (
        "n",
        [("default/there", "default", "there", False, 0)],
    )
    assert decision.displaced == ["default/waits"]
    [decision] = engine.schedule(["default/waits"], NOW_NS).decisions
    assert (decision.verdict, decision.nominated_node) == (Verdict.PARKED, "")


def test_a_pod_on_a_node_is_explained_as_if_it_were_pending_and_stays_there() -> None:
    engine = Engine()
    assert engine.load(encoded(PROGRAM)) == []
    engine.load_objects(encoded([node("n", cpu="1"), pod("a", cpu="1"), pod("b", cpu="1")]), "")
    assert engine.schedule(["default/a"], NOW_NS).decisions[0].node == "n"
    before = sizes(engine)
    request = encoded({"pods": ["default/a", "default/b"]})
    placed, pending = map(json.loads, engine.explain(request, NOW_NS).splitlines())
    assert (placed["pod"], placed["selected"]) == ("default/a", "n")
    assert "selected" not in pending
    assert sizes(engine) == before
    assert engine.schedule(["default/b"], NOW_NS).decisions[0].verdict == Verdict.PARKED


def test_names_stand_for_every_field() -> None:
    """The tuples are as wide as their names; the order is checked by the tests above."""
    engine = Engine()
    assert engine.load(encoded(PROGRAM)) == []
    engine.load_objects(encoded([node("n"), pod("a")]), "")
    raw = _engine.Engine(0)
    assert raw.load(encoded(PROGRAM)) == []
    raw.load_objects(encoded([node("n"), pod("a")]), "")
    assert len(raw.pending()[0]) == len(get_type_hints(PodChange))
    assert len(raw.list_end("nodes", 0)) == len(get_type_hints(Applied))
    raw.load_objects(encoded([node("n"), pod("a")]), "")
    assert len(raw.schedule(["default/a"], 0)[2][0]) == len(get_type_hints(Decision))


def test_the_number_of_threads_is_bounded() -> None:
    assert _engine.THREADS_MAX == ENGINE_THREADS_MAX
    assert Engine(threads=ENGINE_THREADS_MAX).program_hash() == ""
    for wrong in (0, -1, ENGINE_THREADS_MAX + 1):
        with pytest.raises(ValueError, match="from 1 to 256 threads"):
            Engine(threads=wrong)
