"""At most one replica leads, by all clocks; one that cannot renew the lease stops in time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import SystemClock
from kpolicy.cluster.lease import Elector, LeaseThread
from kpolicy.cluster.lease_record import LeaseLock, LeaseTerms
from kpolicy.cluster.request_failure import Status
from kpolicy.testing import ControlPlane
from tests.manual_clock import ManualClock
from tests.unit.cluster.doubles import client, eventually
from tests.unit.cluster.lease_server import LOST, LeaseClient, LeaseServer

TERMS = LeaseTerms(15, 10, 2)


def elector(api: LeaseClient, identity: str, seed: int = 1) -> Elector:
    return Elector(api, api.clock, Random(seed), TERMS, LeaseLock("ns", "kpolicy", identity))


@asynccontextmanager
async def running(*electors: Elector) -> AsyncIterator[list[asyncio.Task[None]]]:
    tasks = [asyncio.create_task(each.run()) for each in electors]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def renewed(elector_: Elector, times: int) -> None:
    await eventually(lambda: elector_.statistics().renewals == times)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def server(clock: ManualClock) -> LeaseServer:
    return LeaseServer(clock)


async def test_two_processes_with_one_identity_never_lead_together(
    clock: ManualClock, server: LeaseServer
) -> None:
    """As clones of a virtual machine, or two containers of one process id, may have."""
    twins = [elector(LeaseClient(server), "twin", seed) for seed in (1, 2)]
    led: set[int] = set()
    async with running(*twins) as tasks:
        for _ in range(240):
            await clock.advance(0.5)
            leading = {number for number, twin in enumerate(twins) if twin.fence()}
            assert len(leading) <= 1
            led |= leading
        assert len(led) == 1
        (leader,) = led
        tasks[leader].cancel()
        for _ in range(60):
            await clock.advance(0.5)
            assert not all(twin.fence() for twin in twins)
        assert twins[1 - leader].fence(), "the other takes over as if it had another name"


async def test_a_renewal_whose_answer_was_lost_is_known_as_ours(
    clock: ManualClock, server: LeaseServer
) -> None:
    api = LeaseClient(server)
    elector_ = elector(api, "one")
    async with running(elector_):
        await clock.advance(5)
        api.lose_answers = True
        await clock.advance(4)
        api.lose_answers = False
        await clock.advance(20)
        assert elector_.fence()


async def test_who_cannot_decide_neither_acquires_nor_renews_the_lease(
    clock: ManualClock, server: LeaseServer
) -> None:
    inability = ["the engine hangs"]
    api = LeaseClient(server)
    lock = LeaseLock("ns", "kpolicy", "one")
    able = Elector(api, clock, Random(1), TERMS, lock)
    able.depend_on(lambda: inability[0])
    async with running(able) as (task,):
        await clock.advance(60)
        assert not able.fence()
        assert able.statistics().renewals == 0
        assert "this replica cannot decide: the engine hangs" in able.statistics().last_error
        inability[0] = ""
        await clock.advance(3)
        assert able.fence()
        inability[0] = "the event loop stands still"
        await clock.advance(TERMS.renew_deadline_s - TERMS.retry_s - 1)
        inability[0] = ""
        await clock.advance(TERMS.retry_s + 1)
        assert able.fence(), "a short hang is forgiven"
        renewals = able.statistics().renewals
        inability[0] = "the event loop stands still"
        await clock.advance(TERMS.renew_deadline_s + TERMS.retry_s)
        assert able.statistics().renewals <= renewals + 1
        assert not able.fence()
        assert task.done()
        await able.lost()
    other = elector(LeaseClient(server), "two")
    async with running(other):
        await clock.advance(TERMS.duration_s)
        assert other.fence()


async def test_the_first_leads_at_once_and_renews_every_two_seconds(
    clock: ManualClock, server: LeaseServer
) -> None:
    elector_ = elector(LeaseClient(server), "one")
    assert not elector_.fence()
    async with running(elector_):
        await clock.settle()
        await elector_.acquired()
        assert elector_.fence()
        await clock.advance(60)
        assert elector_.fence()
        assert server.writes == [("POST", "one")] + [("PUT", "one")] * 30
        assert elector_.statistics().renewals == 31
        assert elector_.statistics().transitions == 0


async def test_the_second_waits_as_long_as_the_first_renews(
    clock: ManualClock, server: LeaseServer
) -> None:
    first, two = elector(LeaseClient(server), "one"), elector(LeaseClient(server), "two", seed=2)
    async with running(first, two):
        for _ in range(300):
            await clock.advance(1)
            assert [first.fence(), two.fence()] == [True, False]
        assert two.statistics().holder == "one"


async def test_when_the_first_cannot_renew_it_stops_before_the_second_begins(
    clock: ManualClock, server: LeaseServer
) -> None:
    api = LeaseClient(server)
    first, two = elector(api, "one"), elector(LeaseClient(server), "two", seed=2)
    async with running(first, two) as tasks:
        await clock.advance(20)
        api.trouble = LOST
        lost = asyncio.create_task(first.lost())
        stopped = began = None
        for tenth in range(300):
            await clock.advance(0.1)
            assert not (first.fence() and two.fence())
            if stopped is None and not first.fence():
                stopped = tenth / 10
            if began is None and two.fence():
                began = tenth / 10
        assert stopped is not None
        assert began is not None
        assert stopped <= 10
        assert began - stopped >= 4
        assert began <= 17.5
        assert lost.done()
        assert tasks[0].done()
        assert two.statistics().transitions == 1


@pytest.mark.parametrize("answer_after_s", [0.0, 0.1])
@pytest.mark.parametrize("killed_after_s", [0.0, 0.4, 0.9, 1.3, 1.99])
@pytest.mark.parametrize("phase_s", [0.0, 0.3, 0.5, 0.7, 1.0, 1.5])
async def test_after_a_kill_the_other_leads_within_17_s_and_never_within_the_leases_15(
    clock: ManualClock,
    server: LeaseServer,
    phase_s: float,
    killed_after_s: float,
    answer_after_s: float,
) -> None:
    """`killed_after_s` the last renewal, which the other may see when it looks next."""
    first, second = LeaseClient(server), LeaseClient(server)
    leader, two = elector(first, "one"), elector(second, "two", seed=2)
    async with running(leader) as tasks:
        await clock.advance(20 + phase_s)
        async with running(two):
            await clock.advance(10 - phase_s)
            second.answer_after_s = answer_after_s
            assert clock.monotonic_ns() % (2 * NANOSECONDS) == 0, "the lease was just renewed"
            await clock.advance(killed_after_s)
            tasks[0].cancel()
            renewed = len(server.writes)
            since_renewal_s = killed_after_s
            while not two.fence():
                assert since_renewal_s < 30
                await clock.advance(0.05)
                since_renewal_s += 0.05
            assert server.writes[renewed:] == [("PUT", "two")]
            assert since_renewal_s >= 15
            # Half a second is left for the bind.
            assert since_renewal_s - killed_after_s <= 16.5


async def test_a_holder_that_renews_late_is_not_overtaken(
    clock: ManualClock, server: LeaseServer
) -> None:
    """What counts is the last change that was seen, also when the wait was all but over."""
    api = LeaseClient(server)
    first, two = elector(api, "one"), elector(LeaseClient(server), "two", seed=2)
    async with running(first, two) as tasks:
        await clock.advance(20)
        tasks[0].cancel()
        for late_s in (9.0, 14.0, 14.9, 14.9):
            await clock.advance(late_s)
            assert not two.fence()
            assert server.document is not None
            server.version += 1
            server.document["metadata"]["resourceVersion"] = str(server.version)
        await clock.advance(14.9)
        assert not two.fence()
        await clock.advance(2)
        assert two.fence()


async def test_an_answer_that_never_comes_does_not_hold_up_the_loss(
    clock: ManualClock, server: LeaseServer
) -> None:
    api = LeaseClient(server)
    elector_ = elector(api, "one")
    async with running(elector_) as tasks:
        await clock.advance(1)
        api.answer_after_s = 1000
        await clock.advance(9.5)
        assert not elector_.fence()
        assert tasks[0].done()
        assert "no answer" in elector_.statistics().last_error


async def test_the_fence_counts_from_the_sending_not_from_the_answer(
    clock: ManualClock, server: LeaseServer
) -> None:
    api = LeaseClient(server)
    elector_ = elector(api, "one")
    api.answer_after_s = 4
    async with running(elector_):
        await clock.advance(9)  # read, then written at 4, answered at 8
        assert elector_.fence()
        api.trouble = LOST
        await clock.advance(4.9)
        assert elector_.fence()
        await clock.advance(0.2)
        assert not elector_.fence()


async def test_a_renewal_whose_answer_was_lost_is_found_by_reading(
    clock: ManualClock, server: LeaseServer
) -> None:
    api = LeaseClient(server)
    elector_ = elector(api, "one")
    async with running(elector_):
        await clock.advance(1)
        api.lose_answers = True
        await clock.advance(2)
        api.lose_answers = False
        await clock.advance(30)
        assert elector_.fence()
        assert server.holder == "one"
        assert elector_.statistics().transitions == 0


async def test_a_lease_taken_by_another_is_lost_at_once(
    clock: ManualClock, server: LeaseServer
) -> None:
    elector_ = elector(LeaseClient(server), "one")
    async with running(elector_) as tasks:
        await clock.advance(1)
        assert server.document is not None
        server.document["spec"]["holderIdentity"] = "thief"
        server.version += 1
        server.document["metadata"]["resourceVersion"] = str(server.version)
        await clock.advance(4.5)
        assert tasks[0].done()
        assert not elector_.fence()
        assert "thief" in elector_.statistics().last_error


async def test_steps_of_the_wall_clock_change_nothing(
    clock: ManualClock, server: LeaseServer
) -> None:
    far = ManualClock(now_ns=0)  # another machine, decades behind
    first, two = (
        elector(LeaseClient(server), "one"),
        elector(LeaseClient(server, far), "two", seed=2),
    )
    async with running(first, two):
        for second in range(120):
            if second in {30, 60}:
                clock.step_wall(3600 if second == 30 else -7200)
            await clock.advance(1)
            await far.advance(1)
            assert [first.fence(), two.fence()] == [True, False]


async def test_release_lets_the_next_begin_without_waiting(
    clock: ManualClock, server: LeaseServer
) -> None:
    first, two = elector(LeaseClient(server), "one"), elector(LeaseClient(server), "two", seed=2)
    async with running(first) as tasks:
        await clock.advance(5)
        tasks[0].cancel()
        assert await first.release()
    assert not first.fence()
    assert server.holder == ""
    assert server.document is not None
    assert server.document["spec"]["leaseDurationSeconds"] == 1
    async with running(two):
        await clock.settle()
        assert two.fence()
        assert two.statistics().transitions == 1


async def test_release_of_what_another_holds_touches_nothing(
    clock: ManualClock, server: LeaseServer
) -> None:
    first, two = elector(LeaseClient(server), "one"), elector(LeaseClient(server), "two", seed=2)
    async with running(first) as tasks:
        await clock.advance(1)
        tasks[0].cancel()
    async with running(two):
        await clock.advance(20)
        assert server.holder == "two"
        assert not await first.release()
        assert server.holder == "two"
    assert not await elector(LeaseClient(server), "never led").release()


@pytest.mark.parametrize("trouble", [LOST, Status(403, "Forbidden", "no"), Status(500, "", "x")])
async def test_trouble_before_leading_is_waited_out(
    trouble: Status, clock: ManualClock, server: LeaseServer
) -> None:
    api = LeaseClient(server)
    api.trouble = trouble
    elector_ = elector(api, "one")
    async with running(elector_):
        await clock.advance(60)
        assert not elector_.fence()
        assert elector_.statistics().last_error == str(trouble)
        assert 25 <= len(api.asked) <= 31  # every 2 to 2.4 s
        api.trouble = None
        await clock.advance(3)
        assert elector_.fence()


async def test_of_many_that_start_together_one_leads(
    clock: ManualClock, server: LeaseServer
) -> None:
    electors = [elector(LeaseClient(server), f"e{n}", seed=n) for n in range(5)]
    async with running(*electors):
        for _ in range(60):
            await clock.advance(1)
            assert sum(each.fence() for each in electors) == 1


async def test_a_real_lease_is_made_renewed_and_released() -> None:
    clock = ManualClock()
    async with ControlPlane() as control_plane, client(control_plane.url, clock) as api:
        elector_ = Elector(api, clock, Random(1), TERMS, LeaseLock("kube-system", "kpolicy", "one"))
        task = asyncio.create_task(elector_.run())
        await elector_.acquired()
        for number in range(2, 5):
            await eventually(lambda: clock.sleepers == 2)
            await clock.advance(TERMS.retry_s)
            await renewed(elector_, number)
        [lease] = control_plane.objects("Lease")
        assert lease["spec"]["holderIdentity"] == "one"
        task.cancel()
        assert await elector_.release()
        [lease] = control_plane.objects("Lease")
        assert not lease["spec"].get("holderIdentity")


QUICK = LeaseTerms(1, 0.3, 0.02)


def thread_of(api: LeaseClient, on_lost: threading.Event) -> tuple[Elector, LeaseThread]:
    elector = Elector(api, SystemClock(), Random(1), QUICK, LeaseLock("ns", "kpolicy", "one"))
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

    elector = Elector(api, SystemClock(), Random(1), QUICK, LeaseLock("ns", "kpolicy", "one"))
    thread = LeaseThread(api, elector, on_lost)
    thread.start()
    await elector.acquired()
    api.trouble = LOST
    assert lost.wait(5)
    assert not thread.stop(0.01)
    go_on.set()
    assert thread.stop(5)
