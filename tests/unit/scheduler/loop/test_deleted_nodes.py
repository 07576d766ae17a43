"""Which nodes a watch says were deleted."""

from __future__ import annotations

import pytest

from kpolicy.scheduler.loop.engine_sink import deleted_in

_GONE = b'{"type":"DELETED","object":{"kind":"Node","metadata":{"name":"n1"}}}\n'
_CHANGED = b'{"type":"MODIFIED","object":{"metadata":{"name":"n2","labels":{"is":"DELETED"}}}}\n'


def test_only_deletions_count() -> None:
    assert deleted_in(b"") == frozenset()
    assert deleted_in(_CHANGED) == frozenset()
    assert deleted_in(_CHANGED + _GONE + _GONE.replace(b"n1", b"n3")) == {"n1", "n3"}


@pytest.mark.parametrize(
    "line",
    [
        b'"DELETED"',
        b'["DELETED"]',
        b'{"type":"DELETED"}',
        b'{"type":"DELETED","object":[]}',
        b'{"type":"DELETED"',
        b'{"a":"DELETED","b":' + b"[" * 100_000,
    ],
)
def test_what_cannot_be_read_names_nobody(line: bytes) -> None:
    assert deleted_in(line + b"\n" + _GONE) == {"n1"}
