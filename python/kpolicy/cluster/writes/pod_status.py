"""Writes PodScheduled=False and the nominated node to the status of pods.

Remembers what was last written for each pod, so that the same is not written again. Has a queue and
workers of its own, so that binds do not wait for it.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, replace
from enum import StrEnum
from json.encoder import encode_basestring_ascii
from typing import Final

from kpolicy.clock import Clock
from kpolicy.cluster.api import STRATEGIC_MERGE_PATCH, ApiClient, Response
from kpolicy.cluster.limits import CONDITION_CACHE_MAX, CONDITION_QUEUE_MAX, CONDITION_WORKERS
from kpolicy.cluster.request_failure import Cause, Failure, Status, Unreachable
from kpolicy.cluster.writes.conventions import api_time, pod_path
from kpolicy.cluster.writes.outbox import Outbox, OutboxStatistics, write
from kpolicy.heartbeat import NO_PULSE, Pulse

# Pods are created with it, and only changes of their spec count it up: gates that are lifted, say.
FIRST_GENERATION: Final = 1


class ConditionReason(StrEnum):
    UNSCHEDULABLE = "Unschedulable"  # the cluster has no place for it now
    SCHEDULER_ERROR = "SchedulerError"  # we failed


@dataclass(frozen=True, slots=True)
class PodCondition:
    """`nominated_node`: None leaves it as it is, empty clears it."""

    namespace: str
    name: str
    uid: str
    reason: ConditionReason
    message: str
    nominated_node: str | None = None


def condition_body(condition: PodCondition, transition_ns: int | None, generation: int) -> bytes:
    """The uid makes the API server refuse it for another pod of the same name. `generation` is that
    of the pod as we saw it; 0: not known."""
    text = encode_basestring_ascii
    since = "" if transition_ns is None else f',"lastTransitionTime":"{api_time(transition_ns)}"'
    observed = f',"observedGeneration":{generation}' if generation else ""
    nominated = ""
    if condition.nominated_node is not None:
        nominated = f',"nominatedNodeName":{_node(condition.nominated_node)}'
    return (
        f'{{"metadata":{{"uid":{text(condition.uid)}}},"status":{{"conditions":['
        f'{{"type":"PodScheduled","status":"False","reason":"{condition.reason}",'
        f'"message":{text(condition.message)}{since}{observed}}}]{nominated}}}}}'
    ).encode("ascii")


def nomination_body(uid: str, node: str) -> bytes:
    """The nomination alone; an empty node clears it."""
    of_pod = f'"metadata":{{"uid":{encode_basestring_ascii(uid)}}}'
    return f'{{{of_pod},"status":{{"nominatedNodeName":{_node(node)}}}}}'.encode("ascii")


def generation_of(body: bytes) -> int:
    """Of the pod in an answer; 0 from an API server that does not count them, or for no pod."""
    try:
        return int(json.loads(body)["metadata"].get("generation") or 0)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return 0


def _node(name: str) -> str:
    return encode_basestring_ascii(name) if name else "null"


# These come at once, without the pauses of a server that is away.
_FINAL = frozenset({Cause.CLOSED, Cause.CREDENTIALS, Cause.OVERSIZED})


@dataclass(frozen=True, slots=True)
class _Asked:
    """The last that was asked for a pod; no digest where it does not hold any more.
    `transition_ns` until a write of it has succeeded. `generation` as last seen in an answer."""

    digest: int | None
    transition_ns: int | None
    generation: int = FIRST_GENERATION


@dataclass(frozen=True, slots=True)
class _Patch:
    condition: PodCondition
    asked: _Asked


@dataclass(frozen=True, slots=True)
class _Nomination:
    """The nominated node alone, of a pod about which there is nothing else to say; empty where it
    is void."""

    namespace: str
    name: str
    uid: str
    node: str


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
        self._outbox: Outbox[_Patch | _Nomination] = Outbox(
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
        generation = FIRST_GENERATION if before is None else before.generation
        asked = _Asked(digest, transition_ns, generation)
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

    def nominate(self, namespace: str, name: str, uid: str, node: str) -> None:
        """The pod is to be bound to this node before long; never waits."""
        self._releasing.discard(uid)
        self._offer_nomination(_Nomination(namespace, name, uid, node))

    def release(self, namespace: str, name: str, uid: str) -> None:
        """The pod's nomination is void; never waits. What waits to be told of it goes along."""
        self._releasing.add(uid)
        if not self._offer_nomination(_Nomination(namespace, name, uid, "")):
            self._releasing.discard(uid)

    async def at_rest(self, uid: str) -> None:
        """Until nothing about the pod waits or is under way."""
        await self._outbox.at_rest(uid)

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

    def _offer_nomination(self, nomination: _Nomination) -> bool:
        """What was said last does not hold any more, even if the same is said again."""
        uid = nomination.uid
        before, waiting = self._last.get(uid), self._outbox.waiting(uid)
        if before is not None:
            before = self._last[uid] = replace(before, digest=None)
        item: _Patch | _Nomination = nomination
        if isinstance(waiting, _Patch):
            item = _with_nomination(waiting, nomination.node, before)
        return self._outbox.offer(uid, item, urgent=True)

    async def _send(self, patch: _Patch | _Nomination) -> bool:
        if isinstance(patch, _Nomination):
            return await self._send_nomination(patch)
        condition = patch.condition
        answer, generation = await self._write_condition(patch)
        last = self._last.get(condition.uid)
        if isinstance(answer, Response):
            if last is not None:
                known = replace(last, transition_ns=None, generation=generation)
                self._last[condition.uid] = known
            if condition.nominated_node == "":
                self._released(condition.uid)
            return True
        kept = _passes(answer) and self._keep(patch, last)
        if last == patch.asked and not kept:
            del self._last[condition.uid]
            self._released(condition.uid)
        return False

    async def _write_condition(self, patch: _Patch) -> tuple[Response | Failure, int]:
        """Once more where the pod turns out to be of another generation than it was known to be."""
        condition, asked = patch.condition, patch.asked
        generation = asked.generation
        for _ in range(2):
            body = condition_body(condition, asked.transition_ns, generation)
            answer = await self._write(condition.namespace, condition.name, body)
            seen = generation_of(answer.body) if isinstance(answer, Response) else 0
            if seen in {0, generation}:
                break
            generation = seen
        return answer, generation

    def _keep(self, patch: _Patch, last: _Asked | None) -> bool:
        """What could not be written yet waits again, with the release that came meanwhile."""
        uid = patch.condition.uid
        waiting = self._outbox.waiting(uid)
        if isinstance(waiting, _Nomination):
            return self._outbox.offer(uid, _with_nomination(patch, waiting.node, last))
        return last == patch.asked and self._outbox.offer(uid, patch)

    async def _send_nomination(self, nomination: _Nomination) -> bool:
        uid = nomination.uid
        body = nomination_body(uid, nomination.node)
        answer = await self._write(nomination.namespace, nomination.name, body)
        if isinstance(answer, Response):
            if not nomination.node:
                self._released(uid)
            return True
        if nomination.node:
            return False  # not told later either: the bind does not depend on it
        # What waits, if anything does, was said later and releases too, or nominates anew.
        if uid in self._releasing and self._outbox.waiting(uid) is None:
            kept = _passes(answer) and self._outbox.offer(uid, nomination)
            if not kept:
                self._releasing.discard(uid)
        return False

    def _released(self, uid: str) -> None:
        """Written or given up; unless it was said again, of a later nomination."""
        waiting = self._outbox.waiting(uid)
        if not (isinstance(waiting, _Nomination) and not waiting.node):
            self._releasing.discard(uid)

    async def _write(self, namespace: str, name: str, body: bytes) -> Response | Failure:
        path = f"{pod_path(namespace, name)}/status"
        return await write(
            self._client, self._clock, "PATCH", path, body, content_type=STRATEGIC_MERGE_PATCH
        )


def _with_nomination(patch: _Patch, node: str, last: _Asked | None) -> _Patch:
    return _Patch(replace(patch.condition, nominated_node=node), last or patch.asked)


def _passes(failure: Failure) -> bool:
    """The server is away or busy. A parked pod may not be tried again for long: what it should say
    is kept, at the end of the queue, and each round of tries takes its pauses."""
    if isinstance(failure, Status):
        return failure.transient
    return not isinstance(failure, Unreachable) or failure.cause not in _FINAL
