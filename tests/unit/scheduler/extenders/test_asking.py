"""The combined answer of extenders: order, weights, and effects of a failure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kpolicy.cluster.fenced_request import always
from kpolicy.engine import KeptNode, RefusedNode
from kpolicy.policy.models.scheduling_policy import Extender
from kpolicy.scheduler.extenders.asking import Asked, Subject, ask
from kpolicy.scheduler.extenders.in_force import ExtenderClient, Failed, in_order

NODES = ("a", "b", "c")
SUBJECT = Subject(
    b"{}", {name: json.dumps({"metadata": {"name": name}}).encode() for name in NODES}
)


class Scripted(ExtenderClient):
    """Answers by verb, as documents or failures."""

    def __init__(self, answers: Mapping[str, Any], **fields: Any) -> None:
        wanted = {
            "urlPrefix": "http://x/",
            "filterVerb": "filter" if "filter" in answers else "",
            "prioritizeVerb": "prioritize" if "prioritize" in answers else "",
            "weight": 1,
            "nodeCacheCapable": True,
            **fields,
        }
        super().__init__(Extender.model_validate(wanted), api=None)  # type: ignore[arg-type]
        self.answers = answers
        self.asked: list[tuple[str, bytes]] = []

    async def ask(
        self,
        verb: str,
        body: bytes,
        *,
        is_repeatable: bool = True,
        may_send: Callable[[], bool] = always,
    ) -> bytes | Failed:
        self.asked.append((verb, body))
        answer = self.answers[verb]
        return answer if isinstance(answer, Failed) else json.dumps(answer).encode()


def scores(**weight: int) -> list[dict[str, Any]]:
    return [{"Host": name, "Score": score} for name, score in weight.items()]


async def test_each_sees_what_the_ones_before_it_kept() -> None:
    first = Scripted({"filter": {"NodeNames": ["a", "b"], "FailedNodes": {"c": "full"}}})
    second = Scripted(
        {"filter": {"NodeNames": ["b"], "FailedAndUnresolvableNodes": {"a": "never"}}}
    )
    assert await ask([first, second], SUBJECT, NODES) == Asked(
        (KeptNode("b"),), (RefusedNode("c", "full"), RefusedNode("a", "never", True))
    )
    assert json.loads(second.asked[0][1])["NodeNames"] == ["a", "b"]


async def test_who_is_left_with_nothing_asks_no_more() -> None:
    first, second = Scripted({"filter": {"NodeNames": []}}), Scripted({"filter": {}})
    assert await ask([first, second], SUBJECT, NODES) == Asked()
    assert second.asked == []


async def test_unresolvable_counts_before_failed() -> None:
    both = {"NodeNames": ["b", "c"], "FailedNodes": {"a": "x"}}
    extender = Scripted(
        {"filter": both | {"FailedAndUnresolvableNodes": {"a": "y", "nowhere": "z"}}}
    )
    asked = await ask([extender], SUBJECT, NODES)
    assert asked.refused == (RefusedNode("a", "y", True),)


async def test_scores_are_weighed_and_summed_up() -> None:
    extender = Scripted({"prioritize": scores(a=10, b=1, nowhere=7)}, weight=5)
    two = Scripted({"prioritize": scores(b=2, c=-1)}, weight=3)
    asked = await ask([extender, two], SUBJECT, NODES)
    assert asked.kept == (KeptNode("a", 50), KeptNode("b", 11), KeptNode("c", -3))


async def test_one_node_alone_is_not_scored() -> None:
    extender = Scripted({"filter": {"NodeNames": ["b"]}, "prioritize": scores(b=9)})
    assert (await ask([extender], SUBJECT, NODES)).kept == (KeptNode("b"),)
    assert [verb for verb, _ in extender.asked] == ["filter"]


async def test_scores_that_do_not_come_are_none() -> None:
    extender = Scripted({"prioritize": Failed("down")})
    two = Scripted({"prioritize": scores(a=1)}, weight=1)
    assert (await ask([extender, two], SUBJECT, NODES)).kept[0] == KeptNode("a", 1)


async def test_scores_never_leave_sixty_four_bits() -> None:
    extender = Scripted({"prioritize": scores(a=2**62, b=-(2**62))}, weight=1000)
    kept = (await ask([extender], SUBJECT, NODES)).kept
    assert [node.node for node in kept] == list(NODES)
    assert kept[0].score > 0 > kept[1].score
    assert all(abs(node.score) * 10 < 2**63 for node in kept)


@pytest.mark.parametrize("ignorable", [False, True])
async def test_a_failure_ends_the_cycle_unless_it_may_be_ignored(ignorable: bool) -> None:
    for answer in (Failed("down"), {"Error": "down"}):
        extender = Scripted({"filter": answer}, ignorable=ignorable)
        asked = await ask([extender], SUBJECT, NODES)
        if ignorable:
            assert asked == Asked(tuple(map(KeptNode, NODES)))
        else:
            assert asked == Asked(error="down")


async def test_a_node_that_was_not_asked_about_is_an_error() -> None:
    extender = Scripted({"filter": {"NodeNames": ["a", "nowhere"]}})
    assert (await ask([extender], SUBJECT, NODES)).error == (
        'extender "http://x/" claims a filtered node "nowhere" '
        "which is not found in the input node list"
    )


async def test_whole_nodes_go_to_who_does_not_know_them() -> None:
    items = [{"metadata": {"name": name}} for name in ("c", "nowhere", "a", "a")]
    extender = Scripted({"filter": {"Nodes": {"items": items}}}, nodeCacheCapable=False)
    asked = await ask([extender], SUBJECT, NODES)
    assert asked.kept == (KeptNode("c"), KeptNode("a"))
    sent = json.loads(extender.asked[0][1])
    assert [node["metadata"]["name"] for node in sent["Nodes"]["items"]] == list(NODES)


def test_those_that_may_be_ignored_are_asked_last() -> None:
    clients = [Scripted({}, name=name, ignorable=name.startswith("i")) for name in ("i", "a", "b")]
    assert [client.name for client in in_order(clients)] == ["a", "b", "i"]


def test_interest_is_in_what_is_managed() -> None:
    anyone = Scripted({})
    gpus = Scripted({}, managedResources=[{"name": "example.com/gpu"}])
    assert anyone.is_interested(frozenset())
    assert gpus.is_interested(frozenset({"example.com/gpu"}))
    assert not gpus.is_interested(frozenset({"example.com/nic"}))
