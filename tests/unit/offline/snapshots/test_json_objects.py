"""Objects in JSON text, also where it is cut short."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kpolicy.offline.snapshots.json_objects import Broken, objects

POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
NODE: dict[str, Any] = {"kind": "Node", "metadata": {"name": "n"}}
# `items` that are none of a list: at the top of an object of some kind, and inside of one.
CONFIG: dict[str, Any] = {"kind": "Thing", "items": [1], "spec": {"items": [{"kind": "Pod"}]}}


def read(*documents: object) -> list[Any]:
    return list(objects("\n".join(json.dumps(document) for document in documents).encode()))


@pytest.mark.parametrize(
    ("documents", "found"),
    [
        ([], []),
        ([POD, NODE], [POD, NODE]),
        ([[POD, [NODE]]], [POD, NODE]),
        ([{"apiVersion": "v1", "items": [POD, NODE], "kind": "List"}], [POD, NODE]),
        ([{"kind": "PodList", "items": [{"metadata": {}}]}], [{"kind": "Pod", "metadata": {}}]),
        ([{"items": [{"metadata": {}}], "kind": "PodList"}], [{"kind": "Pod", "metadata": {}}]),
        (
            [{"kind": "List", "items": [{"kind": "NodeList", "items": [{"metadata": {}}]}]}],
            [{"kind": "Node", "metadata": {}}],
        ),
        ([CONFIG], [CONFIG]),
        ([{"kind": "List", "items": [7, "x", None]}, 5], []),
    ],
)
def test_documents_and_lists_give_objects(documents: list[object], found: list[object]) -> None:
    assert read(*documents) == found


def test_a_text_cut_anywhere_gives_what_came_before_and_says_where() -> None:
    items = [
        {**POD, "metadata": {"labels": {"name": "no"}, "name": f"p{n}", "namespace": "x"}}
        for n in range(5)
    ]
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=1)
    whole = list(objects(text.encode()))
    assert whole == items
    looked_at = 0
    for cut in range(1, len(text)):
        *found, broken = objects(text[:cut].encode())
        assert isinstance(broken, Broken), cut
        assert found == items[: len(found)]
        looked_at += 1
        if text[:cut].endswith('"namespace": "x"\n   }'):
            assert broken.object == f"Pod x/p{len(found)} (items[{len(found)}])"
    assert looked_at > 500


def test_what_is_lost_is_named_as_far_as_it_can_be() -> None:
    def lost(text: str) -> Broken:
        *_, broken = objects(text.encode())
        assert isinstance(broken, Broken)
        return broken

    assert lost('{"kind": "Pod", "metadata": {"name": "a"}, "spec"') == Broken(
        "Pod a (the object)", 1
    )
    assert lost('{"items": [\n\n{"kind": "Pod", "meta') == Broken("items[0]", 3)
    assert lost('{"items": [{"kind": "Pod", "metadata": {"na') == Broken("Pod (items[0])", 1)
    assert lost("nonsense") == Broken("the object", 1)
    assert lost("[" * 100_000) == Broken("the object", 1)
