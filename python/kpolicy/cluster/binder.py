"""Bind a pod to a node, and know what came of it.

Owns the requests, their retries and the settling of lost answers. Assumes that the caller bounds
how many are under way. Must not know reservations: it reports, the caller settles. The local fence
is asked before every single send, also of a retry.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.binding import (
    Binding,
    BindOutcome,
    Bound,
    Fenced,
    Gone,
    Overloaded,
    Refused,
    Unknown,
    binding_body,
    conflict_outcome,
    pod_path,
    seen_outcome,
)
from kpolicy.cluster.failure import Cause, Failure, Status, Unreachable
from kpolicy.cluster.limits import (
    BIND_RETRY_AFTER_S_MAX,
    BIND_RETRY_S,
    BIND_TIMEOUT_S,
    BIND_TRIES_MAX,
    SETTLE_TIMEOUT_S,
    SETTLE_TRIES_MAX,
)

_NOT_FOUND = 404
_CONFLICT = 409


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

    async def bind(self, binding: Binding, traceparent: str | None = None) -> BindOutcome:
        path = f"{pod_path(binding.namespace, binding.name)}/binding"
        body = binding_body(binding)
        outcome: BindOutcome = Fenced()
        for attempt in range(1, BIND_TRIES_MAX + 1):
            if not self._fence():
                return outcome
            answer = await self._client.request(
                "POST", path, body=body, timeout_s=self._timeout_s, traceparent=traceparent
            )
            if isinstance(answer, Response):
                return Bound()
            settled = await self._judge(binding, answer)
            if not isinstance(settled, Overloaded):
                return settled
            outcome = settled
            if settled.retry_after_s > BIND_RETRY_AFTER_S_MAX or attempt == BIND_TRIES_MAX:
                return settled
            await self._clock.sleep(settled.retry_after_s)
        return outcome

    async def _judge(self, binding: Binding, failure: Failure) -> BindOutcome:
        """What a failed request came to; `Overloaded` is what may be tried again."""
        if isinstance(failure, Status):
            if failure.code == _CONFLICT:
                return conflict_outcome(binding, failure.message)
            if failure.code == _NOT_FOUND:
                return Gone()
            if not failure.transient:
                return Refused(failure.code, failure.message)
            if failure.code == 429 or failure.retry_after_s is not None:
                return Overloaded(failure.retry_after_s or BIND_RETRY_S, failure.message)
            # A 5xx without Retry-After can come after the write (etcd answered too late).
        elif isinstance(failure, Unreachable) and failure.cause is Cause.CREDENTIALS:
            return Refused(401, failure.message)
        elif not failure.sent:
            return Overloaded(BIND_RETRY_S, str(failure))
        return await self._settle(binding, failure)

    async def _settle(self, binding: Binding, failure: Failure) -> BindOutcome:
        """The answer was lost: the pod itself tells whether the bind was written."""
        for attempt in range(1, SETTLE_TRIES_MAX + 1):
            answer = await self._client.request(
                "GET", pod_path(binding.namespace, binding.name), timeout_s=SETTLE_TIMEOUT_S
            )
            if isinstance(answer, Response):
                try:
                    pod = json.loads(answer.body)
                    seen = seen_outcome(
                        binding,
                        str(pod["metadata"].get("uid", "")),
                        str(pod.get("spec", {}).get("nodeName") or ""),
                        deleting=bool(pod["metadata"].get("deletionTimestamp")),
                    )
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    return Unknown(failure)
                return seen or Overloaded(BIND_RETRY_S, str(failure))
            if isinstance(answer, Status) and answer.code == _NOT_FOUND:
                return Gone()
            if isinstance(answer, Status) and not answer.transient:
                return Unknown(failure)
            if attempt < SETTLE_TRIES_MAX:
                await self._clock.sleep(BIND_RETRY_S * 2**attempt)
        return Unknown(failure)
