"""Runs the queue and the engine through days of arrivals in virtual time, and compares what tenants
have with what is fair.

Fair is: of what all have together, each tenant has by its weight, but none more than it asks for;
what one leaves is divided among the others. The same seed gives the same figures.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from kpolicy.engine import Applied, Engine, Outcome
from kpolicy.policy.assembly.assemble import Program
from kpolicy.scheduler.loop.consequences import take
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.testing import node, pod

HOUR_S: Final = 3_600
DAY_S: Final = 24 * HOUR_S
_STEP_S: Final = 10
_SECOND_NS: Final = 1_000_000_000
_BEGIN_NS: Final = 1_767_225_600 * _SECOND_NS
_BATCH: Final = 64
# Two tenants whose shares differ by less are even.
_NOTHING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Tenant:
    """It always has `waiting` pods in the queue, in these hours of the day."""

    name: str
    weight: float
    hours: tuple[int, int]
    waiting: int = 8

    def works(self, at_s: int) -> bool:
        first, last = self.hours
        return first <= at_s % DAY_S // HOUR_S < last


TENANTS: Final = (
    Tenant("steady", 1.0, (0, 24)),
    Tenant("daily", 1.0, (8, 20)),
    Tenant("heavy", 2.0, (14, 24)),
)


@dataclass(frozen=True, slots=True)
class Setting:
    days: float = 7.0
    seed: int = 1
    nodes: int = 20
    cpus: int = 16
    tenants: Sequence[Tenant] = TENANTS
    # How long a pod runs, from and to.
    seconds: tuple[int, int] = (120, 600)
    sizes: Sequence[int] = (1, 2, 4)


@dataclass(slots=True)
class Shares:
    """`by_hour`: the mean of what each tenant had, and of what was fair, in each hour; parts of the
    cluster."""

    had: dict[str, float]
    fair: dict[str, float]
    by_hour: list[dict[str, tuple[float, float]]] = field(default_factory=list)
    placed: int = 0

    @property
    def error(self) -> float:
        """The largest difference between what a tenant had and what was fair, over all the time."""
        return max(abs(self.had[name] - self.fair[name]) for name in self.had)

    def line(self) -> dict[str, Any]:
        return {
            "placed": self.placed,
            "error": round(self.error, 5),
            "had": {name: round(share, 5) for name, share in self.had.items()},
            "fair": {name: round(share, 5) for name, share in self.fair.items()},
        }


class Week:
    def __init__(self, program: Program, setting: Setting) -> None:
        self._setting = setting
        self._random = Random(setting.seed)
        self._engine = Engine(setting.seed, threads=1)
        assert not self._engine.load(program.bytes)
        self._queue = Queue()
        self._queue.follow_policy(
            is_ordered=self._engine.orders_queue(), holds_pods=self._engine.holds_pods()
        )
        self._numbers = itertools.count()
        self._ends: list[tuple[int, str]] = []
        self._pods: dict[str, dict[str, Any]] = {}
        self._used = {tenant.name: 0 for tenant in setting.tenants}
        self._asked = dict(self._used)
        self._waiting = dict(self._used)
        self._placed = 0
        nodes = [node(f"n{number:03}", cpu=str(setting.cpus)) for number in range(setting.nodes)]
        body = json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}).encode()
        assert not self._engine.load_objects(body, "nodes")

    def run(self) -> Shares:
        setting = self._setting
        total = setting.nodes * setting.cpus
        steps = round(setting.days * DAY_S / _STEP_S)
        names = [tenant.name for tenant in setting.tenants]
        had, fair = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
        hour = dict.fromkeys(names, (0.0, 0.0))
        by_hour: list[dict[str, tuple[float, float]]] = []
        for step in range(steps):
            self._step(step * _STEP_S)
            ideal = fair_shares(self._used, self._asked, setting.tenants)
            for name in names:
                own, wanted = self._used[name] / total, ideal[name] / total
                had[name] += own / steps
                fair[name] += wanted / steps
                hour[name] = hour[name][0] + own, hour[name][1] + wanted
            if (step + 1) * _STEP_S % HOUR_S == 0:
                count = HOUR_S // _STEP_S
                by_hour.append({name: (a / count, b / count) for name, (a, b) in hour.items()})
                hour = dict.fromkeys(names, (0.0, 0.0))
        return Shares(had, fair, by_hour, self._placed)

    def _step(self, now_s: int) -> None:
        lines = [*self._ended(now_s), *self._come(now_s)]
        if lines:
            self._watch(lines, now_s)
        # As online: a pod that did not fit is tried again when what it waits for has changed.
        while self._tick(now_s):
            pass

    def _ended(self, now_s: int) -> Iterator[dict[str, Any]]:
        while self._ends and self._ends[0][0] <= now_s:
            _, uid = heapq.heappop(self._ends)
            gone = self._pods.pop(uid)
            self._used[gone["metadata"]["namespace"]] -= _cpus(gone)
            yield {"type": "DELETED", "object": gone}

    def _come(self, now_s: int) -> Iterator[dict[str, Any]]:
        for tenant in self._setting.tenants:
            while tenant.works(now_s) and self._waiting[tenant.name] < tenant.waiting:
                cpus = self._random.choice(self._setting.sizes)
                name = f"{tenant.name}-{next(self._numbers)}"
                new = pod(name, tenant.name, str(cpus))
                new["metadata"]["uid"] = name
                self._pods[name] = new
                self._waiting[tenant.name] += 1
                self._asked[tenant.name] += cpus
                yield {"type": "ADDED", "object": new}

    def _watch(self, lines: Sequence[Mapping[str, Any]], now_s: int) -> None:
        body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        self._take(self._engine.watch("pods", body, _BEGIN_NS + now_s * _SECOND_NS), now_s)

    def _take(self, applied: Applied, now_s: int) -> None:
        assert not applied.unreadable
        for change in applied.pods:
            if change.node or change.change == 0:
                self._queue.gone(change.uid)
            else:
                self._queue.changed(change, now_s * _SECOND_NS)
        for wake in applied.wakes:
            self._queue.wake(wake.uid, wake.event, now_s * _SECOND_NS)

    def _tick(self, now_s: int) -> bool:
        queue, engine, queue_ns = self._queue, self._engine, now_s * _SECOND_NS
        now_ns = _BEGIN_NS + queue_ns
        batch = queue.pop_batch(_BATCH, queue_ns)
        order = queue.by_policy
        if order is not None and order.is_to_ask and len(batch) < _BATCH:
            entered, left = order.news()
            following = engine.next_pods(entered, left, _BATCH - len(batch), queue_ns, now_ns)
            batch += queue.pop_told(following.picked, queue_ns)
            for held in following.held:
                queue.hold_by_policy(held.uid, held.hold, queue_ns)
        if not batch:
            return False
        decided = engine.schedule([attempt.uid for attempt in batch], now_ns).decisions
        outcome = take(queue, batch, decided, queue_ns)
        bound = [
            self._bound(each.pod.uid, each.decision.node, now_s) for each in outcome.placements
        ]
        if bound:
            engine.settle(
                [(each["object"]["metadata"]["uid"], Outcome.BOUND) for each in bound], now_ns
            )
            self._watch(bound, now_s)
        return True

    def _bound(self, uid: str, node_name: str, now_s: int) -> dict[str, Any]:
        placed = self._pods[uid]
        placed["spec"]["nodeName"] = node_name
        tenant, cpus = placed["metadata"]["namespace"], _cpus(placed)
        self._waiting[tenant] -= 1
        self._asked[tenant] -= cpus
        self._used[tenant] += cpus
        self._placed += 1
        heapq.heappush(self._ends, (now_s + self._random.randint(*self._setting.seconds), uid))
        return {"type": "MODIFIED", "object": placed}


def _cpus(of: Mapping[str, Any]) -> int:
    return int(of["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def fair_shares(
    used: Mapping[str, int], asked: Mapping[str, int], tenants: Sequence[Tenant]
) -> dict[str, float]:
    """What each tenant would have of what all have now, by weight and by what it asks for."""
    left = float(sum(used.values()))
    fair = {tenant.name: 0.0 for tenant in tenants}
    open_to = {tenant.name: tenant.weight for tenant in tenants}
    while left > _NOTHING and open_to:
        unit = left / sum(open_to.values())
        for name, weight in list(open_to.items()):
            room = used[name] + asked[name] - fair[name]
            got = min(unit * weight, room)
            fair[name] += got
            left -= got
            if room - got <= _NOTHING:
                del open_to[name]
    return fair
