"""One ConfigMap by list and watch: which keys are read, and which changes are reported."""

from __future__ import annotations

import json
from typing import Any

from kpolicy.scheduler.delivery.config_maps import ConfigMapSink, HeldConfigMap
from kpolicy.scheduler.delivery.sources import policies_of
from kpolicy.scheduler.options import ConfigMapName, config_map_name
from kpolicy.scheduler.problem_codes import Problem

NAME = ConfigMapName("policies", "mine")


def item(data: Any, version: str = "5", name: str = "mine") -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": "u", "resourceVersion": version}, "data": data}


def page(*items: dict[str, Any], more: str = "") -> bytes:
    metadata = {"resourceVersion": "7", "continue": more}
    return json.dumps({"metadata": metadata, "items": list(items)}).encode()


def line(kind: str, object_: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": object_}).encode() + b"\n"


class ListenedSink:
    def __init__(self) -> None:
        self.times = 0
        self.sink = ConfigMapSink(NAME, self._hear)

    def _hear(self) -> None:
        self.times += 1

    async def listed(self, *bodies: bytes) -> None:
        await self.sink.list_begin("configmaps")
        for body in bodies:
            await self.sink.list_page("configmaps", body)
        await self.sink.list_end("configmaps", "7")


async def test_a_change_of_texts_is_reported_and_of_nothing_else() -> None:
    listened = ListenedSink()
    await listened.listed(page())
    assert (listened.sink.held, listened.times) == (None, 0)
    await listened.listed(page(item({"a": "1"}, name="other"), item({"a": "1"})))
    assert listened.times == 1
    await listened.sink.lines("configmaps", line("MODIFIED", item({"a": "1"}, "9")))
    assert listened.times == 1, "an annotation, or nothing"
    read = await listened.sink.lines("configmaps", line("MODIFIED", item({"a": "2"}, "10")))
    assert (listened.times, read.resource_version) == (2, "10")
    await listened.sink.lines("configmaps", line("DELETED", item({"a": "2"}, "11")))
    assert (listened.sink.held, listened.times, listened.sink.last_uid) == (None, 3, "u")
    await listened.sink.lines("configmaps", line("ADDED", item(None, "12")))
    assert (listened.sink.held is not None, listened.times) == (True, 4), (
        "an empty ConfigMap is not a deleted one"
    )


async def test_a_list_that_does_not_name_it_says_that_it_is_gone() -> None:
    listened = ListenedSink()
    await listened.listed(page(item({"a": "1"})))
    await listened.listed(b"not a list", page())
    assert listened.sink.held is not None, "an unreadable list must not delete objects"
    await listened.listed(page())
    assert listened.sink.held is None


async def test_words_that_the_watch_needs_are_read() -> None:
    listened = ListenedSink()
    bookmark = {"metadata": {"resourceVersion": "8"}}
    read = await listened.sink.lines("configmaps", line("BOOKMARK", bookmark))
    assert read.resource_version == "8"
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    read = await listened.sink.lines("configmaps", line("ERROR", gone))
    assert read.status is not None
    assert (read.status.code, read.status.reason) == (410, "Expired")
    for bad in (b"{\n", b"[]\n", b'{"type":"ADDED"}\n', b"\xff\n"):
        read = await listened.sink.lines("configmaps", bad)
        assert read.status is not None
        assert read.status.code == 500
    assert listened.times == 0


def held(**data: str) -> HeldConfigMap:
    return HeldConfigMap(NAME, "u", "1", data, "d")


def test_keys_that_end_as_policies_do_are_policies_each_with_its_own_lines() -> None:
    sources = policies_of(
        held(**{"b.yaml": "b", "policy.cfg": "c", "note": "n", "a.json": "a"}), ""
    )
    assert isinstance(sources, tuple)
    assert [source.name for source in sources] == [
        f"configmap/policies/mine/{key}" for key in ("a.json", "b.yaml", "policy.cfg")
    ]
    assert not any(source.is_named for source in sources), "other kinds must be skipped"
    named = policies_of(held(note="n", other="o"), "note")
    assert isinstance(named, tuple)
    (only,) = named
    assert (only.text, only.is_named) == ("n", True)


def test_without_a_policy_it_says_what_is_there() -> None:
    problem = policies_of(held(note="n"), "")
    assert isinstance(problem, Problem)
    assert "carries no policy" in problem.message
    problem = policies_of(held(note="n", other="o"), "policy.yaml")
    assert isinstance(problem, Problem)
    assert (problem.code, problem.hint) == ("KPS101", "it has: note, other")


def test_names_as_people_write_them() -> None:
    assert config_map_name("a/b", "own", "--x") == ConfigMapName("a", "b")
    assert config_map_name("b", "own", "--x") == ConfigMapName("own", "b")
    assert config_map_name("a/b.c#k.yaml", "own", "--x") == ConfigMapName("a", "b.c", "k.yaml")
    bad = ("", "a/", "/b", "a/b/c", "A/b", "a/b#", "a/b#k/l", "a/b#..#", "a b", "a/" + "b" * 254)
    for written in bad:
        problem = config_map_name(written, "own", "--x")
        assert isinstance(problem, Problem), written
        assert problem.code == "KPS202"
