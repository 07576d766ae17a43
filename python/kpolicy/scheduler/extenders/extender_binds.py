"""Binds pods through extenders that have a bind verb, and all others through the binder.

An extender's word is not enough: the pod is read back from the API server.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from kpolicy.clock import NANOSECONDS, Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.limits import BIND_SENDS_IN_DOUBT_MAX, UNANSWERED_IN_DOUBT_S
from kpolicy.cluster.request_failure import Cause, Status, Unreachable
from kpolicy.cluster.writes.binder import (
    AlreadyOurs,
    Binder,
    Binding,
    BindOutcome,
    Bound,
    Declined,
    Fenced,
    Gone,
    PodUnreadable,
    SettledOutcome,
    Unknown,
    seen_on,
)
from kpolicy.cluster.writes.conventions import pod_path
from kpolicy.scheduler import limits
from kpolicy.scheduler.extenders.in_force import ExtenderClient, Failed
from kpolicy.scheduler.extenders.protocol import Unreadable, binding_args, read_binding
from kpolicy.scheduler.loop.pod_try import PodLog

_log = PodLog(__name__)
_NOT_FOUND: Final = 404


class ExtenderBinds:
    def __init__(
        self, binder: Binder, client: ApiClient, clock: Clock, fence: Callable[[], bool]
    ) -> None:
        self._binder = binder
        self._client = client
        self._clock = clock
        self._fence = fence
        self._by_uid: OrderedDict[str, list[ExtenderClient]] = OrderedDict()

    def expect(self, uid: str, clients: Sequence[ExtenderClient]) -> None:
        """These extenders are interested in the pod, which was placed."""
        self._by_uid.pop(uid, None)
        binders = [client for client in clients if client.extender.bind_verb]
        if binders:
            self._by_uid[uid] = binders
        while len(self._by_uid) > limits.EXTENDER_BINDS_EXPECTED_MAX:
            self._by_uid.popitem(last=False)

    def is_by_extender(self, uid: str) -> bool:
        return uid in self._by_uid

    async def bind(self, binding: Binding, traceparent: str | None = None) -> BindOutcome:
        for client in self._by_uid.pop(binding.uid, ()):
            if not self._fence():
                return Fenced()
            outcome = await self._bind_by(client, binding)
            if not (isinstance(outcome, Declined) and client.extender.ignorable):
                return outcome
            _log.info("extender %s is left out: %s", client.name, outcome.message)
        return await self._binder.bind(binding, traceparent)

    async def settle(
        self,
        binding: Binding,
        doubt: Unknown,
        traceparent: str | None = None,
        *,
        may_send: bool = True,
    ) -> BindOutcome:
        return await self._binder.settle(binding, doubt, traceparent, may_send=may_send)

    async def _bind_by(self, client: ExtenderClient, binding: Binding) -> BindOutcome:
        args = binding_args(binding.namespace, binding.name, binding.uid, binding.node)
        body = await client.ask(client.extender.bind_verb, args, is_repeatable=False)
        if isinstance(body, Failed):
            if not body.is_lost:
                return Declined(body.message)
            seen = await self._seen(binding)
            doubt = self._doubt(client, body.message)
            return doubt if seen is None or isinstance(seen, PodUnreadable) else seen
        error = read_binding(body)
        if isinstance(error, str) and error:
            return Declined(error)
        message, looks_max = f"extender {client.url!r}: ", limits.EXTENDER_BIND_LOOKS_MAX
        if isinstance(error, Unreadable):
            message, looks_max = f"{message}{error.message}", 1
        else:
            message = f"extender {client.url!r} says it bound the pod; the API server does not"
        seen = None
        for attempt in range(looks_max):
            if attempt:
                await self._clock.sleep(limits.EXTENDER_BIND_LOOK_S * 2**attempt)
            seen = await self._seen(binding)
            if not (seen is None or isinstance(seen, PodUnreadable)):
                return seen
        return Declined(message) if seen is None else self._doubt(client, message)

    def _doubt(self, client: ExtenderClient, message: str) -> Unknown:
        """It may bind the pod yet. In its stead we do only where it may be left out."""
        until_ns = self._clock.monotonic_ns() + int(UNANSWERED_IN_DOUBT_S * NANOSECONDS)
        sends = BIND_SENDS_IN_DOUBT_MAX if client.extender.ignorable else 0
        return Unknown(Unreachable(Cause.LOST, message, sent=True), until_ns, sends)

    async def _seen(self, binding: Binding) -> SettledOutcome | PodUnreadable | None:
        """What the API server says; None: the pod is on no node as yet."""
        path = pod_path(binding.namespace, binding.name)
        answer = await self._client.request("GET", path, timeout_s=limits.EXTENDER_TIMEOUT_S)
        if isinstance(answer, Status) and answer.code == _NOT_FOUND:
            return Gone()
        if not isinstance(answer, Response):
            return PodUnreadable()
        seen = seen_on(binding, answer.body)
        return Bound() if isinstance(seen, AlreadyOurs) else seen
