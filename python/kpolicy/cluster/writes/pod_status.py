"""Writes PodScheduled=False and the nominated node to the status of pods.

Remembers what was last written for each pod, so that the same is not written again. Has a queue and
workers of its own, so that binds do not wait for it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from enum import StrEnum
from json.encoder import encode_basestring_ascii

from kpolicy.api_times import api_time
from kpolicy.clock import Clock
from kpolicy.cluster.api import STRATEGIC_MERGE_PATCH, ApiClient, Response
from kpolicy.cluster.limits import CONDITION_CACHE_MAX, CONDITION_QUEUE_MAX, CONDITION_WORKERS
from kpolicy.cluster.request_failure import Cause, Failure, Status, Unreachable
from kpolicy.cluster.writes.conventions import observed_generation, pod_path
from kpolicy.cluster.writes.outbox import Outbox, write


class ConditionReason(StrEnum):
    UNSCHEDULABLE = "Unschedulable"  # no node fits now, and autoscalers may add one
    # No node fits now, and a new one would not either. Autoscalers leave such pods alone.
    REJECTED_BY_POLICY = "RejectedByPolicy"
    # No node was chosen, because that takes more work than one decision may. A new node adds work.
    TOO_MUCH_WORK = "TooMuchWork"
    SCHEDULER_ERROR = "SchedulerError"  # an error of ours


@dataclass(frozen=True, slots=True)
class PodCondition:
    """A PodScheduled=False condition. `nominated_node`: None keeps the current one, empty clears
    it. `reason`: a `ConditionReason`, or that of a hold of a policy. `generation`: of the pod that
    was judged; 0 if it is not known."""

    namespace: str
    name: str
    uid: str
    reason: str
    message: str
    nominated_node: str | None = None
    generation: int = 0


def condition_body(condition: PodCondition, transition_ns: int | None) -> bytes:
    """Return the patch of the status. The uid makes the API server reject it for another pod of
    the same name."""
    text = encode_basestring_ascii
    since = "" if transition_ns is None else f',"lastTransitionTime":"{api_time(transition_ns)}"'
    observed = observed_generation(condition.generation)
    node = condition.nominated_node
    nominated = "" if node is None else f',"nominatedNodeName":{_node(node)}'
    return (
        f'{{"metadata":{{"uid":{text(condition.uid)}}},"status":{{"conditions":['
        f'{{"type":"PodScheduled","status":"False","reason":"{condition.reason}",'
        f'"message":{text(condition.message)}{since}{observed}}}]{nominated}}}}}'
    ).encode("ascii")


def nomination_body(uid: str, node: str) -> bytes:
    """Return the patch of the nominated node alone; an empty node clears it."""
    of_pod = f'"metadata":{{"uid":{encode_basestring_ascii(uid)}}}'
    return f'{{{of_pod},"status":{{"nominatedNodeName":{_node(node)}}}}}'.encode("ascii")


def _node(name: str) -> str:
    return encode_basestring_ascii(name) if name else "null"


# these failures come at once, without the pauses of a server that is away
_FINAL = frozenset({Cause.CLOSED, Cause.CREDENTIALS, Cause.OVERSIZED})


@dataclass(frozen=True, slots=True)
class _Requested:
    """The last request for a pod. `digest` is None if it no longer holds; `transition_ns`
    is set until it was written."""

    digest: int | None
    transition_ns: int | None


@dataclass(frozen=True, slots=True)
class _Patch:
    condition: PodCondition
    requested: _Requested


@dataclass(frozen=True, slots=True)
class _Nomination:
    """The nominated node alone, without a condition; empty to clear it."""

    namespace: str
    name: str
    uid: str
    node: str


class PodStatusWriter:
    """Run its outbox as a task."""

    def __init__(
        self, client: ApiClient, clock: Clock, *, cache_max: int = CONDITION_CACHE_MAX
    ) -> None:
        self._client = client
        self._clock = clock
        self._cache_max = cache_max
        # By uid. Only hashes are kept: the messages of 100,000 pods would take 100 MB.
        self._last: OrderedDict[str, _Requested] = OrderedDict()
        # Uids whose nomination is to be cleared, until the API server has cleared it. Conditions
        # that are written meanwhile clear it too. No more than the outbox holds.
        self._releasing: set[str] = set()
        # How many writes were skipped since the status had the same content already.
        self.unchanged = 0
        self.outbox: Outbox[_Patch | _Nomination] = Outbox(
            self._send, capacity=CONDITION_QUEUE_MAX, workers=CONDITION_WORKERS
        )

    def set(self, condition: PodCondition, *, urgent: bool = False) -> None:
        """Queue the condition, unless it equals the one written last; never waits."""
        if condition.nominated_node:
            self._releasing.discard(condition.uid)
        elif condition.uid in self._releasing:
            condition = replace(condition, nominated_node="")
        # As in kube-scheduler, a new generation alone is nothing to write.
        digest = hash((condition.reason, condition.message, condition.nominated_node))
        before = self._last.get(condition.uid)
        if before is not None and before.digest == digest:
            self.unchanged += 1
            return
        # Only the first is a transition; a change of the message keeps its time.
        transition_ns = self._clock.now_ns() if before is None else before.transition_ns
        requested = _Requested(digest, transition_ns)
        if not self.outbox.offer(condition.uid, _Patch(condition, requested), urgent=urgent):
            return
        self._last[condition.uid] = requested
        self._last.move_to_end(condition.uid)
        if len(self._last) > self._cache_max:
            self._last.popitem(last=False)

    async def written(self, uid: str) -> bool:
        """Wait until it is known whether the last condition of the pod was written; return
        whether it was."""
        await self.outbox.at_rest(uid)
        last = self._last.get(uid)
        return last is not None and last.digest is not None

    def nominate(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Queue the nomination of a node to which the pod will soon be bound; never waits."""
        self._releasing.discard(uid)
        self._offer_nomination(_Nomination(namespace, name, uid, node))

    def release(self, namespace: str, name: str, uid: str) -> None:
        """Queue the clearing of the pod's nomination; never waits. A waiting condition clears it
        too."""
        self._releasing.add(uid)
        if not self._offer_nomination(_Nomination(namespace, name, uid, "")):
            self._releasing.discard(uid)

    def forget(self, uid: str) -> None:
        """Drop what waits for a pod that is deleted or bound."""
        self._last.pop(uid, None)
        self._releasing.discard(uid)
        self.outbox.withdraw(uid)

    def _offer_nomination(self, nomination: _Nomination) -> bool:
        """Queue a nomination. The condition requested last must be written again, even if it is
        the same."""
        uid = nomination.uid
        before, waiting = self._last.get(uid), self.outbox.waiting(uid)
        if before is not None:
            before = self._last[uid] = replace(before, digest=None)
        item: _Patch | _Nomination = nomination
        if isinstance(waiting, _Patch):
            item = _with_nomination(waiting, nomination.node, before)
        return self.outbox.offer(uid, item, urgent=True)

    async def _send(self, patch: _Patch | _Nomination) -> bool:
        if isinstance(patch, _Nomination):
            return await self._send_nomination(patch)
        condition = patch.condition
        body = condition_body(condition, patch.requested.transition_ns)
        answer = await self._write(condition.namespace, condition.name, body)
        last = self._last.get(condition.uid)
        if isinstance(answer, Response):
            if last is not None:
                self._last[condition.uid] = replace(last, transition_ns=None)
            if condition.nominated_node == "":
                self._released(condition.uid)
            return True
        kept = _passes(answer) and self._keep(patch, last)
        if last == patch.requested and not kept:
            del self._last[condition.uid]
            self._released(condition.uid)
        return False

    def _keep(self, patch: _Patch, last: _Requested | None) -> bool:
        """Queue again what could not be written yet, with a nomination that was changed
        meanwhile."""
        uid = patch.condition.uid
        if isinstance(waiting := self.outbox.waiting(uid), _Nomination):
            return self.outbox.offer(uid, _with_nomination(patch, waiting.node, last))
        return last == patch.requested and self.outbox.offer(uid, patch)

    async def _send_nomination(self, nomination: _Nomination) -> bool:
        uid = nomination.uid
        body = nomination_body(uid, nomination.node)
        answer = await self._write(nomination.namespace, nomination.name, body)
        if isinstance(answer, Response):
            if not nomination.node:
                self._released(uid)
            return True
        if nomination.node:
            return False  # not tried again later: the bind does not depend on it
        # An item that waits is newer, and clears the nomination too or sets another one.
        if uid in self._releasing and self.outbox.waiting(uid) is None:
            kept = _passes(answer) and self.outbox.offer(uid, nomination)
            if not kept:
                self._releasing.discard(uid)
        return False

    def _released(self, uid: str) -> None:
        """Note that the nomination was cleared or given up, unless a later one is to be cleared."""
        waiting = self.outbox.waiting(uid)
        if not (isinstance(waiting, _Nomination) and not waiting.node):
            self._releasing.discard(uid)

    async def _write(self, namespace: str, name: str, body: bytes) -> Response | Failure:
        path = f"{pod_path(namespace, name)}/status"
        return await write(
            self._client, self._clock, "PATCH", path, body, content_type=STRATEGIC_MERGE_PATCH
        )


def _with_nomination(patch: _Patch, node: str, last: _Requested | None) -> _Patch:
    return _Patch(replace(patch.condition, nominated_node=node), last or patch.requested)


def _passes(failure: Failure) -> bool:
    """Whether the server is away or busy. The item then goes to the end of the queue, because a
    parked pod may not be tried again for a long time."""
    if isinstance(failure, Status):
        return failure.transient
    return not isinstance(failure, Unreachable) or failure.cause not in _FINAL
