"""Holds a pod's claims on devices before its bind: writes them, waits until drivers have made the
devices ready, and takes the reservations back. Messages are kube-scheduler's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kpolicy.cluster.writes.claim_state import ClaimChange, ClaimUser
from kpolicy.cluster.writes.claim_writer import ClaimNotWritten, ClaimWriter, ClaimWritten
from kpolicy.cluster.writes.event_recorder import EventRecorder, Reference
from kpolicy.engine import ClaimWork, Decision, Outcome
from kpolicy.scheduler.binding.reservations import BindEnd
from kpolicy.scheduler.loop.queued_pod import Attempt

_PLUGIN: Final = "DynamicResources"


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A claim that is allocated and reserved for a pod. `to_wait`: a driver makes its devices ready
    before the pod is bound, in `seconds_max` at most."""

    name: str
    to_wait: bool
    seconds_max: int


class DeviceClaims:
    def __init__(self, writer: ClaimWriter, events: EventRecorder) -> None:
        self._writer = writer
        self._events = events

    async def hold(self, pod: Attempt, work: ClaimWork) -> HeldClaim | BindEnd:
        """Allocates a claim, if it has to be, and reserves it for the pod."""
        name = work.claim
        if work.to_write:
            match await self._writer.write(_user(pod), _change(work)):
                case ClaimWritten(claim=claim):
                    name = claim["metadata"]["name"]
                case ClaimNotWritten(is_fenced=True):
                    return BindEnd(Outcome.FAILED, retry=True)
                case ClaimNotWritten(message=message):
                    return _failed(message)
        return HeldClaim(name, work.to_wait, work.seconds_max)

    async def wait(self, pod: Attempt, node: str, claims: Sequence[HeldClaim]) -> BindEnd | None:
        """Waits for the devices of all claims, which are written. Returns why the pod cannot be
        bound."""
        awaited = [claim for claim in claims if claim.to_wait]
        if awaited:
            reference = Reference(pod.namespace, pod.name, pod.uid)
            self._events.waiting_for_devices(reference, node, pod.profile)
        for claim in awaited:
            if why := await self._writer.ready(_user(pod), claim.name, claim.seconds_max):
                return _failed(why)
        return None

    async def take_back(self, pod: Attempt, decision: Decision) -> None:
        """The pod was not bound: its claims are not reserved for it any more."""
        for write in decision.writes:
            if isinstance(write, ClaimWork) and write.claim:
                await self._writer.take_back(_user(pod), write.claim)


def _user(pod: Attempt) -> ClaimUser:
    return ClaimUser(pod.namespace, pod.name, pod.uid)


def _change(work: ClaimWork) -> ClaimChange:
    allocation = json.loads(work.allocation) if work.allocation else None
    requests, mappings = (
        json.loads(text) if text else [] for text in (work.requests, work.mappings)
    )
    return ClaimChange(work.claim, work.claim_uid, allocation, requests, mappings)


def _failed(why: str) -> BindEnd:
    message = f'running PreBind plugin "{_PLUGIN}": {why}'
    return BindEnd(Outcome.FAILED, retry=True, message=message)
