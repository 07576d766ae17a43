"""Which fields are read of a pod."""

from __future__ import annotations

from kpolicy.cluster.writes.conventions import PodRead, read_pod


def test_a_pod_is_read_and_nothing_else() -> None:
    ending = b'{"metadata":{"uid":"u","deletionTimestamp":"2026-01-01T00:00:00Z"}}'
    assert read_pod(ending) == PodRead("u", "", is_ending=True)
    placed = b'{"metadata":{"uid":"u"},"spec":{"nodeName":"n"}}'
    assert read_pod(placed) == PodRead("u", "n", is_ending=False)
    for body in (b"", b"[]", b'{"metadata":{}}', b'{"metadata":1}', b"[" * 100_000):
        assert read_pod(body) is None
