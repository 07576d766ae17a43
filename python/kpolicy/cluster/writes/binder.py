"""Binds a pod to a node and reports the outcome.

Retries, and settles binds whose answer was lost by reading the pod. The local fence is asked before
every request, retries included, and again when the request is sent. The caller limits how many
binds are under way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from json.encoder import encode_basestring_ascii
from typing import TypeAlias

from kpolicy.clock import NO_PULSE, Clock, Pulse
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.fenced_request import FENCED
from kpolicy.cluster.limits import (
    BIND_RETRY_AFTER_S_MAX,
    BIND_RETRY_S,
    BIND_SENDS_IN_DOUBT_MAX,
    BIND_TIMEOUT_S,
    BIND_TRIES_MAX,
    SETTLE_TIMEOUT_S,
    SETTLE_TRIES_MAX,
)
from kpolicy.cluster.request_failure import Cause, Failure, Status, Unreachable
from kpolicy.cluster.writes.conventions import in_doubt_until_ns, pod_path, read_pod, server_timeout


@dataclass(frozen=True, slots=True)
class Binding:
    """`uid`: the bind holds for this pod only, not for a new pod of the same name. The API
    server merges `annotations` into the pod in the same write."""

    namespace: str
    name: str
    uid: str
    node: str
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bound:
    """This request bound the pod."""


@dataclass(frozen=True, slots=True)
class AlreadyOurs:
    """The pod is on our node already: an earlier try, or another replica of ours, bound it."""


@dataclass(frozen=True, slots=True)
class TakenByOther:
    node: str


@dataclass(frozen=True, slots=True)
class Gone:
    """The pod was deleted, is being deleted, or was replaced by another pod of the same name."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """The pod changed (scheduling gates, resource version): our decision no longer holds."""

    message: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Rejected with 400, 401, 403, 413 or 422: trying again would not help."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """The bind may have been written, or may still be.

    A read that begins after `until_ns` (monotonic) and shows no node proves that it was not
    written. It may be sent `sends_left` times more.
    """

    failure: Failure
    until_ns: int
    sends_left: int = 0


@dataclass(frozen=True, slots=True)
class Overloaded:
    """Not written, as the server is busy, failing or away."""

    retry_after_s: float
    message: str


@dataclass(frozen=True, slots=True)
class Fenced:
    """Not sent: we may no longer be the leader."""


@dataclass(frozen=True, slots=True)
class Declined:
    """An extender was to bind the pod, and did not."""

    message: str


@dataclass(frozen=True, slots=True)
class PodUnreadable:
    """The pod could not be read, or the response is not a pod."""


SettledOutcome: TypeAlias = (
    Bound | AlreadyOurs | TakenByOther | Gone | Conflict | Refused | Overloaded | Fenced | Declined
)
BindOutcome: TypeAlias = SettledOutcome | Unknown

_ASSIGNED = re.compile(r'is already assigned to node "([^"]*)"')
_DELETING = re.compile(r"is being deleted")
_OTHER_UID = re.compile(r"UID in precondition")


def binding_body(binding: Binding) -> bytes:
    """Return the Binding as JSON. It is written directly, as this runs for every pod."""
    text = encode_basestring_ascii
    annotations = ""
    if binding.annotations:
        pairs = ",".join(f"{text(key)}:{text(value)}" for key, value in binding.annotations.items())
        annotations = f',"annotations":{{{pairs}}}'
    return (
        '{"apiVersion":"v1","kind":"Binding","metadata":{"name":'
        f'{text(binding.name)},"namespace":{text(binding.namespace)},"uid":{text(binding.uid)}'
        f'{annotations}}},"target":{{"apiVersion":"v1","kind":"Node","name":{text(binding.node)}}}}}'
    ).encode("ascii")


def conflict_outcome(binding: Binding, message: str) -> BindOutcome:
    """Return what a 409 means. Kubernetes gives every cause the same code and reason, so the
    message decides."""
    if assigned := _ASSIGNED.search(message):
        node = assigned[1]
        return AlreadyOurs() if node == binding.node else TakenByOther(node)
    if _DELETING.search(message) or _OTHER_UID.search(message):
        return Gone()
    return Conflict(message)


def seen_on(binding: Binding, pod: bytes) -> SettledOutcome | PodUnreadable | None:
    """Return what the pod shows about a bind whose response was lost; None: it has no node yet."""
    if (read := read_pod(pod)) is None:
        return PodUnreadable()
    if read.uid != binding.uid:
        return Gone()
    if read.node:
        return AlreadyOurs() if read.node == binding.node else TakenByOther(read.node)
    return Gone() if read.is_ending else None


# Final whatever became of an earlier try: a pod is bound once, and never unbound.
_SETTLED = (Bound, AlreadyOurs, TakenByOther, Gone)


class Binder:
    """`fence` is True while we may act as leader; always, without leader election."""

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

    async def bind(
        self, binding: Binding, traceparent: str | None = None, *, pulse: Pulse = NO_PULSE
    ) -> BindOutcome:
        """Bind the pod, with retries. `pulse` beats before each request and each pause.

        If an earlier try may have been written, the result of a later try is not final: only the
        API server's record of the pod is.
        """
        outcome: BindOutcome = Fenced()
        doubt: Unknown | None = None
        for attempt in range(1, BIND_TRIES_MAX + 1):
            if not self._fence():
                break
            if isinstance(outcome := await self._send(binding, traceparent, pulse), Unknown):
                doubt = _longer(doubt, outcome)
                if isinstance(seen := await self._seen(binding, pulse), PodUnreadable):
                    break
                outcome = seen or Overloaded(BIND_RETRY_S, str(outcome.failure))
            if isinstance(outcome, _SETTLED):
                return outcome
            if not isinstance(outcome, Overloaded) or attempt == BIND_TRIES_MAX:
                break
            if outcome.retry_after_s > BIND_RETRY_AFTER_S_MAX:
                break
            pulse.beat()
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
        """Find out what became of a bind in doubt; return the doubt if that is still unknown.

        The bind may be sent again: it is for the same pod and node, and a response to either
        request settles both.
        """
        began_ns = self._clock.monotonic_ns()
        if isinstance(seen := await self._seen(binding), PodUnreadable):
            return doubt
        if seen is not None:
            return seen
        if began_ns >= doubt.until_ns:
            return Overloaded(BIND_RETRY_S, str(doubt.failure))
        if not (may_send and doubt.sends_left and self._fence()):
            return doubt
        if isinstance(outcome := await self._send(binding, traceparent), Unknown):
            return replace(_longer(doubt, outcome), sends_left=doubt.sends_left - 1)
        return outcome if isinstance(outcome, _SETTLED) else doubt

    async def _send(
        self, binding: Binding, traceparent: str | None, pulse: Pulse = NO_PULSE
    ) -> BindOutcome:
        """Send the bind once. `Overloaded` means that it was not written and may be sent again."""
        path = f"{pod_path(binding.namespace, binding.name)}/binding"
        answer = await self._client.request(
            "POST",
            path,
            self._query,
            binding_body(binding),
            timeout_s=self._timeout_s,
            traceparent=traceparent,
            pulse=pulse,
            may_send=self._fence,
        )
        if answer == FENCED:
            return Fenced()
        if isinstance(answer, Response):
            if answer.status == 201:
                return Bound()
            text = f"{answer.status} is no answer to a binding"
            answer = Unreachable(Cause.LOST, text, sent=True)
        if until_ns := in_doubt_until_ns(answer, self._clock.monotonic_ns()):
            return Unknown(answer, until_ns, BIND_SENDS_IN_DOUBT_MAX)
        return _refusal(binding, answer)

    async def _seen(
        self, binding: Binding, pulse: Pulse = NO_PULSE
    ) -> BindOutcome | PodUnreadable | None:
        """Return what the pod itself shows, read from etcd; None: it has no node yet."""
        for attempt in range(1, SETTLE_TRIES_MAX + 1):
            answer = await self._client.request(
                "GET",
                pod_path(binding.namespace, binding.name),
                timeout_s=SETTLE_TIMEOUT_S,
                pulse=pulse,
            )
            if isinstance(answer, Response):
                return seen_on(binding, answer.body)
            if isinstance(answer, Status) and answer.code == 404:
                return Gone()
            if isinstance(answer, Status) and not answer.transient:
                return PodUnreadable()
            if attempt < SETTLE_TRIES_MAX:
                await self._clock.sleep(BIND_RETRY_S * 2**attempt)
        return PodUnreadable()


def _refusal(binding: Binding, failure: Failure) -> BindOutcome:
    """Return the outcome of a request that was not written."""
    if isinstance(failure, Status):
        if failure.code == 409:
            return conflict_outcome(binding, failure.message)
        if failure.code == 404:
            return Gone()
        if not failure.transient:
            return Refused(failure.code, failure.message)
        return Overloaded(failure.retry_after_s or BIND_RETRY_S, failure.message)
    if isinstance(failure, Unreachable) and failure.cause is Cause.CREDENTIALS:
        return Refused(401, failure.message)
    return Overloaded(BIND_RETRY_S, str(failure))


def _longer(earlier: Unknown | None, later: Unknown) -> Unknown:
    """Combine two doubts: either request may still be written."""
    if earlier is None:
        return later
    return replace(later, until_ns=max(earlier.until_ns, later.until_ns))
