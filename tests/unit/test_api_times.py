"""Times of the API are UTC, with six digits for MicroTime; what is no time is refused with an
example of one.
"""

from __future__ import annotations

import time

import pytest

from kpolicy.api_times import NANOSECONDS, api_micro_time, api_time, time_of, whole_minute


@pytest.mark.parametrize(
    ("zone", "second"), [("UTC", 0), ("Asia/Kolkata", 3), ("America/St_Johns", 6)]
)
def test_times_of_the_api_are_utc(zone: str, second: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    at, later = ((1_700_000_000 + second + more) * NANOSECONDS for more in (0, 1))
    try:
        assert api_time(at + 999_999_999) == f"2023-11-14T22:13:2{second}Z"
        assert api_micro_time(later) == f"2023-11-14T22:13:2{second + 1}.000000Z"
        assert api_micro_time(later + 1_999) == f"2023-11-14T22:13:2{second + 1}.000001Z"
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


@pytest.mark.parametrize("text", ["2023-11-14T22:13:20Z", "2023-11-15T00:13:20+02:00"])
def test_a_time_with_a_zone_is_read(text: str) -> None:
    assert time_of(text) == 1_700_000_000 * NANOSECONDS
    assert api_time(time_of(text)) == "2023-11-14T22:13:20Z"


def test_parts_of_a_second_are_read_to_the_microsecond_and_left_out_of_the_minute() -> None:
    at = time_of("2023-11-14T22:13:20.000001Z")
    assert at == 1_700_000_000 * NANOSECONDS + 1_000
    assert api_time(whole_minute(at)) == "2023-11-14T22:13:00Z"


@pytest.mark.parametrize(
    ("text", "why"), [("yesterday", "write 2026"), ("", "write 2026"), ("2026-11-01T22:00", "zone")]
)
def test_what_is_no_time_is_refused_with_an_example(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        time_of(text)
