"""A Lease as a value, and who may take it. Pure.

Times in a Lease come from other machines' clocks: we write them for people and never trust them.
What counts is when we saw the record change, by our own monotonic clock.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import ceil
from typing import Any

from kpolicy.api_times import NANOSECONDS, api_micro_time
from kpolicy.cluster.connection_problem import ConnectionProblem, problem
from kpolicy.cluster.limits import (
    LEASE_DURATION_S,
    LEASE_JITTER,
    LEASE_RENEW_DEADLINE_S,
    LEASE_RETRY_S,
)


@dataclass(frozen=True, slots=True)
class LeaseLock:
    """A Lease, and under which name this replica holds it."""

    namespace: str
    name: str
    identity: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """The terms of an election; use `checked` to make them.

    Other replicas wait `duration_s` before they take over. A leader stops acting after
    `renew_deadline_s` without renewal. The difference is the time that its last bind may take.
    """

    duration_s: float
    renew_deadline_s: float
    retry_s: float

    @classmethod
    def checked(
        cls,
        duration_s: float = LEASE_DURATION_S,
        renew_deadline_s: float = LEASE_RENEW_DEADLINE_S,
        retry_s: float = LEASE_RETRY_S,
    ) -> LeaseTerms | ConnectionProblem:
        wrong = ""
        if min(duration_s, renew_deadline_s, retry_s) <= 0:
            wrong = "durations of leader election must be above 0"
        elif duration_s < 1 or duration_s != int(duration_s):
            wrong = f"leaseDuration {duration_s:g}s is not whole seconds, as the Lease stores it"
        elif duration_s <= renew_deadline_s:
            wrong = (
                f"leaseDuration {duration_s:g}s must be above renewDeadline {renew_deadline_s:g}s"
            )
        elif renew_deadline_s <= LEASE_JITTER * retry_s:
            wrong = (
                f"renewDeadline {renew_deadline_s:g}s must be above"
                f" {LEASE_JITTER:g} x retryPeriod {retry_s:g}s"
            )
        if wrong:
            return problem("KPC301", wrong, "the defaults are 15s, 10s and 2s")
        return cls(duration_s, renew_deadline_s, retry_s)


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The Lease that the API server holds. `document` keeps all its fields, so that a write loses
    none."""

    holder: str
    duration_s: float
    transitions: int
    renewed: str  # the time that its writer wrote
    resource_version: str
    document: dict[str, Any]


def read_lease(body: bytes) -> LeaseRecord | None:
    """Read a Lease; None if the body is something else."""
    try:
        document = json.loads(body)
        spec = document.get("spec") or {}
        return LeaseRecord(
            holder=str(spec.get("holderIdentity") or ""),
            duration_s=float(int(spec.get("leaseDurationSeconds") or 0)),
            transitions=int(spec.get("leaseTransitions") or 0),
            renewed=str(spec.get("renewTime") or ""),
            resource_version=str(document["metadata"].get("resourceVersion") or ""),
            document=document,
        )
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Observation:
    """A record, and when we first saw it in this version."""

    record: LeaseRecord
    since_ns: int

    def next(self, record: LeaseRecord, monotonic_ns: int) -> Observation:
        same = record.resource_version == self.record.resource_version
        return Observation(record, self.since_ns if same else monotonic_ns)

    def wait_ns(self, identity: str, monotonic_ns: int) -> int:
        """Return for how long it may not be taken, if it is not renewed: 0 if nobody holds it, or
        we do, or its holder has not renewed it in time."""
        if self.record.holder in {"", identity}:
            return 0
        promised_ns = ceil(self.record.duration_s * NANOSECONDS)
        return max(0, self.since_ns + promised_ns - monotonic_ns)


def new_lease(lock: LeaseLock, terms: LeaseTerms, now_ns: int) -> bytes:
    now = api_micro_time(now_ns)
    return json.dumps(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": lock.name, "namespace": lock.namespace},
            "spec": {
                "holderIdentity": lock.identity,
                "leaseDurationSeconds": int(terms.duration_s),
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": 0,
            },
        }
    ).encode()


def held_lease(record: LeaseRecord, identity: str, terms: LeaseTerms, now_ns: int) -> bytes:
    """Return the Lease with us as holder, renewed or taken over (a transition).

    Its resourceVersion makes the write fail if another replica was faster.
    """
    now = api_micro_time(now_ns)
    acquired = {"acquireTime": now, "leaseTransitions": record.transitions + 1}
    return _changed(
        record,
        {
            **(acquired if record.holder != identity else {}),
            "holderIdentity": identity,
            "leaseDurationSeconds": int(terms.duration_s),
            "renewTime": now,
        },
    )


def released_lease(record: LeaseRecord, now_ns: int) -> bytes:
    """Return the Lease without a holder; the count of transitions stays."""
    now = api_micro_time(now_ns)
    times = {"renewTime": now, "acquireTime": now}
    return _changed(record, {"holderIdentity": "", "leaseDurationSeconds": 1, **times})


def _changed(record: LeaseRecord, spec: dict[str, Any]) -> bytes:
    spec = {**(record.document.get("spec") or {}), **spec}
    return json.dumps({**record.document, "spec": spec}).encode()
