"""What a pod's status says about scheduling: PodScheduled=False, and the nominated node.

Owns the patch, what was last written for each pod (so that the same is not written again), and a
queue and workers apart from binds. Must not know why a pod was not placed.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from enum import StrEnum
from json.encoder import encode_basestring_ascii

from kpolicy.clock import Clock
from kpolicy.cluster.api import STRATEGIC_MERGE_PATCH, ApiClient, Response
from kpolicy.cluster.binding import pod_path
from kpolicy.cluster.failure import Cause, Failure, Status, Unreachable
from kpolicy.cluster.limits import CONDITION_CACHE_MAX, CONDITION_QUEUE_MAX, CONDITION_WORKERS
from kpolicy.cluster.outbox import Outbox, OutboxStatistics, write
from kpolicy.cluster.timestamps import api_time
from kpolicy.heartbeat import NO_PULSE, Pulse

# These come at once, without the pauses of a server that is away.
_FINAL = frozenset({Cause.CLOSED, Cause.CREDENTIALS, Cause.OVERSIZED})


class ConditionReason(StrEnum):
    UNSCHEDULABLE = "Unschedulable"  # the cluster has no place for it now
    SCHEDULER_ERROR = "SchedulerError"  # we failed
    SCHEDULING_GATED = "SchedulingGated"  # it asked not to be looked at yet


@dataclass(frozen=True, slots=True)
class PodCondition:
    """`nominated_node`: None leaves it as it is, empty clears it. `generation` is the pod's, and
    goes into observedGeneration where it is known."""

    namespace: str
    name: str
    uid: str
    reason: ConditionReason
    message: str
    nominated_node: str | None = None
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """The last that was asked for a pod; no digest where it does not hold any more.
    `transition_ns` until a write of it has succeeded."""

    digest: int | None
    transition_ns: int | None


@dataclass(frozen=True, slots=True)
class _Patch:
    condition: PodCondition
    asked: _Asked


@dataclass(frozen=True, slots=True)
class _Release:
    """The nomination alone, of a pod about which there is nothing else to say."""

    namespace: str
    name: str
    uid: str


class PodStatusWriter:
    """Run it as a task."""

    def __init__(
        self, client: ApiClient, clock: Clock, *, cache_max: int = CONDITION_CACHE_MAX
    ) -> None:
        self._client = client
        self._clock = clock
        self._cache_max = cache_max
        # By uid. Hashes, for the messages of 100,000 pods are 100 MB.
        self._last: OrderedDict[str, _Asked] = OrderedDict()
        # By uid, from when it is said that a nomination is void until the API server has it; what
        # is said of the pod meanwhile says so too. At most what the outbox holds.
        self._releasing: set[str] = set()
        self._unchanged = 0
        self._outbox: Outbox[_Patch | _Release] = Outbox(
            self._send, capacity=CONDITION_QUEUE_MAX, workers=CONDITION_WORKERS
        )

    @property
    def unchanged(self) -> int:
        """How often nothing was written because it said so already."""
        return self._unchanged

    def set(self, condition: PodCondition, *, urgent: bool = False) -> None:
        """Write it unless it says what was written last; never waits."""
        if condition.nominated_node:
            self._releasing.discard(condition.uid)
        elif condition.uid in self._releasing:
            condition = replace(condition, nominated_node="")
        digest = hash((condition.reason, condition.message, condition.nominated_node))
        before = self._last.get(condition.uid)
        if before is not None and before.digest == digest:
            self._unchanged += 1
            return
        # Only the first one is a transition; the time of it stays while just the message changes.
        transition_ns = self._clock.now_ns() if before is None else before.transition_ns
        asked = _Asked(digest, transition_ns)
        if not self._outbox.offer(condition.uid, _Patch(condition, asked), urgent=urgent):
            return
        self._last[condition.uid] = asked
        self._last.move_to_end(condition.uid)
        if len(self._last) > self._cache_max:
            self._last.popitem(last=False)

    async def written(self, uid: str) -> bool:
        """Whether the API server has what was said last of the pod; waits until that is known."""
        await self._outbox.at_rest(uid)
        last = self._last.get(uid)
        return last is not None and last.digest is not None

    def release(self, namespace: str, name: str, uid: str) -> None:
        """The pod's nomination is void; never waits. What waits to be told of it goes along."""
        self._releasing.add(uid)
        before, waiting = self._last.get(uid), self._outbox.waiting(uid)
        if before is not None:
            before = self._last[uid] = replace(before, digest=None)
        item: _Patch | _Release = _Release(namespace, name, uid)
        if isinstance(waiting, _Patch):
            item = _with_release(waiting, before)
        if not self._outbox.offer(uid, item, urgent=True):
            self._releasing.discard(uid)

    def forget(self, uid: str) -> None:
        """The pod is gone, or on a node: what waits for it is not written any more."""
        self._last.pop(uid, None)
        self._releasing.discard(uid)
        self._outbox.withdraw(uid)

    def statistics(self) -> OutboxStatistics:
        return self._outbox.statistics()

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        await self._outbox.run(pulse)

    async def drain(self, seconds: float) -> bool:
        return await self._outbox.drain(self._clock, seconds)

    async def _send(self, patch: _Patch | _Release) -> bool:
        if isinstance(patch, _Release):
            return await self._send_release(patch)
        condition = patch.condition
        body = condition_body(condition, patch.asked.transition_ns)
        answer = await self._write(condition.namespace, condition.name, body)
        last = self._last.get(condition.uid)
        if isinstance(answer, Response):
            if last is not None:
                self._last[condition.uid] = replace(last, transition_ns=None)
            if condition.nominated_node == "":
                self._released(condition.uid)
            return True
        kept = _passes(answer) and self._keep(patch, last)
        if last == patch.asked and not kept:
            del self._last[condition.uid]
            self._released(condition.uid)
        return False

    def _keep(self, patch: _Patch, last: _Asked | None) -> bool:
        """What could not be written yet waits again, with the release that came meanwhile."""
        uid = patch.condition.uid
        if isinstance(self._outbox.waiting(uid), _Release):
            return self._outbox.offer(uid, _with_release(patch, last))
        return last == patch.asked and self._outbox.offer(uid, patch)

    async def _send_release(self, release: _Release) -> bool:
        answer = await self._write(release.namespace, release.name, release_body(release.uid))
        if isinstance(answer, Response):
            self._released(release.uid)
            return True
        # What waits, if anything does, was said later and releases too, or nominates anew.
        if release.uid in self._releasing and self._outbox.waiting(release.uid) is None:
            kept = _passes(answer) and self._outbox.offer(release.uid, release)
            if not kept:
                self._releasing.discard(release.uid)
        return False

    def _released(self, uid: str) -> None:
        """Written or given up; unless it was said again, of a later nomination."""
        if not isinstance(self._outbox.waiting(uid), _Release):
            self._releasing.discard(uid)

    async def _write(self, namespace: str, name: str, body: bytes) -> Response | Failure:
        path = f"{pod_path(namespace, name)}/status"
        return await write(
            self._client, self._clock, "PATCH", path, body, content_type=STRATEGIC_MERGE_PATCH
        )


def _with_release(patch: _Patch, last: _Asked | None) -> _Patch:
    return _Patch(replace(patch.condition, nominated_node=""), last or patch.asked)


def _passes(failure: Failure) -> bool:
    """The server is away or busy. A parked pod may not be tried again for long: what it should say
    is kept, at the end of the queue, and each round of tries takes its pauses."""
    if isinstance(failure, Status):
        return failure.transient
    return not isinstance(failure, Unreachable) or failure.cause not in _FINAL


def release_body(uid: str) -> bytes:
    uid = encode_basestring_ascii(uid)
    return f'{{"metadata":{{"uid":{uid}}},"status":{{"nominatedNodeName":null}}}}'.encode("ascii")


def condition_body(condition: PodCondition, transition_ns: int | None) -> bytes:
    """The uid makes the API server refuse it for another pod of the same name."""
    json = encode_basestring_ascii
    since = "" if transition_ns is None else f',"lastTransitionTime":"{api_time(transition_ns)}"'
    observed = (
        "" if condition.generation is None else f',"observedGeneration":{condition.generation}'
    )
    nominated = ""
    if condition.nominated_node is not None:
        node = json(condition.nominated_node) if condition.nominated_node else "null"
        nominated = f',"nominatedNodeName":{node}'
    return (
        f'{{"metadata":{{"uid":{json(condition.uid)}}},"status":{{"conditions":['
        f'{{"type":"PodScheduled","status":"False","reason":"{condition.reason}",'
        f'"message":{json(condition.message)}{since}{observed}}}]{nominated}}}}}'
    ).encode("ascii")
