"""Compares nodes, pods, nominations and the queue with what the API server has.

A difference counts only if two passes find it, some time apart: between two answers of a busy
cluster there are always some. It reads only and repairs nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum

from kpolicy.api_times import NANOSECONDS
from kpolicy.cluster.api import ApiClient
from kpolicy.cluster.watch.listing import Roster, RosterPod, read_roster
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.queue import QueueStatistics
from kpolicy.scheduler.loop.queue_feed import QueueFeed
from kpolicy.scheduler.loop.queued_pod import Lane, QueuedPod
from kpolicy.scheduler.loop.watched_resources import RESOURCES
from kpolicy.scheduler.runtime import Runtime
from kpolicy.telemetry.metrics import Labels

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Compared:
    """`failure` says why the comparison was not possible; it is empty otherwise."""

    nodes: int = 0
    pods: int = 0
    queued: int = 0
    passes: int = 0
    differences: tuple[Difference, ...] = ()
    failure: str = ""

    def shown(self) -> dict[str, object]:
        listed = self.differences[: limits.DIFFERENCES_SHOWN_MAX]
        return {
            **{name: getattr(self, name) for name in ("nodes", "pods", "queued", "passes")},
            "differences": len(self.differences),
            "listed": [asdict(difference) for difference in listed],
            **({"failure": self.failure} if self.failure else {}),
        }


class Comparer:
    def __init__(
        self, client: ApiClient, runtime: Runtime, feed: QueueFeed, group: asyncio.TaskGroup
    ) -> None:
        self._client = client
        self._runtime = runtime
        self._feed = feed
        self._group = group
        self._under_way: asyncio.Task[Compared] | None = None
        self._dumping: asyncio.Task[None] | None = None
        self._runs = Counter({"compared": 0, "failed": 0})
        self._ended_ns = 0
        self._differences: Counter[tuple[str, str]] = Counter()

    async def compare(self) -> Compared:
        """Compare and log. If a comparison is under way, its answer is returned."""
        if self._under_way is None or self._under_way.done():
            self._under_way = self._group.create_task(self._run(), name="comparer")
        return await asyncio.shield(self._under_way)

    def begin_dump(self) -> None:
        """Compares, and writes the queue to the log, one dump at a time."""
        if self._dumping is None or self._dumping.done():
            self._dumping = self._group.create_task(self._dump(), name="dump")

    # --- for metrics -----------------------------------------------------------------------------

    def differences(self) -> dict[Labels, float]:
        """The result of the last comparison; None before the first one."""
        if not self._runs["compared"]:
            return {}
        return {
            (what, side.value): self._differences[what, side.value]
            for what in WHATS
            for side in Side
        }

    def runs(self) -> dict[Labels, float]:
        return {(result,): count for result, count in self._runs.items()}

    def ended_seconds(self) -> dict[Labels, float]:
        return {(): self._ended_ns / NANOSECONDS}

    # --- inside ----------------------------------------------------------------------------------

    async def _run(self) -> Compared:
        compared = await self._pass()
        if compared.differences and not compared.failure:
            found = set(compared.differences)
            await self._runtime.clock.sleep(limits.COMPARE_AGAIN_S)
            again = await self._pass()
            lasting = tuple(difference for difference in again.differences if difference in found)
            compared = Compared(again.nodes, again.pods, again.queued, 2, lasting, again.failure)
        self._report(compared)
        return compared

    async def _pass(self) -> Compared:
        roster = await read_roster(self._client, RESOURCES["nodes"], RESOURCES["pods"])
        if isinstance(roster, str):
            return Compared(failure=roster)
        lines = await self._runtime.engine.call(self._runtime.engine.engine.holdings)
        entries = self._feed.queue.entries()
        misfiled = _misfiled(entries, self._feed.queue.statistics())
        queued = {pod.uid: pod.key for pod in entries}
        serves = self._feed.serves

        def work() -> list[Difference]:
            return compare(roster, Holdings.read(lines), queued, serves)

        found = (*await asyncio.to_thread(work), *misfiled)
        return Compared(len(roster.nodes), len(roster.pods), len(queued), 1, found)

    def _report(self, compared: Compared) -> None:
        if compared.failure:
            self._runs["failed"] += 1
            _log.warning("nothing was compared: %s", compared.failure, extra={"code": "KPS304"})
            return
        self._runs["compared"] += 1
        self._ended_ns = self._runtime.clock.now_ns()
        self._differences = Counter(
            (difference.what, difference.side.value) for difference in compared.differences
        )
        for difference in compared.differences[: limits.DIFFERENCES_LOGGED_MAX]:
            _log.error(
                "%s of %s %s",
                difference.what,
                difference.subject,
                difference.side.value,
                extra={
                    "code": "KPS303",
                    "uid": difference.uid,
                    "api": difference.theirs,
                    "ours": difference.ours,
                },
            )
        _log.log(
            logging.ERROR if compared.differences else logging.INFO,
            "compared with the API server: %d differences",
            len(compared.differences),
            extra={
                "nodes": compared.nodes,
                "pods": compared.pods,
                "queued": compared.queued,
                **({"code": "KPS303"} if compared.differences else {}),
            },
        )

    async def _dump(self) -> None:
        await self.compare()
        entries = self._feed.queue.entries()
        now_ns = self._runtime.clock.monotonic_ns()
        for pod in entries[: limits.QUEUE_DUMPED_MAX]:
            _log.info("queued: %s", pod.key, extra=_fields(pod, now_ns))
        lanes = Counter(pod.lane.value for pod in entries)
        left = max(0, len(entries) - limits.QUEUE_DUMPED_MAX)
        _log.info("the queue holds %d pods", len(entries), extra={**lanes, "not_listed": left})


def _misfiled(entries: list[QueuedPod], lanes: QueueStatistics) -> list[Difference]:
    """Lanes of the queue that hold another number of pods than the pods' own lanes say."""
    in_lane = Counter(pod.lane for pod in entries)
    kept = {
        Lane.ACTIVE: lanes.active,
        Lane.BACKOFF: lanes.backoff,
        Lane.PARKED: lanes.parked,
        Lane.GATED: lanes.gated,
    }
    return [
        Difference("queue", Side.DIFFERENT, lane.value, theirs=str(in_lane[lane]), ours=str(count))
        for lane, count in kept.items()
        if in_lane[lane] != count
    ]


def _fields(pod: QueuedPod, now_ns: int) -> dict[str, object]:
    return {
        "pod_uid": pod.uid,
        "lane": pod.lane.value,
        "profile": pod.profile,
        "priority": pod.priority,
        "attempts": pod.attempts,
        "seconds": round((now_ns - pod.timestamp_ns) / NANOSECONDS, 1),
        "rejected_by": list(pod.rejected_by),
    }


class Side(StrEnum):
    MISSED = "missed"  # the API server has it, we do not
    REDUNDANT = "redundant"  # we have it, the API server does not
    DIFFERENT = "different"  # both have it, elsewhere


@dataclass(frozen=True, slots=True)
class Difference:
    """`what` differs: `nodes`, `pods`, `places`, `nominations` or `queue`."""

    what: str
    side: Side
    subject: str
    uid: str = ""
    theirs: str = ""
    ours: str = ""


WHATS = ("nodes", "pods", "places", "nominations", "queue")


@dataclass(frozen=True, slots=True)
class HeldPod:
    key: str
    node: str
    is_assumed: bool
    nominated: str
    scheduler: str


@dataclass(frozen=True, slots=True)
class Holdings:
    """The objects that the engine holds; pods by uid."""

    nodes: frozenset[str]
    pods: Mapping[str, HeldPod]

    @classmethod
    def read(cls, lines: bytes) -> Holdings:
        """Reads `Engine.holdings` one line at a time, so that other threads can run."""
        first, *rest = lines.splitlines()
        pods = {uid: HeldPod(*held) for uid, *held in map(json.loads, rest)}
        return cls(frozenset(json.loads(first)), pods)


def compare(
    theirs: Roster,
    ours: Holdings,
    queued: Mapping[str, str],
    serves: Callable[[str], bool],
) -> list[Difference]:
    """`queued`: keys of pods in the queue, by uid; `serves`: whether a schedulerName is ours."""
    return [
        *_nodes(theirs, ours),
        *_pods(theirs, ours),
        *_queue(theirs, ours, queued, serves),
    ]


def _nodes(theirs: Roster, ours: Holdings) -> Iterator[Difference]:
    missed = sorted(theirs.nodes - ours.nodes)
    yield from (Difference("nodes", Side.MISSED, name) for name in missed)
    redundant = sorted(ours.nodes - theirs.nodes)
    yield from (Difference("nodes", Side.REDUNDANT, name) for name in redundant)


def _pods(theirs: Roster, ours: Holdings) -> Iterator[Difference]:
    for uid, pod in theirs.pods.items():
        held = ours.pods.get(uid)
        if held is None:
            yield Difference("pods", Side.MISSED, pod.key, uid)
            continue
        # An assumed pod is on a node before the API server knows it.
        if pod.node != held.node and not (held.is_assumed and not pod.node):
            yield Difference("places", Side.DIFFERENT, pod.key, uid, pod.node, held.node)
        elif not pod.node and not held.node and pod.nominated != held.nominated:
            yield _nomination(uid, pod, held)
    for uid, held in ours.pods.items():
        if uid not in theirs.pods:
            yield Difference("pods", Side.REDUNDANT, held.key, uid, ours=held.node)


def _nomination(uid: str, pod: RosterPod, held: HeldPod) -> Difference:
    side = Side.DIFFERENT
    if not pod.nominated:
        side = Side.REDUNDANT
    elif not held.nominated:
        side = Side.MISSED
    return Difference("nominations", side, pod.key, uid, pod.nominated, held.nominated)


def _queue(
    theirs: Roster,
    ours: Holdings,
    queued: Mapping[str, str],
    serves: Callable[[str], bool],
) -> Iterator[Difference]:
    for uid, pod in theirs.pods.items():
        is_waiting = not pod.node and not pod.is_leaving and serves(pod.scheduler)
        if is_waiting and uid not in queued:
            yield Difference("queue", Side.MISSED, pod.key, uid)
    for uid, key in queued.items():
        found = theirs.pods.get(uid)
        held = ours.pods.get(uid)
        # A bound pod stays under way until the watch has shown it on its node.
        if found is None or (found.node and not (held is not None and held.is_assumed)):
            node = found.node if found is not None else ""
            yield Difference("queue", Side.REDUNDANT, key, uid, node)
