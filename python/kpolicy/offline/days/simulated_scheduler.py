"""The scheduler of simulated days: the engine and the real queue, with the time as an argument.

Changes of pods are collected and told to the engine in one call, before anything is decided.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from kpolicy.api_times import whole_minute
from kpolicy.engine import Applied, Outcome, PodState, Wake
from kpolicy.journal.engine_calls import Call, made_again
from kpolicy.offline.journal_replay.engine_state import ENGINE_ERRORS
from kpolicy.offline.limits import BATCH_PODS, UNREADABLE_KEPT_MAX
from kpolicy.offline.snapshots.cluster_snapshot import loaded_engine
from kpolicy.policy.assembly.assemble import Program
from kpolicy.policy.compile import EVERY_POD
from kpolicy.scheduler.loop.decided_batch import Decided, into_lanes
from kpolicy.scheduler.loop.queue import Queue

# A claim to a node that is given up counts as a pod deleted from it, as in kube-scheduler.
_CLAIM_GONE: Final = "AssignedPodDelete"
_PENDING: Final = int(PodState.PENDING)


class SimulatedScheduler:
    def __init__(self, program: Program, seed: int) -> None:
        self._served = frozenset(program.scheduler_names)
        # Sweeps have a process for each processor, and small clusters gain nothing from threads.
        self._engine = loaded_engine(program, seed, threads=1)
        self._queue = Queue()
        self._queue.follow_policy(
            is_ordered=self._engine.orders_queue(), holds_pods=self._engine.holds_pods()
        )
        # Watch events of pods that the engine does not know yet, and how many are of binds.
        self._lines: list[str] = []
        self._unconfirmed = 0
        self._not_served: set[str] = set()
        self._unreadable: Counter[str] = Counter()

    # --- what is told ----------------------------------------------------------------------------

    def pod_changes(self, line: str) -> None:
        """A watch event of a pod."""
        self._lines.append(line)

    def pod_is_bound(self, line: str) -> None:
        """The watch event of a pod that was decided."""
        self._lines.append(line)
        self._unconfirmed += 1

    def pod_is_gone(self, line: str, uid: str) -> None:
        self._lines.append(line)
        self._not_served.discard(uid)

    def node_changes(self, event: str, node: dict[str, Any], now_ns: int) -> None:
        self.flush(now_ns)
        line = json.dumps({"type": event, "object": node}).encode() + b"\n"
        self._take(self._engine.watch("nodes", line, now_ns), now_ns)

    def others_change(self, call: Call, now_ns: int) -> None:
        """A call about objects that are neither pods nor nodes."""
        self.flush(now_ns)
        with suppress(*ENGINE_ERRORS):  # as it was when this was recorded
            answer = made_again(self._engine, call)
            if isinstance(answer, Applied):
                self._take(answer, now_ns)

    def flush(self, now_ns: int) -> None:
        """Tells the engine of the pods that changed."""
        if self._lines:
            body = "".join(self._lines).encode()
            self._lines.clear()
            self._unconfirmed = 0
            self._take(self._engine.watch("pods", body, now_ns), now_ns)

    def pass_time(self, now_ns: int) -> None:
        """As the live scheduler does: the flush each 30 s, and the engine's time each minute."""
        while self._queue.flush(BATCH_PODS, now_ns):
            pass
        if now_ns == whole_minute(now_ns):
            self._wake(self._engine.pass_time(now_ns).wakes, now_ns)

    # --- decisions -------------------------------------------------------------------------------

    @property
    def has_waiting(self) -> bool:
        """Whether the queue has pods that are not bound already."""
        return len(self._queue) > self._unconfirmed

    def next_ready_ns(self) -> int | None:
        return self._queue.next_ready_ns()

    @property
    def flush_period_ns(self) -> int:
        return self._queue.periods.flush_period_ns

    def decide(self, now_ns: int) -> tuple[list[Decided], bool]:
        """Tries the next pods. False: there are none."""
        queue = self._queue
        batch, others = queue.pop_batch(BATCH_PODS, now_ns), False
        order = queue.by_policy
        if order is not None and order.is_to_ask and len(batch) < BATCH_PODS:
            entered, left = order.news()
            limit = BATCH_PODS - len(batch)
            following = self._engine.next_pods(entered, left, limit, now_ns, now_ns)
            batch += queue.pop_told(following.picked, now_ns)
            for held in following.held:
                queue.hold_by_policy(held.uid, held.hold, now_ns)
            others = bool(following.held) or following.is_more
        if not batch:
            return [], others
        decisions = self._engine.schedule([pod.uid for pod in batch], now_ns).decisions
        return into_lanes(queue, batch, decisions, now_ns), True

    def settle(self, uids: Sequence[str], now_ns: int) -> None:
        """These pods are bound."""
        outcomes = [(uid, int(Outcome.BOUND)) for uid in uids]
        self._wake(self._engine.settle(outcomes, now_ns), now_ns)

    def give_up_claims(self, uids: Sequence[str], now_ns: int) -> None:
        """Another pod took the room that these pods waited for."""
        for uid in uids:
            self._queue.wake(uid, _CLAIM_GONE, now_ns)

    def settle_room(self, uid: str, evicted: Sequence[str], now_ns: int) -> None:
        """The victims of this pod are evicted."""
        self._wake(self._engine.settle_room(uid, evicted, now_ns, is_made=True), now_ns)
        self._queue.release(uid, now_ns)

    # --- in the end ------------------------------------------------------------------------------

    @property
    def not_served(self) -> int:
        """How many pods it leaves to other schedulers."""
        return len(self._not_served)

    def rejected_by(self) -> dict[str, int]:
        """How many pods each rule keeps waiting, most first."""
        rejected: Counter[str] = Counter()
        for (rule, _), count in self._queue.statistics().rejected.items():
            rejected[rule] += int(count)
        return dict(sorted(rejected.items(), key=lambda item: (-item[1], item[0])))

    def problems(self) -> Iterator[str]:
        shown = list(self._unreadable)[:UNREADABLE_KEPT_MAX]
        yield from (f"cannot be read, and is left out: {each}" for each in shown)
        if len(self._unreadable) > len(shown):
            yield f"and {len(self._unreadable) - len(shown):,} further objects cannot be read"

    # --- inside ----------------------------------------------------------------------------------

    def _take(self, applied: Applied, now_ns: int) -> None:
        for unreadable in applied.unreadable:
            self._unreadable[f"{unreadable.object}: {unreadable.message}"] += 1
        for change in applied.pods:
            is_pending = change.change == _PENDING
            if is_pending and self._serves(change.scheduler_name):
                self._queue.changed(change, now_ns)
                continue
            if is_pending:
                self._not_served.add(change.uid)
            self._queue.gone(change.uid)
        self._wake(applied.wakes, now_ns)

    def _wake(self, wakes: Sequence[Wake], now_ns: int) -> None:
        for wake in wakes:
            self._queue.wake(wake.uid, wake.event, now_ns)

    def _serves(self, scheduler_name: str) -> bool:
        return EVERY_POD in self._served or scheduler_name in self._served
