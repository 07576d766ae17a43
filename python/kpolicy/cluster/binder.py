"""Bind a pod to a node, and know what came of it.

Owns the requests, their retries and the settling of lost answers. Assumes that the caller bounds
how many are under way, and comes back with what is in doubt. Must not know reservations: it
reports, the caller settles. The local fence is asked before every single send, also of a retry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.binding import (
    AlreadyOurs,
    Binding,
    BindOutcome,
    Bound,
    Fenced,
    Gone,
    Overloaded,
    PodUnreadable,
    Refused,
    TakenByOther,
    Unknown,
    binding_body,
    conflict_outcome,
    pod_path,
    seen_on,
)
from kpolicy.cluster.doubt import in_doubt_until_ns, server_timeout
from kpolicy.cluster.failure import Cause, Failure, Status, Unreachable
from kpolicy.cluster.limits import (
    BIND_RETRY_AFTER_S_MAX,
    BIND_RETRY_S,
    BIND_SENDS_IN_DOUBT_MAX,
    BIND_TIMEOUT_S,
    BIND_TRIES_MAX,
    SETTLE_TIMEOUT_S,
    SETTLE_TRIES_MAX,
)

_CREATED = 201
_NOT_FOUND = 404
_CONFLICT = 409
# These hold whatever became of an earlier try: a pod is bound once, and never unbound.
_SETTLED = (Bound, AlreadyOurs, TakenByOther, Gone)


class Binder:
    """`fence` is true while we may act; without leader election, always."""

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        fence: Callable[[], bool] = lambda: True,
        *,
        timeout_s: float = BIND_TIMEOUT_S,
    ) -> None:
        self._client = client
        self._clock = clock
        self._fence = fence
        self._timeout_s = timeout_s
        self._query = {"timeout": server_timeout(timeout_s)}

    async def bind(self, binding: Binding, traceparent: str | None = None) -> BindOutcome:
        """Where one try may have been written, nothing that another came to is the end: only the
        API server's word on the pod is."""
        outcome: BindOutcome = Fenced()
        doubt: Unknown | None = None
        for attempt in range(1, BIND_TRIES_MAX + 1):
            if not self._fence():
                break
            outcome = await self._send(binding, traceparent)
            if isinstance(outcome, Unknown):
                doubt = _longer(doubt, outcome)
                seen = await self._seen(binding)
                if isinstance(seen, PodUnreadable):
                    break
                outcome = seen or Overloaded(BIND_RETRY_S, str(outcome.failure))
            if isinstance(outcome, _SETTLED):
                return outcome
            if not isinstance(outcome, Overloaded) or attempt == BIND_TRIES_MAX:
                break
            if outcome.retry_after_s > BIND_RETRY_AFTER_S_MAX:
                break
            await self._clock.sleep(outcome.retry_after_s)
        return doubt or outcome

    async def settle(
        self,
        binding: Binding,
        doubt: Unknown,
        traceparent: str | None = None,
        *,
        may_send: bool = True,
    ) -> BindOutcome:
        """What became of a bind in doubt, or that nobody knows yet. Sent again it holds for the
        same pod and node, so that twice is once, and an answer to either is an end to both."""
        began_ns = self._clock.monotonic_ns()
        seen = await self._seen(binding)
        if isinstance(seen, PodUnreadable):
            return doubt
        if seen is not None:
            return seen
        if began_ns >= doubt.until_ns:
            return Overloaded(BIND_RETRY_S, str(doubt.failure))
        if not (may_send and doubt.sends_left and self._fence()):
            return doubt
        outcome = await self._send(binding, traceparent)
        if isinstance(outcome, Unknown):
            return replace(_longer(doubt, outcome), sends_left=doubt.sends_left - 1)
        return outcome if isinstance(outcome, _SETTLED) else doubt

    async def _send(self, binding: Binding, traceparent: str | None) -> BindOutcome:
        """One try; `Overloaded`: it was not written and may be tried again."""
        path = f"{pod_path(binding.namespace, binding.name)}/binding"
        answer = await self._client.request(
            "POST",
            path,
            self._query,
            binding_body(binding),
            timeout_s=self._timeout_s,
            traceparent=traceparent,
        )
        if isinstance(answer, Response):
            if answer.status == _CREATED:
                return Bound()
            text = f"{answer.status} is no answer to a binding"
            answer = Unreachable(Cause.LOST, text, sent=True)
        until_ns = in_doubt_until_ns(answer, self._clock.monotonic_ns())
        if until_ns:
            return Unknown(answer, until_ns, BIND_SENDS_IN_DOUBT_MAX)
        return _refusal(binding, answer)

    async def _seen(self, binding: Binding) -> BindOutcome | PodUnreadable | None:
        """What the pod itself tells, read from etcd; None: it is on no node as yet."""
        for attempt in range(1, SETTLE_TRIES_MAX + 1):
            answer = await self._client.request(
                "GET", pod_path(binding.namespace, binding.name), timeout_s=SETTLE_TIMEOUT_S
            )
            if isinstance(answer, Response):
                return seen_on(binding, answer.body)
            if isinstance(answer, Status) and answer.code == _NOT_FOUND:
                return Gone()
            if isinstance(answer, Status) and not answer.transient:
                return PodUnreadable()
            if attempt < SETTLE_TRIES_MAX:
                await self._clock.sleep(BIND_RETRY_S * 2**attempt)
        return PodUnreadable()


def _refusal(binding: Binding, failure: Failure) -> BindOutcome:
    """What a request came to that was not written."""
    if isinstance(failure, Status):
        if failure.code == _CONFLICT:
            return conflict_outcome(binding, failure.message)
        if failure.code == _NOT_FOUND:
            return Gone()
        if not failure.transient:
            return Refused(failure.code, failure.message)
        return Overloaded(failure.retry_after_s or BIND_RETRY_S, failure.message)
    if isinstance(failure, Unreachable) and failure.cause is Cause.CREDENTIALS:
        return Refused(401, failure.message)
    return Overloaded(BIND_RETRY_S, str(failure))


def _longer(one: Unknown | None, other: Unknown) -> Unknown:
    """Both may be written yet."""
    if one is None:
        return other
    return replace(other, until_ns=max(one.until_ns, other.until_ns))
