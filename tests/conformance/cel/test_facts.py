"""The catalogue of facts of the front end, and the engine's table: the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kpolicy.engine import expression_facts
from kpolicy.policy.cel.facts import API_ROOTS, CATALOGUE, PATHS_ONLY, Member, ObjectType
from kpolicy.policy.cel.types import STRING


class Fact(NamedTuple):
    arguments: tuple[str, ...]
    result: str
    column: str


# Below a path of the API, the engine has rows only for fields that it holds anyway.
API_PATHS = tuple(f"{root}.{part}" for root in API_ROOTS for part in ("metadata", "spec", "status"))


def test_both_have_the_same_facts() -> None:
    compared = 0
    front_end, engine = dict(of_front_end()), of_engine()
    for name, row in engine.items():
        assert name in front_end, f"the front end does not have {name}"
        fact, wanted = row, front_end[name]
        if is_below_api_path(name) or not name.startswith("node."):
            # The column of an API path depends on the values that the nodes have; what is the same
            # for all nodes needs none.
            wanted, fact = wanted._replace(column=""), fact._replace(column="")
        assert fact == wanted, name
        compared += 1
    assert [name for name in front_end if not is_known(name, engine)] == []
    assert compared > 100


def test_a_name_of_the_api_is_answered_by_path() -> None:
    engine = of_engine()
    assert all(path in engine for path in API_PATHS)
    assert "node.status.nodeInfo.kernelVersion" in dict(of_front_end())


def of_engine() -> dict[str, Fact]:
    rows = {
        name: Fact(tuple(arguments), result, column)
        for name, arguments, result, column, *_ in expression_facts()
    }
    assert len(rows) == len(expression_facts()), "two rows have one name"
    return rows


def is_below_api_path(name: str) -> bool:
    return any(f"{name}.".startswith(f"{path}.") for path in API_PATHS)


def is_known(name: str, engine: dict[str, Fact]) -> bool:
    return name in engine or is_below_api_path(name)


def of_front_end() -> Iterator[tuple[str, Fact]]:
    for name, root in CATALOGUE.roots.items():
        if root.type in CATALOGUE.types:
            yield from below(name, CATALOGUE.types[root.type], (), (root.type,))
        else:
            yield name, Fact((), root.type, "")


def below(
    path: str, kind: ObjectType, before: tuple[str, ...], around: tuple[str, ...]
) -> Iterator[tuple[str, Fact]]:
    """The facts below a path; types that hold themselves are walked once."""
    for name, member in kind.members.items():
        if member.by_api_path and path not in API_ROOTS:
            continue
        if member.told_of and path not in member.told_of:
            continue
        full = f"{path}.{name}"
        arguments = before + arguments_of(member)
        if full not in PATHS_ONLY:
            yield full, Fact(arguments, str(member.result), "" if member.entries else member.column)
        if member.entries:
            entry = member.result.parameters[-1]
            yield f"{full}[]", Fact((*arguments, str(STRING)), str(entry), member.column)
        described = CATALOGUE.types.get(member.result.name)
        if described is not None and described.name not in around:
            yield from below(full, described, arguments, (*around, described.name))


def arguments_of(member: Member) -> tuple[str, ...]:
    if member.of_root:
        return ()
    needed = len(member.params) - member.optional
    return tuple(
        str(kind) + ("?" if position >= needed else "")
        for position, kind in enumerate(member.params)
    )
