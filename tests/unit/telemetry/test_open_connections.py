"""Which connection is closed for a new one, and when one is overdue."""

from __future__ import annotations

import pytest

from kpolicy.api_times import NANOSECONDS
from kpolicy.telemetry import limits
from kpolicy.telemetry.open_connections import OpenConnection, OpenConnections, peer_of


def admit(
    connections: OpenConnections, peer: str, now_s: float = 0
) -> tuple[OpenConnection, OpenConnection | None]:
    return connections.admit(peer, ns(now_s), lambda: None)


def ns(seconds: float) -> int:
    return round(seconds * NANOSECONDS)


def test_a_peer_displaces_its_own_oldest_connection() -> None:
    connections = OpenConnections(connections_max=8, of_peer_max=3)
    other, _ = admit(connections, "b")
    first, _ = admit(connections, "a")
    second, _ = admit(connections, "a")
    admit(connections, "a")
    first.begin_answer(0)
    _, displaced = admit(connections, "a")
    assert displaced is second, "the first is being answered"
    assert len(connections) == 4
    assert other not in connections.overdue(0)


def test_when_all_are_being_answered_the_oldest_is_displaced() -> None:
    connections = OpenConnections(connections_max=8, of_peer_max=2)
    admitted = [admit(connections, "a")[0] for _ in range(2)]
    for connection in admitted:
        connection.begin_answer(0)
    assert admit(connections, "a")[1] is admitted[0]


def test_a_new_peer_displaces_a_connection_of_the_peer_that_has_most() -> None:
    connections = OpenConnections(connections_max=4, of_peer_max=3)
    admit(connections, "b")
    flooding = [admit(connections, "a")[0] for _ in range(3)]
    _, displaced = admit(connections, "c")
    assert displaced is flooding[0]
    assert len(connections) == 4


def test_the_time_for_a_head_does_not_begin_anew_with_each_byte() -> None:
    connections = OpenConnections()
    slow, _ = admit(connections, "a")
    for second in range(5):
        assert slow.received(10, ns(second))
    assert connections.overdue(ns(limits.HTTP_HEAD_S - 0.1)) == []
    assert connections.overdue(ns(limits.HTTP_HEAD_S)) == [slow]


def test_an_answer_and_a_pause_have_their_own_time() -> None:
    connections = OpenConnections()
    kept, _ = admit(connections, "a")
    kept.begin_answer(0)
    assert connections.overdue(ns(limits.HTTP_ANSWER_S - 1)) == []
    kept.end_answer(0)
    assert connections.overdue(ns(limits.HTTP_IDLE_S - 1)) == []
    assert kept.received(1, ns(10))
    assert connections.overdue(ns(10 + limits.HTTP_HEAD_S)) == [kept]
    kept.begin_answer(ns(20))
    assert kept.received(10, ns(20))  # of the next request
    kept.end_answer(ns(20))
    assert connections.overdue(ns(20 + limits.HTTP_HEAD_S)) == [kept]


def test_bytes_are_counted_up_to_an_answer() -> None:
    connection, _ = admit(OpenConnections(), "a")
    assert connection.received(limits.HTTP_UNREAD_BYTES_MAX, 0)
    connection.begin_answer(0)
    assert connection.received(limits.HTTP_UNREAD_BYTES_MAX, 0)
    assert not connection.received(1, 0)


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("/a/socket", "/a/socket"),
    ],
)
def test_what_counts_as_one_peer(address: str, peer: str) -> None:
    assert peer_of(address) == peer
