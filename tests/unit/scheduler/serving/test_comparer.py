"""Which differences between the API server and the scheduler count, and which do not."""

from __future__ import annotations

import json

import pytest

from kpolicy.cluster.watch.listing import Roster, RosterPod
from kpolicy.scheduler.serving.comparer import Difference, Holdings, Side, compare

UID, KEY = "u1", "ns/p"


def theirs(**fields: object) -> Roster:
    pod = {"key": KEY, "scheduler": "kpolicy", **fields}
    return Roster(frozenset({"n1"}), {UID: RosterPod(**pod)})  # type: ignore[arg-type]


def ours(
    node: str = "", *, assumed: bool = False, nominated: str = "", nodes: tuple[str, ...] = ("n1",)
) -> Holdings:
    lines = [list(nodes), [UID, KEY, node, assumed, nominated, "kpolicy"]]
    return Holdings.read("\n".join(map(json.dumps, lines)).encode())


NOBODY = Holdings.read(b'["n1"]\n')
NO_ROSTER = Roster(frozenset({"n1"}), {})
QUEUED = {UID: KEY}


def found(roster: Roster, holdings: Holdings, queued: dict[str, str]) -> list[Difference]:
    return compare(roster, holdings, queued, lambda name: name == "kpolicy")


@pytest.mark.parametrize(
    ("roster", "holdings", "queued"),
    [
        (theirs(), ours(), QUEUED),
        (theirs(node="n1"), ours("n1"), {}),
        (theirs(nominated="n1"), ours(nominated="n1"), QUEUED),
        # A bind is under way, before and after the API server has heard of it.
        (theirs(), ours("n1", assumed=True), QUEUED),
        (theirs(node="n1"), ours("n1", assumed=True), QUEUED),
        (theirs(scheduler="other"), ours(), {}),
        (theirs(is_leaving=True), ours(), {}),
        (theirs(is_leaving=True), ours(), QUEUED),
    ],
)
def test_what_agrees(roster: Roster, holdings: Holdings, queued: dict[str, str]) -> None:
    assert found(roster, holdings, queued) == []


@pytest.mark.parametrize(
    ("roster", "holdings", "queued", "difference"),
    [
        (theirs(), NOBODY, QUEUED, Difference("pods", Side.MISSED, KEY, UID)),
        (NO_ROSTER, ours(), {}, Difference("pods", Side.REDUNDANT, KEY, UID)),
        (
            theirs(node="n1"),
            ours("n2"),
            {},
            Difference("places", Side.DIFFERENT, KEY, UID, "n1", "n2"),
        ),
        (theirs(), ours("n1"), QUEUED, Difference("places", Side.DIFFERENT, KEY, UID, "", "n1")),
        (
            theirs(node="n1"),
            ours("n2", assumed=True),
            QUEUED,
            Difference("places", Side.DIFFERENT, KEY, UID, "n1", "n2"),
        ),
        (
            theirs(nominated="n1"),
            ours(),
            QUEUED,
            Difference("nominations", Side.MISSED, KEY, UID, "n1"),
        ),
        (
            theirs(),
            ours(nominated="n1"),
            QUEUED,
            Difference("nominations", Side.REDUNDANT, KEY, UID, "", "n1"),
        ),
        (theirs(), ours(), {}, Difference("queue", Side.MISSED, KEY, UID)),
        (
            theirs(node="n1"),
            ours("n1"),
            QUEUED,
            Difference("queue", Side.REDUNDANT, KEY, UID, "n1"),
        ),
        (
            theirs(),
            ours(nodes=()),
            QUEUED,
            Difference("nodes", Side.MISSED, "n1"),
        ),
        (
            theirs(),
            ours(nodes=("n1", "n2")),
            QUEUED,
            Difference("nodes", Side.REDUNDANT, "n2"),
        ),
    ],
)
def test_what_differs(
    roster: Roster, holdings: Holdings, queued: dict[str, str], difference: Difference
) -> None:
    assert found(roster, holdings, queued) == [difference]


def test_a_pod_recreated_under_its_name_is_another_pod() -> None:
    roster = Roster(frozenset({"n1"}), {"u2": RosterPod(KEY, scheduler="kpolicy")})
    sides = {(finding.what, finding.side, finding.uid) for finding in found(roster, ours(), QUEUED)}
    assert sides == {
        ("pods", Side.MISSED, "u2"),
        ("pods", Side.REDUNDANT, UID),
        ("queue", Side.MISSED, "u2"),
        ("queue", Side.REDUNDANT, UID),
    }
