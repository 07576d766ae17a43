"""Which occurrence is an Event of its own, which is counted, and when a count is written."""

from __future__ import annotations

from kpolicy.clock import NANOSECONDS
from kpolicy.cluster.event_series import SeriesMemory


def seconds(number: float) -> int:
    return round(number * NANOSECONDS)


def test_within_six_minutes_of_the_last_it_is_the_same_series() -> None:
    memory = SeriesMemory()
    assert memory.seen("k", 0, 0) is None
    memory.begin("k", "ns", "e1", 0, 0)
    for number in range(1, 11):
        series = memory.seen("k", seconds(360 * number), 0)
        assert series is not None
        assert series.count == number + 1
    assert memory.seen("k", seconds(360 * 10 + 361), 0) is None
    assert memory.seen("other", 0, 0) is None


def test_the_first_repetition_is_written_at_once_later_ones_once_a_minute() -> None:
    memory, written = SeriesMemory(), []
    memory.begin("k", "ns", "e1", 0, 0)
    for second in range(1, 200):
        series = memory.seen("k", seconds(second), 0)
        assert series is not None
        if memory.worth_writing(series, seconds(second)):
            memory.written(series, seconds(second))
            written.append((second, series.count))
    assert written == [(1, 2), (61, 62), (121, 122), (181, 182)]


def test_a_count_not_yet_written_is_due_after_a_minute_and_at_the_end() -> None:
    memory = SeriesMemory()
    memory.begin("k", "ns", "e1", 0, 0)
    for second in (1, 2):
        series = memory.seen("k", seconds(second), 0)
        assert series is not None
        if memory.worth_writing(series, seconds(second)):
            memory.written(series, seconds(second))
    assert list(memory.due(seconds(30))) == []
    assert [each.count for each in memory.due(seconds(61))] == [3]
    assert len(memory) == 1
    assert [each.count for each in memory.due(seconds(363))] == [3]
    assert len(memory) == 0


def test_the_least_recently_seen_is_forgotten_beyond_the_bound() -> None:
    memory = SeriesMemory(series_max=2)
    memory.begin("a", "ns", "1", 0, 0)
    memory.begin("b", "ns", "2", 0, 0)
    memory.seen("a", 1, 1)
    memory.begin("c", "ns", "3", 0, 0)
    assert memory.seen("b", 2, 2) is None
    assert memory.seen("a", 2, 2) is not None
    assert memory.forgotten == 1
