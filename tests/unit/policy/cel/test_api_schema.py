"""The packed schema of the API, and that the codec leaves out and converts the same fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from build.cel_api_schema import LEFT_OUT
from kpolicy.policy.cel import api_schema
from kpolicy.policy.cel.facts import API_ROOTS, CATALOGUE
from kpolicy.policy.cel.types import Type

CODEC = Path(__file__).parents[4] / "rust" / "kpolicy-codec" / "src" / "kept.rs"
TYPES = {
    name: dict(field.split(":", 1) for field in fields)
    for line in api_schema.TYPES.replace("\n ", " ").splitlines()
    for name, *fields in [line.split()]
}


def _listed(name: str) -> set[str]:
    found = re.search(rf"const {name}: &\[&str\] = &\[(.*?)\];", CODEC.read_text(), re.DOTALL)
    assert found is not None, name
    return set(re.findall(r'"([^"]+)"', found[1]))


def _paths(kind: str, before: tuple[str, ...] = ()) -> Iterator[tuple[str, str, str]]:
    """Every path below a type: the path, the packed type there, the type it is a field of."""
    for field, packed in TYPES[kind].items():
        path, rest = (*before, field), packed
        while rest[0] in "[{":
            path, rest = (*path, "*"), rest[1:]
        yield ".".join(path), rest, kind
        if rest in TYPES:
            yield from _paths(rest, path)


def _all() -> list[tuple[str, str, str]]:
    return [row for root in ("Pod", "Node", "Namespace") for row in _paths(root)]


def test_the_codec_converts_every_time_and_every_quantity() -> None:
    rows = _all()
    assert len(rows) > 500
    assert _listed("TIMES") == {path for path, packed, _ in rows if packed == "t"}
    assert _listed("QUANTITIES") == {path for path, packed, _ in rows if packed == "q"}


def test_the_codec_never_keeps_what_is_left_out_here() -> None:
    owners = {"Pod": {""}, "Node": {""}, "Namespace": {""}}
    for path, packed, _ in _all():
        owners.setdefault(packed, set()).add(f"{path}.")
    left_out = {
        f"{owner}{field}"
        for kind, fields in LEFT_OUT.items()
        for owner in owners[kind]
        for field in fields
    }
    never = _listed("NEVER")
    assert never == left_out
    assert not never & {path for path, _, _ in _all()}


def test_the_roots_have_their_parts_and_every_type_is_there() -> None:
    for root in API_ROOTS:
        described = CATALOGUE.types[CATALOGUE.roots[root].type]
        assert {"metadata", "spec", "status"} <= set(described.members), root
    fields = 0
    for kind in CATALOGUE.types.values():
        for member in kind.members.values():
            inner: Type = member.result
            while inner.parameters:
                inner = inner.parameters[-1]
            fields += 1
            assert inner.name in CATALOGUE.types or "." not in inner.name, inner
    assert fields > 400
