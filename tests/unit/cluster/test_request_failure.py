"""Every answer that is not a success becomes a Status, whatever is in it."""

from __future__ import annotations

import pytest

from kpolicy.cluster.request_failure import status_of
from tests.unit.cluster.canned import status_body


def test_a_status_is_read() -> None:
    status = status_of(409, status_body(409, "Conflict", "no"), None)
    assert (status.code, status.reason, status.message) == (409, "Conflict", "no")
    assert not status.transient


@pytest.mark.parametrize(
    "body", [b"", b"upstream error\nline 2", b"[1]", b"\xff\xfe", b"[" * 100_000, b'{"kind":1}']
)
def test_anything_else_is_one_printable_line(body: bytes) -> None:
    status = status_of(503, body, "2")
    assert status.transient
    assert status.retry_after_s == 2
    assert "\n" not in status.message
    assert len(status.message) <= 2048


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("1", 1),
        (" 7 ", 7),
        ("999999", 60),
        ("-1", None),
        ("soon", None),
        ("²", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
    ],
)
def test_retry_after_is_whole_seconds_up_to_a_bound(
    header: str | None, seconds: float | None
) -> None:
    assert status_of(429, b"", header).retry_after_s == seconds
