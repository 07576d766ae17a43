"""Extenders on victims: the order, other victims, and effects of a failure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kpolicy.engine import (
    CandidateNode,
    Candidates,
    Located,
    RemainingCandidate,
    RemainingCandidates,
    Victim,
)
from kpolicy.scheduler.extenders.asking import Trimming
from kpolicy.scheduler.extenders.in_force import Failed
from tests.unit.scheduler.extenders.test_asking import Scripted

OFFERED = Candidates(
    7,
    [
        CandidateNode("n2", [Victim("c", "d", "pod-c")], 1),
        CandidateNode("n1", [Victim("a", "d", "pod-a"), Victim("b", "d", "pod-b")]),
    ],
)


def answer(**nodes: list[str]) -> dict[str, Any]:
    named = {
        node: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": 0}
        for node, uids in nodes.items()
    }
    return {"NodeNameToMetaVictims": named}


def preempting(answers: object, **fields: Any) -> Scripted:
    return Scripted({"preempt": answers}, preemptVerb="preempt", **fields)


async def trimmed(*clients: Scripted, gone: tuple[str, ...] = ()) -> RemainingCandidates:
    left = await asked(*clients, gone=gone)
    assert not isinstance(left, Failed)
    return left


async def asked(*clients: Scripted, gone: tuple[str, ...] = ()) -> RemainingCandidates | Failed:
    async def located(uids: list[str]) -> list[Located]:
        return [Located(uid, "d", f"pod-{uid}", "n1") for uid in uids if uid == "other"]

    async def read(pod: Located) -> bytes | Failed | None:
        if pod.uid in gone:
            return None
        return Failed("no answer") if pod.uid == "c" else f'{{"name":"{pod.name}"}}'.encode()

    return await Trimming(b'{"p":1}', OFFERED, located=located, read=read).ask(clients)


async def test_each_sees_what_the_ones_before_it_left() -> None:
    first, plain = preempting(answer(n1=["a"])), Scripted({})
    second = preempting(answer(n1=["other", "other"]))
    assert await trimmed(first, plain, second) == RemainingCandidates(
        7, "", [RemainingCandidate("n1", ["other"])]
    )
    assert plain.asked == []
    assert json.loads(first.asked[0][1]) == {
        "Pod": {"p": 1},
        "NodeNameToVictims": None,
        "NodeNameToMetaVictims": {
            "n1": {"Pods": [{"UID": "a"}, {"UID": "b"}], "NumPDBViolations": 0},
            "n2": {"Pods": [{"UID": "c"}], "NumPDBViolations": 1},
        },
    }
    assert list(json.loads(second.asked[0][1])["NodeNameToMetaVictims"]) == ["n1"]


async def test_one_that_does_not_know_the_pods_gets_them_whole() -> None:
    knows, whole = preempting(answer(n1=["b", "other"])), preempting({}, nodeCacheCapable=False)
    assert await trimmed(knows, whole) == RemainingCandidates(7, "", [])
    assert json.loads(whole.asked[0][1]) == {
        "Pod": {"p": 1},
        "NodeNameToVictims": {
            "n1": {"Pods": [{"name": "pod-b"}, {"name": "pod-other"}], "NumPDBViolations": 0}
        },
        "NodeNameToMetaVictims": None,
    }


async def test_who_is_left_with_nothing_asks_no_more() -> None:
    second = preempting(answer(n1=["a"]))
    assert await trimmed(
        preempting({"nodeNameToMetaVictims": None}), second
    ) == RemainingCandidates(7, "", [])
    assert second.asked == []


@pytest.mark.parametrize(
    ("expected", "why"),
    [
        (Failed("it is down"), "it is down"),
        ([], "extender 'http://x': the answer is no object: list where an object is due"),
        (answer(n1=["a"], n3=["a"]), 'nodeinfo not found for node name "n3"'),
        (
            answer(n2=["a"]),
            (
                "extender: http://x/ claims to preempt pod (UID: &{a}) on node: n2, but the pod is "
                "not found on that node"
            ),
        ),
    ],
)
async def test_a_failure_ends_it_unless_it_may_fail(expected: object, why: str) -> None:
    assert await trimmed(preempting(expected)) == RemainingCandidates(7, why, [])
    left = await trimmed(preempting(expected, ignorable=True))
    assert left.failure == ""
    assert left.nodes is not None
    assert {node.node: node.victims for node in left.nodes} == {"n1": ["a", "b"], "n2": ["c"]}


async def test_a_node_without_victims_is_a_failure_or_left_out() -> None:
    why = 'expected at least one victim pod on node "n1"'
    assert await trimmed(preempting(answer(n1=[], n2=["c"]))) == RemainingCandidates(7, why, [])
    left = await trimmed(preempting(answer(n1=[], n2=["c"]), ignorable=True))
    assert left == RemainingCandidates(7, "", [RemainingCandidate("n2", ["c"])])
    null = {"NodeNameToMetaVictims": {"n1": None}}
    assert await trimmed(preempting(null)) == RemainingCandidates(7, why, [])


@pytest.mark.parametrize("ignorable", [False, True])
async def test_victims_that_cannot_be_read_are_no_failure_of_an_extender(ignorable: bool) -> None:
    whole = preempting(answer(), nodeCacheCapable=False, ignorable=ignorable)
    assert await asked(whole) == Failed("no answer")
    assert whole.asked == []


async def test_a_victim_that_went_by_itself_is_shown_to_nobody_and_goes_all_the_same() -> None:
    """The engine has not heard of it yet: without it, it would not find the room."""
    whole = preempting(answer(n1=["b"]), nodeCacheCapable=False)
    knows = preempting(answer(n1=["b"]))
    left = await trimmed(whole, knows, gone=("a", "c"))
    assert left.failure == ""
    assert left.nodes is not None
    assert {node.node: sorted(node.victims) for node in left.nodes} == {
        "n1": ["a", "b"],
        "n2": ["c"],
    }
    shown = json.loads(whole.asked[0][1])["NodeNameToVictims"]
    assert shown == {"n1": {"Pods": [{"name": "pod-b"}], "NumPDBViolations": 0}}
    shown = json.loads(knows.asked[0][1])["NodeNameToMetaVictims"]
    assert shown == {"n1": {"Pods": [{"UID": "b"}], "NumPDBViolations": 0}}


async def test_a_node_that_is_not_left_loses_those_who_went_with_it() -> None:
    whole = preempting(answer(), nodeCacheCapable=False)
    left = await trimmed(whole, gone=("a", "c"))
    assert left == RemainingCandidates(7, "", [RemainingCandidate("n2", ["c"], 1)])


async def test_nobody_is_asked_where_all_went() -> None:
    whole = preempting(answer(), nodeCacheCapable=False)
    left = await trimmed(whole, gone=("a", "b", "c"))
    assert whole.asked == []
    assert left.nodes is not None
    assert [node.node for node in left.nodes] == ["n2", "n1"]
