"""Times are UTC, with six digits where the API wants MicroTime, whatever TZ says."""

from __future__ import annotations

import time

import pytest

from kpolicy.cluster.writes.conventions import api_micro_time, api_time


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns"])
def test_times_are_utc(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert api_time(1_700_000_000 * 10**9 + 999_999_999) == "2023-11-14T22:13:20Z"
        assert api_micro_time(1_700_000_001 * 10**9) == "2023-11-14T22:13:21.000000Z"
        assert api_micro_time(1_700_000_001 * 10**9 + 1_999) == "2023-11-14T22:13:21.000001Z"
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()
