"""The lease is renewed, and its loss acted upon, while the main loop is stuck."""

from __future__ import annotations

import threading
from random import Random

from kpolicy.clock import ManualClock, SystemClock
from kpolicy.cluster.lease import Elector
from kpolicy.cluster.lease_record import LeaseTerms
from kpolicy.cluster.lease_thread import LeaseThread
from tests.unit.cluster.lease_server import LOST, LeaseClient, LeaseServer

QUICK = LeaseTerms(1, 0.3, 0.02)


def thread_of(api: LeaseClient, on_lost: threading.Event) -> tuple[Elector, LeaseThread]:
    elector = Elector(
        api, SystemClock(), Random(1), QUICK, namespace="ns", name="kpolicy", identity="one"
    )
    return elector, LeaseThread(api, elector, on_lost.set)


async def test_it_is_renewed_while_the_main_loop_does_nothing() -> None:
    server, lost = LeaseServer(ManualClock()), threading.Event()
    elector, thread = thread_of(LeaseClient(server), lost)
    thread.start()
    await elector.acquired()
    for _ in range(300):  # nothing is awaited here: the main loop is stuck
        if len(server.writes) > 3 or lost.wait(0.01):
            break
    assert len(server.writes) > 3
    assert elector.fence()
    assert thread.stop(5)
    assert server.holder == ""
    assert not lost.is_set()


async def test_a_loss_is_acted_upon_in_the_thread() -> None:
    server, lost = LeaseServer(ManualClock()), threading.Event()
    api = LeaseClient(server)
    elector, thread = thread_of(api, lost)
    thread.start()
    await elector.acquired()
    api.trouble = LOST
    assert lost.wait(5)
    assert not elector.fence()
    await elector.lost()
    assert thread.stop(5)


async def test_an_elector_that_fails_counts_as_lost() -> None:
    server, lost = LeaseServer(ManualClock()), threading.Event()
    api = LeaseClient(server)
    _, thread = thread_of(api, lost)
    server.read = None  # type: ignore[assignment,method-assign]
    thread.start()
    assert lost.wait(5)
    assert thread.stop(5)


async def test_it_is_stopped_in_the_moment_after_a_loss() -> None:
    """The thread still lives, for the loss is being acted upon, and its loop has ended."""
    server, lost, go_on = LeaseServer(ManualClock()), threading.Event(), threading.Event()
    api = LeaseClient(server)

    def on_lost() -> None:
        lost.set()
        go_on.wait(10)

    elector = Elector(
        api, SystemClock(), Random(1), QUICK, namespace="ns", name="kpolicy", identity="one"
    )
    thread = LeaseThread(api, elector, on_lost)
    thread.start()
    await elector.acquired()
    api.trouble = LOST
    assert lost.wait(5)
    assert not thread.stop(0.01)
    go_on.set()
    assert thread.stop(5)
