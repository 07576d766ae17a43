"""Lines: long ones are thinned without losing a peak, and a second axis is there if it is used."""

from __future__ import annotations

from kpolicy.offline.limits import PAGE_POINTS_MAX
from kpolicy.offline.pages.time_series import Line, Point, TimeSeries, thinned


def test_a_short_line_stays_as_it_is() -> None:
    points: list[Point] = [(0, 1.0), (1, None), (2, 3.0)]
    assert thinned(points) == points


def test_a_long_line_keeps_its_ends_its_peaks_and_its_order() -> None:
    points: list[Point] = [(float(at), float(at % 7)) for at in range(100_000)]
    points[51_234] = (51_234.0, 900.0)
    points[77_777] = (77_777.0, -900.0)
    kept = thinned(points)
    assert len(kept) <= PAGE_POINTS_MAX
    assert {points[0], points[-1], points[51_234], points[77_777]} <= set(kept)
    assert kept == sorted(kept)


def test_the_axis_on_the_right_is_there_only_for_a_line_of_its_own() -> None:
    first, second = Line("a", [(0, 1.0)]), Line("b", [(0, 2.0)], is_second=True)
    alone = TimeSeries("Use", [first], units=("percent", "bytes")).drawing().option
    both = TimeSeries("Use", [first, second], units=("percent", "bytes")).drawing().option
    assert [axis["unit"] for axis in alone["yAxis"]] == ["percent"]
    assert [axis["unit"] for axis in both["yAxis"]] == ["percent", "bytes"]
    assert [series["unit"] for series in both["series"]] == ["percent", "bytes"]
