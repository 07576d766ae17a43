"""Streams: the largest one by one, the others together, and places by any name on both sides."""

from __future__ import annotations

from kpolicy.offline.limits import PAGE_MOVES_MAX
from kpolicy.offline.pages.move_chart import Move, Moves


def links(moves: list[Move]) -> list[tuple[str, str, int]]:
    (series,) = Moves("Moves", moves).drawing().option["series"]
    shown = {place["name"]: place["shown"] for place in series["data"]}
    assert len(shown) == len(series["data"])
    return [
        (shown[each["source"]], shown[each["target"]], each["value"]) for each in series["links"]
    ]


def test_equal_moves_are_one_stream_and_a_place_may_be_on_both_sides() -> None:
    moves = [Move("a", "b", 1), Move("a", "b", 2), Move("b", "a", 1)]
    assert links(moves) == [("a", "b", 3), ("b", "a", 1)]


def test_small_streams_beyond_the_limit_are_one() -> None:
    moves = [Move(f"from {at}", "to", 1000 - at) for at in range(PAGE_MOVES_MAX + 5)]
    found = links(moves)
    assert len(found) == PAGE_MOVES_MAX + 1
    assert found[-1] == ("(others)", "(others)", sum(1000 - at for at in range(40, 45)))
    assert sum(count for _, _, count in found) == sum(move.count for move in moves)
