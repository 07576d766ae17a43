"""Each invariant holds of a good history, and finds what is planted in a bad one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kpolicy.testing.builders import node, pod
from tests.invariants.check import OF_HISTORY, OF_TIMELINE, violations
from tests.invariants.determinism import same, told
from tests.invariants.history import Decision, History, PolicyOffer, Span
from tests.unit.invariants.stories import THEM, Story, good


def found(history: History) -> set[str]:
    return {one.invariant for one in violations(history)}


def whole() -> History:
    return good().rests()


def twice_bound() -> History:
    story = good()
    story.bind("one", "n2")
    return story.told()


def moved() -> History:
    story = good()
    story.change("one", nodeName="n2")
    return story.told()


def overcommitted() -> History:
    story = good()
    story.there(pod("three", cpu="1"))
    story.bind("three", "n1")
    return story.told()


def ports_taken() -> History:
    story = Story()
    story.there(node("n1"))
    ports = [{"containerPort": 80, "hostPort": 80}]
    for name in ("one", "two"):
        body = pod(name)
        body["spec"]["containers"][0]["ports"] = ports
        story.there(body)
        story.bind(name, "n1")
    return story.told()


def on_a_tainted_node() -> History:
    story = Story()
    story.there(node("n1", taints=["a=b:NoSchedule"]))
    story.there(pod("one"))
    story.bind("one", "n1")
    return story.told()


def on_a_cordoned_node() -> History:
    story = Story()
    story.there(node("n1", unschedulable=True))
    story.there(pod("one"))
    story.bind("one", "n1")
    return story.told()


def on_no_node() -> History:
    story = Story()
    story.there(pod("one"))
    story.bind("one", "ghost")
    return story.told()


def against_the_selector() -> History:
    story = Story()
    story.there(node("n1"))
    story.there(pod("one", node_selector={"disk": "ssd"}))
    story.bind("one", "n1")
    return story.told()


def against_the_policy() -> History:
    story = good()
    story.there(node("n3", labels={"tier": "spot"}))
    story.there(pod("three"))
    story.bind("three", "n3")
    offer = PolicyOffer(0, "sha256:good", forbids=(("tier", "spot"),))
    return replace(story.told(), policies=(offer,))


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
    return replace(story.told(), trouble_free=True)


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
    return story.told()


def bound_after_the_lease_ran_out() -> History:
    story = good()
    story.at_s += 60
    story.there(pod("three"))
    story.bind("three", "n2")
    return story.told()


def bound_while_another_led() -> History:
    story = good()
    story.lease("b2")
    story.there(pod("three"))
    story.bind("three", "n2")
    return story.told()


def bound_gated() -> History:
    story = good()
    story.there(pod("three", scheduling_gates=["wait"]))
    story.bind("three", "n2", code=409)
    return story.told()


def bound_deleting() -> History:
    story = good()
    story.there(pod("three"))
    story.change("three", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    story.bind("three", "n2", code=409)
    return story.told()


def bound_anothers() -> History:
    story = good()
    story.there(pod("three", scheduler_name="another"))
    story.bind("three", "n2")
    return story.told()


def asked_again_for_a_bound_one() -> History:
    story = good()
    story.bind("one", "n2", code=409)
    return story.told()


def unknown_policy() -> History:
    story = good()
    story.there(pod("three"))
    story.bind("three", "n2", policy="sha256:never-offered")
    return story.told()


def back_to_an_older_policy() -> History:
    story = good()
    for name, policy in (("three", "sha256:newer"), ("four", "sha256:good")):
        story.there(pod(name))
        story.bind(name, "n2", policy=policy)
    offers = (PolicyOffer(0, "sha256:good"), PolicyOffer(1, ""), PolicyOffer(2, "sha256:newer"))
    return replace(story.told(), policies=offers)


def deletes_a_pod() -> History:
    story = good()
    story.write("delete", "pods", "one")
    return story.told()


def patches_a_volume() -> History:
    story = good()
    story.write("patch", "persistentvolumes", "disk")
    return story.told()


def evicts(priority: int, uid: str) -> History:
    story = good()
    story.there(pod("worthy", cpu="1", priority=priority))
    story.at_s += 1
    story.write("delete", "pods", "one", request={"preconditions": {"uid": uid}})
    history = story.told()
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


PLANTED: list[tuple[str, Callable[[], History]]] = [
    ("I1", twice_bound),
    ("I1", moved),
    ("I2", overcommitted),
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
    ("I8", bound_without_leading),
    ("I8", bound_after_the_lease_ran_out),
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
]


def test_a_good_history_violates_nothing() -> None:
    history = whole()
    assert len(history.binds()) == 2
    assert violations(history) == []


@pytest.mark.parametrize(("invariant", "plant"), PLANTED, ids=[one[1].__name__ for one in PLANTED])
def test_a_planted_violation_is_found(invariant: str, plant: Callable[[], History]) -> None:
    assert invariant in found(plant())


def test_every_invariant_has_a_planted_violation() -> None:
    planted = {invariant for invariant, _ in PLANTED} | {"I9"}
    assert planted == OF_HISTORY.keys() | OF_TIMELINE.keys() | {"I9"}
    assert len(planted) == 13


def test_an_unseen_bind_of_another_excuses_too_much() -> None:
    story = good()
    story.there(pod("theirs", cpu="1", scheduler_name="another"))
    story.there(pod("three", cpu="1"))
    story.bind("three", "n2", seen=story.version)
    seen = story.version - 1
    story.bind("theirs", "n2", user=THEM)
    assert found(story.told()) == set()
    # The other way round it counts: theirs was there to be seen, or it came unseen.
    story = good()
    story.there(pod("theirs", cpu="1", scheduler_name="another"))
    story.there(pod("three", cpu="1"))
    seen = story.version
    story.bind("theirs", "n2", user=THEM)
    story.bind("three", "n2", seen=seen)
    assert found(story.told()) == set()
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
    assert found(story.told()) == {"I2"}


def test_where_volumes_are_bound_they_may_be_patched() -> None:
    history = patches_a_volume()
    terms = replace(history.terms, binds_volumes=True)
    assert found(replace(history, terms=terms)) == set()


def test_a_pod_of_higher_priority_may_evict() -> None:
    assert found(evicts(100, good().objects["one"]["metadata"]["uid"])) == set()


def test_a_node_that_shrank_unseen_excuses_too_much() -> None:
    story = good()
    story.there(pod("three", cpu="1"))
    seen = story.version
    story.change("n2", status={"allocatable": {"cpu": "500m", "memory": "1Gi", "pods": "9"}})
    story.bind("three", "n2", seen=seen)
    assert found(story.told()) == set()
    story.there(pod("four", cpu="100m"))
    story.bind("four", "n2")
    assert found(story.told()) == {"I2"}


def test_a_decision_log_is_believed_before_the_annotation() -> None:
    story = good()
    story.there(pod("three", cpu="1", scheduling_gates=["wait"]))
    gated = story.version
    story.change("three", schedulingGates=None)
    story.bind("three", "n2")
    assert found(story.told()) == set()
    span = Span(gated, gated)
    uid = story.objects["three"]["metadata"]["uid"]
    at_ns = story.now_ns - 1
    decision = Decision(at_ns, "a1", uid, "n2", "sha256:good", pods=span, nodes=span)
    assert found(replace(story.told(), decisions=(decision,))) == {"I10"}


def test_histories_are_compared_to_the_byte() -> None:
    first, second = told(whole()), told(whole())
    assert list(same(first, second)) == []
    (violation,) = same(first, told(moved()))
    assert violation.invariant == "I9"
    (longer,) = same(first, first + b"\nmore")
    assert "longer" in longer.text
