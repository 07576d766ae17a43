"""Each invariant accepts a good history, and finds the violation in a bad one."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kpolicy.testing.builders import node, pod
from tests.invariants.check import OF_HISTORY, OF_TIMELINE, violations
from tests.invariants.determinism import history_lines, same
from tests.invariants.history import (
    CLAIM,
    CONFIG_MAP,
    DONE,
    REFUSED,
    SECOND_NS,
    VOLUME,
    WAITS,
    Decision,
    Held,
    History,
    PluginCall,
    PolicyOffer,
    RoomDecided,
    Span,
    Standstill,
    Start,
)
from tests.invariants.inputs import without_input
from tests.invariants.timeline import Timeline
from tests.invariants.volumes import SELECTED_NODE
from tests.simulation.volume_objects import claim, using, volume
from tests.unit.invariants.stories import HASH, THEM, US, Story, good


def found(history: History) -> set[str]:
    return {planted.invariant for planted in violations(history)}


def whole() -> History:
    return good().rests()


def twice_bound() -> History:
    story = good()
    story.bind("one", "n2")
    return story.history()


def moved() -> History:
    story = good()
    story.change("one", nodeName="n2")
    return story.history()


def overcommitted() -> History:
    story = good()
    story.there(pod("three", cpu="1"))
    story.bind("three", "n1")
    return story.history()


def overcommitted_by_a_bind_that_was_not_answered() -> History:
    story = good()
    story.there(pod("three", cpu="1"))
    story.bind("three", "n1", code=504, landed=True)
    return story.history()


def ports_taken() -> History:
    story = Story()
    story.there(node("n1"))
    ports = [{"containerPort": 80, "hostPort": 80}]
    for name in ("one", "two"):
        body = pod(name)
        body["spec"]["containers"][0]["ports"] = ports
        story.there(body)
        story.bind(name, "n1")
    return story.history()


def on_a_tainted_node() -> History:
    story = Story()
    story.there(node("n1", taints=["a=b:NoSchedule"]))
    story.there(pod("one"))
    story.bind("one", "n1")
    return story.history()


def on_a_cordoned_node() -> History:
    story = Story()
    story.there(node("n1", unschedulable=True))
    story.there(pod("one"))
    story.bind("one", "n1")
    return story.history()


def on_no_node() -> History:
    story = Story()
    story.there(pod("one"))
    story.bind("one", "ghost")
    return story.history()


def against_the_selector() -> History:
    story = Story()
    story.there(node("n1"))
    story.there(pod("one", node_selector={"disk": "ssd"}))
    story.bind("one", "n1")
    return story.history()


def against_the_policy() -> History:
    story = good()
    story.there(node("n3", labels={"tier": "spot"}))
    story.there(pod("three"))
    story.bind("three", "n3")
    offer = PolicyOffer(0, "sha256:good", forbids=(("tier", "spot"),))
    return replace(story.history(), policies=(offer,))


def in_no_lane() -> History:
    return good().rests(queued={}, pending=0)


def unexplained() -> History:
    story = good()
    story.change("large", status={"conditions": []})
    return story.rests()


def starved() -> History:
    story = Story()
    story.there(node("n1"))
    story.there(pod("one"))
    story.at_s += 60
    story.bind("one", "n1")
    return replace(story.history(), trouble_free=True)


def cache_differs() -> History:
    return good().rests(compared=("a pod is missed",))


def reservation_left() -> History:
    return good().rests(assumed=1)


def attempt_left() -> History:
    return good().rests(attempts_under_way=1)


def bound_without_leading() -> History:
    story = good()
    story.there(pod("three"))
    story.bind("three", "n2", instance="b2")
    return story.history()


def bound_after_the_lease_ran_out() -> History:
    story = good()
    story.at_s += 60
    story.there(pod("three"))
    story.bind("three", "n2")
    return story.history()


def bound_long_after_the_server_went_on() -> History:
    """It was stopped, and yet ran for too long between the last renewal and the bind."""
    story = good()
    began_ns = story.now_ns
    story.at_s += 30
    stopped = Standstill(began_ns, story.now_ns)
    story.at_s += 16
    story.there(pod("three"))
    story.bind("three", "n2")
    return replace(story.history(), standstills=(stopped,))


def bound_while_another_led() -> History:
    story = good()
    story.lease("b2")
    story.there(pod("three"))
    story.bind("three", "n2")
    return story.history()


def bound_gated() -> History:
    story = good()
    story.there(pod("three", scheduling_gates=["wait"]))
    story.bind("three", "n2", code=409)
    return story.history()


def bound_deleting() -> History:
    story = good()
    story.there(pod("three"))
    story.change("three", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    story.bind("three", "n2", code=409)
    return story.history()


def bound_anothers() -> History:
    story = good()
    story.there(pod("three", scheduler_name="another"))
    story.bind("three", "n2")
    return story.history()


def asked_again_for_a_bound_one() -> History:
    story = good()
    story.bind("one", "n2", code=409)
    return story.history()


def unknown_policy() -> History:
    story = good()
    story.there(pod("three"))
    story.bind("three", "n2", policy="sha256:never-offered")
    return story.history()


def back_to_an_older_policy(*numbers: int) -> History:
    story = good()
    of_each = zip(
        ("three", "four"), ("sha256:newer", "sha256:good"), numbers or (3, 4), strict=True
    )
    for name, policy, number in of_each:
        story.there(pod(name))
        story.bind(name, "n2", policy=policy, number=number)
    offers = (PolicyOffer(0, "sha256:good"), PolicyOffer(1, ""), PolicyOffer(2, "sha256:newer"))
    return replace(story.history(), policies=offers)


def deletes_a_pod() -> History:
    story = good()
    story.write("delete", "pods", "one")
    return story.history()


def patches_a_volume() -> History:
    story = good()
    story.write("patch", "persistentvolumes", "disk")
    return story.history()


def evicts(priority: int, uid: str) -> History:
    story = good()
    story.there(pod("worthy", cpu="1", priority=priority))
    story.at_s += 1
    story.write("delete", "pods", "one", request={"preconditions": {"uid": uid}})
    history = story.history()
    return replace(history, terms=replace(history.terms, evicts=True))


def evicts_an_equal() -> History:
    return evicts(0, good().objects["one"]["metadata"]["uid"])


def evicts_without_a_uid() -> History:
    return evicts(100, "")


def would_fit() -> History:
    story = good()
    story.there(pod("three", cpu="1"))
    story.explained("three")
    return story.rests()


def binds_at_rest() -> History:
    story = good()
    history = story.rests()
    story.bind("large", "n1", code=409)
    return replace(history, writes=tuple(story.writes))


def nobody_leads() -> History:
    return replace(whole(), at_rest=None)


def left_in_a_map() -> History:
    return good().rests(held=(Held("tasks", 3, 2),))


def still_nominated() -> History:
    story = good()
    story.change("large", status={"nominatedNodeName": "n1"})
    return story.rests(held=(Held("tasks", 1, 2),))


def another_than_decided() -> History:
    history = evicts(100, good().objects["one"]["metadata"]["uid"])
    return replace(history, starts=(Start("a1", US, 0),))


def against_a_budget(*, needed: bool = False) -> History:
    """`one` has a budget that allows nothing, `two` has none; either would be enough."""
    story = Story()
    story.there(node("n1", cpu="2"))
    guarded = {"matchLabels": {"app": "guarded"}}
    budget = {"kind": "PodDisruptionBudget", "metadata": {"name": "pdb"}}
    story.there({**budget, "spec": {"selector": guarded}, "status": {"disruptionsAllowed": 0}})
    for name in ("one", "two"):
        app = "guarded" if name == "one" or needed else "free"
        story.there(pod(name, cpu="1", labels={"app": app}))
        story.bind(name, "n1")
    story.there(pod("worthy", cpu="1", priority=9))
    uids = {name: held["metadata"]["uid"] for name, held in story.objects.items()}
    now = Span(story.version, story.version)
    room = RoomDecided(
        story.now_ns, "a1", uids["worthy"], "n1", (uids["one"],), pods=now, nodes=now, budgets=now
    )
    history = story.history()
    return replace(history, rooms=(room,), terms=replace(history.terms, evicts=True))


def with_a_volume(*, of_claim: str = "claim", on: str = "n1", bound: bool = True) -> Story:
    """A pod on n1, bound though its one claim may not be, or not to a volume that n1 reaches."""
    story = Story()
    story.there(node("n1"))
    story.there(node("n2"))
    story.there(using(pod("one"), ["claim"]))
    story.there(claim("claim", "local", "1Gi"), **({"volumeName": "disk"} if bound else {}))
    reference = {"namespace": "default", "name": of_claim, "uid": f"{of_claim}-3"}
    story.there(volume("disk", on, "1Gi", claim=reference))
    story.bind("one", "n1")
    return story


def bound_before_its_claim() -> History:
    return with_a_volume(bound=False).history()


def bound_out_of_reach() -> History:
    return with_a_volume(on="n2").history()


def bound_by_anothers_volume() -> History:
    return with_a_volume(of_claim="other").history()


def promised(before: str | None, *, more: str = "", version: str = "3") -> History:
    """A claim is given to n1."""
    story = Story()
    body = claim("claim", "made", "1Gi")
    if before is not None:
        body["metadata"]["annotations"] = {SELECTED_NODE: before}
    story.there(body)
    story.there(body)
    metadata = {"uid": "claim-0", "annotations": {SELECTED_NODE: "n1"}, "resourceVersion": version}
    request = {"metadata": metadata, **({"spec": {more: "disk"}} if more else {})}
    response = {"metadata": {"resourceVersion": str(story.version + 1)}}
    story.write("patch", CLAIM, "claim", request=request, response=response)
    history = story.history()
    return replace(history, terms=replace(history.terms, binds_volumes=True))


def promised_to_another() -> History:
    return promised("n2")


def promised_however_it_changed() -> History:
    return promised(None, version="")


def more_than_a_promise() -> History:
    return promised(None, more="volumeName")


def volume_of_another() -> History:
    story = Story()
    reference = {"namespace": "default", "name": "theirs", "uid": "theirs-1"}
    story.there(volume("disk", "n1", "1Gi", claim=reference))
    metadata = {"uid": "disk-0", "resourceVersion": "1"}
    wanted = {"namespace": "default", "name": "claim", "uid": "claim-3"}
    request = {"metadata": metadata, "spec": {"claimRef": wanted}}
    response = {"metadata": {"resourceVersion": "2"}}
    story.write("patch", VOLUME, "disk", request=request, response=response)
    history = story.history()
    return replace(history, terms=replace(history.terms, binds_volumes=True))


def writes_the_policy() -> History:
    story = good()
    story.write("patch", CONFIG_MAP, "policy")
    history = story.history()
    return replace(history, terms=replace(history.terms, kept_in="default/policy-status"))


def began(used: str, *, kept: str = "sha256:older", at_rest: str = "") -> History:
    """The policy turned bad, and a process began after that; `kept` was what it could find."""
    story = Story()
    story.there(node("n1"))
    story.there(_keeping(kept))
    story.at_s = 50
    story.there(pod("two"))
    story.bind("two", "n1", policy=used, instance="b2")
    offers = [PolicyOffer(0, "sha256:older"), PolicyOffer(SECOND_NS, HASH)]
    history = story.rests(policy_hash=at_rest) if at_rest else story.history()
    return replace(
        history,
        policies=(*offers, PolicyOffer(40 * SECOND_NS, "")),
        starts=(Start("b2", US, 50 * SECOND_NS),),
        terms=replace(history.terms, kept_in="default/policy-status"),
    )


def _keeping(policy: str) -> dict[str, Any]:
    packed = bytes(32) + zlib.compress(json.dumps({"hash": policy}).encode() + b"\ntext")
    metadata = {"name": "policy-status", "namespace": "default"}
    data = {"last-good": base64.b64encode(packed).decode()}
    return {"kind": "ConfigMap", "metadata": metadata, "binaryData": data}


def began_with_what_was_not_kept() -> History:
    return began(HASH)


def another_in_force_than_kept() -> History:
    return began("sha256:older", at_rest=HASH)


def asked(story: Story, *calls: tuple[str, str]) -> History:
    """A plugin was asked about the pod `two` before its bind, at these points, with these
    answers."""
    uid, at_ns = story.objects["two"]["metadata"]["uid"], 0
    history = story.rests(instance="a1")
    at_ns = history.binds()[-1].received_ns - len(calls)
    answers = [
        PluginCall(at_ns + n, "a1", "Gate", point, uid, "n9", result)
        for n, (point, result) in enumerate(calls)
    ]
    decision = Decision(at_ns, "a1", uid, _node_of(history), HASH, *(Span(9, 9),) * 2)
    return replace(history, plugin_calls=tuple(answers), decisions=(decision,))


def _node_of(history: History) -> str:
    return history.binds()[-1].in_request("target", "name")


def bound_after_a_refusal() -> History:
    return asked(good(), ("Permit", REFUSED))


def bound_while_a_plugin_waits() -> History:
    return asked(good(), ("Permit", WAITS))


def reserved_and_not_given_back() -> History:
    return asked(good(), ("Reserve", DONE))


def given_back_twice() -> History:
    return asked(good(), ("Unreserve", DONE), ("Unreserve", DONE))


PLANTED: list[tuple[str, Callable[[], History]]] = [
    ("I1", twice_bound),
    ("I1", moved),
    ("I2", overcommitted),
    ("I2", overcommitted_by_a_bind_that_was_not_answered),
    ("I3", ports_taken),
    ("I3", on_a_tainted_node),
    ("I3", on_a_cordoned_node),
    ("I3", on_no_node),
    ("I3", against_the_selector),
    ("I3", against_the_policy),
    ("I4", in_no_lane),
    ("I4", unexplained),
    ("I5", starved),
    ("I6", cache_differs),
    ("I7", reservation_left),
    ("I7", attempt_left),
    ("I3", bound_before_its_claim),
    ("I3", bound_out_of_reach),
    ("I3", bound_by_anothers_volume),
    ("I7", left_in_a_map),
    ("I7", still_nominated),
    ("I11", began_with_what_was_not_kept),
    ("I11", another_in_force_than_kept),
    ("I12", another_than_decided),
    ("I12", against_a_budget),
    ("I12", promised_to_another),
    ("I12", promised_however_it_changed),
    ("I12", more_than_a_promise),
    ("I12", volume_of_another),
    ("I12", writes_the_policy),
    ("I8", bound_without_leading),
    ("I8", bound_after_the_lease_ran_out),
    ("I8", bound_long_after_the_server_went_on),
    ("I8", bound_while_another_led),
    ("I10", bound_gated),
    ("I10", bound_deleting),
    ("I10", bound_anothers),
    ("I10", asked_again_for_a_bound_one),
    ("I11", unknown_policy),
    ("I11", back_to_an_older_policy),
    ("I12", deletes_a_pod),
    ("I12", patches_a_volume),
    ("I12", evicts_an_equal),
    ("I12", evicts_without_a_uid),
    ("I13", would_fit),
    ("I13", binds_at_rest),
    ("I13", nobody_leads),
    ("I14", bound_after_a_refusal),
    ("I14", bound_while_a_plugin_waits),
    ("I14", reserved_and_not_given_back),
    ("I14", given_back_twice),
]


def test_a_good_history_violates_nothing() -> None:
    history = whole()
    assert len(history.binds()) == 2
    assert violations(history) == []


def test_a_bind_that_did_not_land_is_not_judged_by_where_the_pod_is() -> None:
    story = good()
    story.there(pod("three"))
    story.bind("three", "n1", code=504)
    story.bind("three", "n2")
    history = story.history()
    timeline = Timeline(history)
    uid = story.objects["three"]["metadata"]["uid"]
    assert timeline.bound_by[uid].in_request("target", "name") == "n2"
    assert violations(history) == []


@pytest.mark.parametrize(
    ("invariant", "plant"), PLANTED, ids=[planted[1].__name__ for planted in PLANTED]
)
def test_a_planted_violation_is_found(invariant: str, plant: Callable[[], History]) -> None:
    assert invariant in found(plant())


def test_every_invariant_has_a_planted_violation() -> None:
    planted = {invariant for invariant, _ in PLANTED} | {"I9"}
    assert planted == OF_HISTORY.keys() | OF_TIMELINE.keys() | {"I9"}
    assert len(planted) == 14


def test_a_stopped_server_receives_late_what_was_sent_in_time() -> None:
    story = good()
    began_ns = story.now_ns
    story.at_s += 30
    stopped = Standstill(began_ns, story.now_ns)
    story.there(pod("three"))
    story.bind("three", "n2")
    assert found(story.history()) == {"I8"}
    assert found(replace(story.history(), standstills=(stopped,))) == set()


def test_a_decision_of_the_older_policy_may_be_bound_after_one_of_the_newer() -> None:
    assert "I11" in found(back_to_an_older_policy(3, 4))
    assert "I11" not in found(back_to_an_older_policy(4, 3))


def test_an_unseen_bind_of_another_excuses_too_much() -> None:
    story = good()
    story.there(pod("theirs", cpu="1", scheduler_name="another"))
    story.there(pod("three", cpu="1"))
    story.bind("three", "n2", seen=story.version)
    seen = story.version - 1
    story.bind("theirs", "n2", user=THEM)
    assert found(story.history()) == set()
    # The other way round it counts: theirs was there to be seen, or it came unseen.
    story = good()
    story.there(pod("theirs", cpu="1", scheduler_name="another"))
    story.there(pod("three", cpu="1"))
    seen = story.version
    story.bind("theirs", "n2", user=THEM)
    story.bind("three", "n2", seen=seen)
    assert found(story.history()) == set()
    story.writes[-1] = replace(
        story.writes[-1],
        request={
            **(story.writes[-1].request or {}),
            "metadata": {
                "uid": story.objects["three"]["metadata"]["uid"],
                "annotations": {
                    "kpolicy.dev/decision-id": "a1-4",
                    "kpolicy.dev/snapshot-rv": str(seen + 1),
                    "kpolicy.dev/policy-hash": "sha256:good",
                },
            },
        },
    )
    assert found(story.history()) == {"I2"}


def test_where_volumes_are_bound_they_may_be_promised() -> None:
    assert found(promised(None)) == set()
    assert found(promised("n1")) == set()


def test_a_pod_whose_claims_are_bound_may_be_bound() -> None:
    assert found(with_a_volume(of_claim="claim").history()) == set()


def test_a_process_may_begin_with_what_was_kept_or_is_wanted() -> None:
    assert found(began("sha256:older")) == set()
    assert found(began(HASH, kept=HASH)) == set()
    assert found(began("sha256:older", at_rest="sha256:older")) == set()


def test_a_budget_may_be_broken_where_nothing_else_makes_room() -> None:
    assert found(against_a_budget(needed=True)) == set()


def test_a_pod_of_higher_priority_may_evict() -> None:
    assert found(evicts(100, good().objects["one"]["metadata"]["uid"])) == set()


def test_a_node_that_shrank_unseen_excuses_too_much() -> None:
    story = good()
    story.there(pod("three", cpu="1"))
    seen = story.version
    story.change("n2", status={"allocatable": {"cpu": "500m", "memory": "1Gi", "pods": "9"}})
    story.bind("three", "n2", seen=seen)
    assert found(story.history()) == set()
    story.there(pod("four", cpu="100m"))
    story.bind("four", "n2")
    assert found(story.history()) == {"I2"}


def test_a_decision_log_is_believed_before_the_annotation() -> None:
    story = good()
    story.there(pod("three", cpu="1", scheduling_gates=["wait"]))
    gated = story.version
    story.change("three", schedulingGates=None)
    story.bind("three", "n2")
    assert found(story.history()) == set()
    span = Span(gated, gated)
    uid = story.objects["three"]["metadata"]["uid"]
    at_ns = story.now_ns - 1
    decision = Decision(at_ns, "a1", uid, "n2", "sha256:good", pods=span, nodes=span)
    assert found(replace(story.history(), decisions=(decision,))) == {"I10"}


def test_histories_are_compared_to_the_byte() -> None:
    first, second = history_lines(whole()), history_lines(whole())
    assert list(same(first, second)) == []
    (violation,) = same(first, history_lines(moved()))
    assert violation.invariant == "I9"
    (longer,) = same(first, first + b"\nmore")
    assert "longer" in longer.text


def after_a_bind_of_another(*, is_newest: bool, skew_s: float) -> set[str]:
    """Theirs was written before our snapshot's version, which is its own or that of a node."""
    story = good()
    story.there(pod("theirs", cpu="1", scheduler_name="another"))
    story.there(pod("three", cpu="1"))
    story.bind("theirs", "n2", user=THEM)
    if not is_newest:
        story.change("n1", unschedulable=False)
    story.bind("three", "n2")
    history = story.history()
    return found(replace(history, terms=replace(history.terms, skew_s=skew_s)))


def test_an_event_that_the_snapshot_had_seen_excuses_nothing() -> None:
    assert after_a_bind_of_another(is_newest=True, skew_s=60.0) == {"I2"}
    assert after_a_bind_of_another(is_newest=False, skew_s=60.0) == set()
    assert after_a_bind_of_another(is_newest=False, skew_s=0.0) == {"I2"}


def test_resources_that_extenders_count_are_not_counted_here() -> None:
    story = Story()
    story.there(node("n1"))
    asks = pod("one")
    asks["spec"]["containers"][0]["resources"] = {"requests": {"example.com/licence": "1"}}
    story.there(asks)
    story.bind("one", "n1")
    history = story.history()
    assert found(history) == {"I2"}
    assert found(replace(history, terms=replace(history.terms, ignored=("example.com/",)))) == set()


def test_an_invariant_without_input_is_known() -> None:
    history = replace(whole(), trouble_free=True)
    expected = {*OF_HISTORY, *OF_TIMELINE} - {"I14"}
    assert without_input(history, sorted(expected)) == []
    blind = without_input(replace(history, at_rest=None, policies=()), sorted(expected))
    assert blind == ["I11", "I4", "I6", "I7"]
