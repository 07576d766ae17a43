"""Times are UTC, with six digits for MicroTime; and which fields are read of a pod."""

from __future__ import annotations

import time

import pytest

from kpolicy.cluster.writes.conventions import PodRead, api_micro_time, api_time, read_pod


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


def test_a_pod_is_read_and_nothing_else() -> None:
    ending = b'{"metadata":{"uid":"u","deletionTimestamp":"2026-01-01T00:00:00Z","generation":2}}'
    assert read_pod(ending) == PodRead("u", "", is_ending=True, generation=2)
    placed = b'{"metadata":{"uid":"u"},"spec":{"nodeName":"n"}}'
    assert read_pod(placed) == PodRead("u", "n", is_ending=False, generation=0)
    for body in (b"", b"[]", b'{"metadata":{}}', b'{"metadata":1}', b"[" * 100_000):
        assert read_pod(body) is None
