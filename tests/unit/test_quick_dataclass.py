"""Classes of the quick decorator against those of the standard one: nobody can tell them apart."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from functools import cache, partial
from typing import Any, TypeAlias

import pytest

from kpolicy import quick_dataclass

Decorator: TypeAlias = Any
# Makes one of the classes below with the decorator that is asked about, once.
Make: TypeAlias = Callable[[Callable[[Decorator], Any]], Any]


def point(dataclass: Decorator) -> Any:
    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list)
        seen: int = field(default=0, compare=False, repr=False)

        def moved(self) -> Point:
            return dataclasses.replace(self, x=self.x + 1)

    return Point


def child(dataclass: Decorator) -> Any:
    base: Any = point(dataclass)

    @dataclass(frozen=True, slots=True)
    class Child(base):  # type: ignore[misc]
        """With a docstring of its own."""

        z: int = 3

        def __repr__(self) -> str:
            return "a child"

    return Child


def named(dataclass: Decorator) -> Any:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Named:
        name: str = ""
        size: int  # type: ignore[misc]

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self))

        def __hash__(self) -> int:
            return 7

    return Named


def counted(dataclass: Decorator) -> Any:
    @dataclass(frozen=True, slots=True)
    class Counted:
        size: int

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError(self.size)

    return Counted


def changing(dataclass: Decorator) -> Any:
    @dataclass(slots=True)
    class Changing:
        size: float
        seen: list[str] = field(default_factory=list, compare=False)

        def __post_init__(self) -> None:
            self.seen.append(f"{self.size}")

    return Changing


def ordered(dataclass: Decorator) -> Any:
    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        size: int

    return Ordered


NAN = float("nan")


def changed(instance: Any, size: float) -> Any:
    instance.size = size
    return instance


def outcome(of: Callable[[], Any]) -> str:
    """What it gives, or how it fails."""
    try:
        return repr(of())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


QUESTIONS: dict[str, Callable[[Make], Any]] = {
    "repr": lambda make: make(point)(1),
    "defaults are made anew": lambda make: make(point)(1).tags is make(point)(1).tags,
    "equal": lambda make: make(point)(1, seen=1) == make(point)(1, seen=2),
    "not equal": lambda make: make(point)(1) == make(point)(2),
    "not equal to another class": lambda make: make(point)(1) == make(child)(1),
    "hash of what has none": lambda make: hash(make(point)(1)),
    "hash": lambda make: hash(make(point)(1, tags=())) == hash((1, 2, ())),
    "assign": lambda make: setattr(make(point)(1), "x", 2),
    "delete": lambda make: delattr(make(point)(1), "x"),
    "missing argument": lambda make: make(point)(),
    "unknown argument": lambda make: make(point)(1, w=1),
    "replace": lambda make: make(point)(1).moved(),
    "as a dict": lambda make: dataclasses.asdict(make(point)(1)),
    "copy": lambda make: copy.copy(make(point)(1, 5)),
    "no dict of its own": lambda make: hasattr(make(point)(1), "__dict__"),
    "parameters": lambda make: list(inspect.signature(make(named)).parameters),
    "match arguments": lambda make: make(point).__match_args__,
    "an own repr": lambda make: make(child)(1, z=4),
    "own equality and hash": lambda make: (
        make(named)(size=1) == make(named)(size=2),
        hash(make(named)(size=1)),
    ),
    "by name only": lambda make: make(named)(1),
    "docstring": lambda make: make(child).__doc__,
    "checks itself": lambda make: make(counted)(-1),
    "changed": lambda make: changed(make(changing)(1), 2),
    "equal after a change": lambda make: changed(make(changing)(1), 2) == make(changing)(2),
    "no hash of what changes": lambda make: hash(make(changing)(1)),
    "a field that equals nothing": lambda make: make(changing)(NAN) == make(changing)(NAN),
    "copy of what changes": lambda make: copy.deepcopy(make(changing)(1)),
    "ordered": lambda make: make(ordered)(1) < make(ordered)(2),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_it_answers_as_the_standard_one(question: Callable[[Make], Any]) -> None:
    standard, quick = (
        outcome(partial(question, cache(lambda of, dataclass=dataclass: of(dataclass))))
        for dataclass in (dataclasses.dataclass, quick_dataclass.dataclass)
    )
    assert standard == quick


@quick_dataclass.dataclass(frozen=True, slots=True)
class Kept:
    """At the top of a module, where pickle finds it."""

    size: int


def test_it_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)
