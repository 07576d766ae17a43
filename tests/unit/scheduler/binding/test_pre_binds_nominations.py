"""A node is nominated before slow work: within a time limit, only by the leader, and without
delaying others.
"""

from __future__ import annotations

import asyncio

import pytest

from kpolicy.scheduler.binding.pre_binds import Nominations
from kpolicy.scheduler.limits import NOMINATION_S_MAX, NOMINATIONS_IN_FLIGHT_MAX
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queued_pod import Attempt
from tests.manual_clock import ManualClock
from tests.unit.scheduler.pods import pending


class SlowStatus:
    """Written when the test says so."""

    def __init__(self) -> None:
        self.nominated: list[tuple[str, str, str, str]] = []
        self.answered = asyncio.Event()
        self.outbox = self

    def nominate(self, namespace: str, name: str, uid: str, node: str) -> None:
        self.nominated.append((namespace, name, uid, node))

    async def at_rest(self, uid: str) -> None:
        await self.answered.wait()


def nominations_of(status: SlowStatus, clock: ManualClock, *, leads: bool) -> Nominations:
    return Nominations(status, clock, lambda: leads)  # type: ignore[arg-type]


def queued(uid: str) -> Attempt:
    queue = Queue()
    queue.changed(pending(uid, name=uid), 0)
    (pod,) = queue.pop_batch(1, 0)
    return pod


async def test_it_is_waited_for() -> None:
    clock, status = ManualClock(), SlowStatus()
    telling = asyncio.create_task(nominations_of(status, clock, leads=True).tell(queued("a"), "n1"))
    await clock.settle()
    assert status.nominated == [("default", "a", "a", "n1")]
    assert not telling.done()
    status.answered.set()
    await telling


async def test_who_may_not_lead_any_more_tells_nothing() -> None:
    status = SlowStatus()
    await nominations_of(status, ManualClock(), leads=False).tell(queued("a"), "n1")
    assert status.nominated == []


async def test_a_burst_has_a_budget_and_an_end() -> None:
    """Whose turn does not come in time goes on without."""
    clock, status = ManualClock(), SlowStatus()
    nominations = nominations_of(status, clock, leads=True)
    many = 3 * NOMINATIONS_IN_FLIGHT_MAX
    telling = [asyncio.create_task(nominations.tell(queued(str(n)), "n1")) for n in range(many)]
    await clock.settle()
    assert len(status.nominated) == NOMINATIONS_IN_FLIGHT_MAX
    await clock.advance(NOMINATION_S_MAX + 1)
    await asyncio.gather(*telling)
    assert len(status.nominated) == NOMINATIONS_IN_FLIGHT_MAX
    status.answered.set()
    await nominations.tell(queued("later"), "n2")
    assert status.nominated[-1] == ("default", "later", "later", "n2")


async def test_a_write_that_raises_is_not_taken_for_one_that_was_written() -> None:
    class BrokenStatus(SlowStatus):
        async def at_rest(self, uid: str) -> None:
            raise ZeroDivisionError("a mistake of ours")

    nominations = nominations_of(BrokenStatus(), ManualClock(), leads=True)
    with pytest.raises(ZeroDivisionError, match="a mistake of ours"):
        await nominations.tell(queued("a"), "n1")
