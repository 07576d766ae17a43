"""Leader election on a Lease, with a local fence.

Deadlines are monotonic and count from when a renewal was sent, not from when its response came. A
leader checks `fence` immediately before each write. A replica that cannot decide neither acquires
nor renews the lease. An elector that lost the lease is not used again: the process ends and is
restarted.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from random import Random
from typing import NoReturn
from urllib.parse import quote

from kpolicy.api_times import NANOSECONDS, api_micro_time
from kpolicy.clock import NO_PULSE, Clock, Pulse, first_of
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.lease_record import (
    LeaseLock,
    LeaseRecord,
    LeaseTerms,
    Observation,
    held_lease,
    new_lease,
    read_lease,
    released_lease,
)
from kpolicy.cluster.limits import (
    LEASE_ABILITY_LOOK_S,
    LEASE_JITTER,
    LEASE_LOOKS_PER_RETRY,
    LEASE_RELEASE_TIMEOUT_S,
    LEASE_REQUEST_TIMEOUT_S,
    LEASE_WRITES_REMEMBERED_MAX,
)
from kpolicy.cluster.request_failure import Failure, Status, TimedOut

_log = logging.getLogger(__name__)

_NOT_A_LEASE = Status(200, "Malformed", "the answer is not a Lease")


@dataclass(frozen=True, slots=True)
class LeaseStatistics:
    leading: bool
    holder: str
    transitions: int
    renewals: int
    last_error: str


class Elector:
    """Run it as a task; to stop, cancel the task, then call `release`.

    `fence`, `acquired` and `lost` may be used from any thread, so that an elector can run in a
    `LeaseThread`.
    """

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        random: Random,
        terms: LeaseTerms,
        lock: LeaseLock,
        *,
        pulse: Pulse = NO_PULSE,
    ) -> None:
        self.clock = clock
        self._client = client
        self._clock = clock
        self._random = random
        self._terms = terms
        self._lock = lock
        in_namespace = f"namespaces/{quote(lock.namespace, safe='')}"
        self._collection = f"/apis/coordination.k8s.io/v1/{in_namespace}/leases"
        self._path = f"{self._collection}/{quote(lock.name, safe='')}"
        self._pulse = pulse
        self._look_at_ability: Callable[[], str] = lambda: ""
        self._inability = ""
        self._observed: Observation | None = None
        self._read_first = True  # what was last observed may differ from what the API server holds
        # Times of the last writes, as they stand in the Lease. A write may have been lost.
        self._written: deque[str] = deque(maxlen=LEASE_WRITES_REMEMBERED_MAX)
        self._fence_until_ns = 0  # one int: reading it needs no lock
        self._renewals = 0
        self._last_error = ""
        self._acquired: Future[None] = Future()
        self._lost: Future[None] = Future()

    def depend_on(self, inability: Callable[[], str]) -> None:
        """Call it before `run`. `inability` is called periodically, in the elector's thread: why
        this replica cannot decide, or an empty text."""
        self._look_at_ability = inability

    def fence(self) -> bool:
        """Whether we may act as leader now."""
        return self._clock.monotonic_ns() < self._fence_until_ns

    async def acquired(self) -> None:
        await asyncio.shield(asyncio.wrap_future(self._acquired))

    async def lost(self) -> None:
        """Wait until an acquired lease is lost; `release` does not count as losing it."""
        await asyncio.shield(asyncio.wrap_future(self._lost))

    def statistics(self) -> LeaseStatistics:
        record = self._observed.record if self._observed else None
        return LeaseStatistics(
            leading=self.fence(),
            holder=record.holder if record else "",
            transitions=record.transitions if record else 0,
            renewals=self._renewals,
            last_error=self._last_error,
        )

    async def run(self) -> None:
        """Acquire the lease, then renew it; return when it is lost."""
        await first_of(self._watch_ability(), self._elect())

    async def _watch_ability(self) -> NoReturn:
        while True:
            before, self._inability = self._inability, self._look_at_ability()
            if self._inability and not before:
                _log.error("lease %s is not renewed: %s", self._lock, self._inability)
            await self._clock.sleep(LEASE_ABILITY_LOOK_S)

    async def _elect(self) -> None:
        while not await self._try():
            self._pulse.beat()
            await self._clock.sleep(self._look_again_s())
        _log.info("leading: %s holds %s", self._lock.identity, self._lock)
        _complete(self._acquired)
        while self.fence():
            self._pulse.beat()
            left_s = (self._fence_until_ns - self._clock.monotonic_ns()) / NANOSECONDS
            await self._clock.sleep(min(self._terms.retry_s, left_s))
            if self.fence():
                await self._renew()
        self._fence_until_ns = 0
        _log.error("leadership of %s is lost: %s", self._lock, self._last_error)
        _complete(self._lost)

    async def release(self) -> bool:
        """Release the lease so that another replica need not wait. All writes as leader must have
        ended."""
        self._fence_until_ns = 0
        if not self._acquired.done():
            return False
        if self._read_first and await self._ask("GET", self._path, None, LEASE_RELEASE_TIMEOUT_S):
            return False
        record = self._observed.record if self._observed else None
        if record is None or record.holder != self._lock.identity:
            return False
        body = released_lease(record, self._clock.now_ns())
        answer = await self._client.request(
            "PUT", self._path, body=body, timeout_s=LEASE_RELEASE_TIMEOUT_S
        )
        return isinstance(answer, Response)

    async def _renew(self) -> None:
        """Try once. The attempt ends with the fence: a later response would only delay the loss."""
        left_s = (self._fence_until_ns - self._clock.monotonic_ns()) / NANOSECONDS
        async with self._clock.move_on_after(left_s) as deadline:
            await self._try()
        if deadline.expired:
            self._last_error = str(TimedOut(self._terms.renew_deadline_s))

    async def _try(self) -> bool:
        """Acquire or renew the lease; True if the API server confirmed that it is ours."""
        if self._read_first:
            failure = await self._ask("GET", self._path)
            if isinstance(failure, Status) and failure.code == 404:
                self._observed = None
            elif failure is not None:
                return self._fail(str(failure))
        if (observed := self._observed) is None:
            return await self._write(None)
        if self._wait_ns(observed) > 0:
            self._fence_until_ns = 0  # we held it, and another holds it now
            return self._fail(f"{observed.record.holder} holds it")
        return await self._write(observed.record)

    def _wait_ns(self, observed: Observation) -> int:
        """Another process may have our identity: we hold only what we have written."""
        is_ours = observed.record.renewed in self._written
        identity = self._lock.identity if is_ours else ""
        return observed.wait_ns(identity, self._clock.monotonic_ns())

    async def _write(self, record: LeaseRecord | None) -> bool:
        if self._inability:
            return self._fail(f"this replica cannot decide: {self._inability}")
        now_ns, sent_ns = self._clock.now_ns(), self._clock.monotonic_ns()
        self._read_first = True  # until the response shows the result
        self._written.append(api_micro_time(now_ns))
        if record is None:
            body = new_lease(self._lock, self._terms, now_ns)
            failure = await self._ask("POST", self._collection, body)
        else:
            body = held_lease(record, self._lock.identity, self._terms, now_ns)
            failure = await self._ask("PUT", self._path, body)
        if failure is not None:
            return self._fail(str(failure))
        self._fence_until_ns = sent_ns + round(self._terms.renew_deadline_s * NANOSECONDS)
        self._read_first = False
        self._renewals += 1
        self._last_error = ""
        return True

    async def _ask(
        self,
        verb: str,
        path: str,
        body: bytes | None = None,
        timeout_s: float = LEASE_REQUEST_TIMEOUT_S,
    ) -> Failure | None:
        """Send a request and observe the Lease in the answer; return why that failed."""
        answer = await self._client.request(verb, path, body=body, timeout_s=timeout_s)
        if not isinstance(answer, Response):
            return answer
        if (record := read_lease(answer.body)) is None:
            return _NOT_A_LEASE
        now_ns = self._clock.monotonic_ns()
        before = self._observed
        self._observed = before.next(record, now_ns) if before else Observation(record, now_ns)
        return None

    def _fail(self, text: str) -> bool:
        if text != self._last_error:
            _log.info("lease %s: %s", self._lock, text)
        self._last_error = text
        return False

    def _look_again_s(self) -> float:
        """Return when to look again: at the latest when the lease of another holder expires."""
        wait_ns = self._wait_ns(self._observed) if self._observed is not None else 0
        if wait_ns == 0:  # nobody holds it, so the failure was another
            return self._terms.retry_s * (1 + self._random.random() * (LEASE_JITTER - 1))
        return min(self._terms.retry_s / LEASE_LOOKS_PER_RETRY, wait_ns / NANOSECONDS)


def _complete(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class LeaseThread:
    def __init__(self, client: ApiClient, elector: Elector, on_lost: Callable[[], None]) -> None:
        self._client = client
        self._elector = elector
        self._on_lost = on_lost
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kpolicy-lease", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._started.wait()

    def stop(self, timeout_s: float) -> bool:
        """Release the lease and end the thread; False if that took too long."""
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            # The elector may end at this very moment; then its loop is closed.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            stopped = asyncio.run(self._elect())
        except Exception:
            _log.exception("the elector failed")
            stopped = False
        if not stopped:
            self._on_lost()

    async def _elect(self) -> bool:
        """Return True when stopped, False when the lease was lost."""
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._started.set()
        async with self._client:
            if is_stopped := bool(await first_of(self._elector.run(), self._stop.wait())):
                await self._elector.release()
        return is_stopped
