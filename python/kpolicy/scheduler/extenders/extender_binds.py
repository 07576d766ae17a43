"""Binds that an extender makes in our stead.

Owns which pods these are, and the rule that only the API server's word counts: what an extender
says it bound is read before it is believed. Other pods go to the binder as ever. The local fence is
asked before an extender is.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.binding import (
    Binding,
    BindOutcome,
    Bound,
    Declined,
    Fenced,
    Gone,
    pod_path,
    seen_outcome,
)
from kpolicy.cluster.failure import Status
from kpolicy.scheduler import limits
from kpolicy.scheduler.extenders.client import ExtenderClient, Failed
from kpolicy.scheduler.extenders.wire import Unreadable, binding_args, read_binding

_log = logging.getLogger(__name__)
_NOT_FOUND: Final = 404


class Binder(Protocol):
    async def bind(self, binding: Binding, traceparent: str | None = None) -> BindOutcome: ...


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

    def expects(self, uid: str) -> bool:
        """An extender is to bind the pod."""
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

    async def _bind_by(self, client: ExtenderClient, binding: Binding) -> BindOutcome:
        args = binding_args(binding.namespace, binding.name, binding.uid, binding.node)
        body = await client.ask(client.extender.bind_verb, args, is_repeatable=False)
        if isinstance(body, Failed):
            seen = await self._seen(binding) if body.is_lost else None
            return seen or Declined(body.message)
        error = read_binding(body)
        if isinstance(error, Unreadable):
            return await self._seen(binding) or Declined(
                f"extender {client.url!r}: {error.message}"
            )
        if error:
            return Declined(error)
        for attempt in range(limits.EXTENDER_BIND_LOOKS_MAX):
            if attempt:
                await self._clock.sleep(limits.EXTENDER_BIND_LOOK_S * 2**attempt)
            seen = await self._seen(binding)
            if seen is not None:
                return seen
        return Declined(f"extender {client.url!r} says it bound the pod; the API server does not")

    async def _seen(self, binding: Binding) -> BindOutcome | None:
        """What the API server says; None: the pod is on no node, or nobody can tell now."""
        path = pod_path(binding.namespace, binding.name)
        answer = await self._client.request("GET", path, timeout_s=limits.EXTENDER_TIMEOUT_S)
        if isinstance(answer, Status) and answer.code == _NOT_FOUND:
            return Gone()
        if not isinstance(answer, Response):
            return None
        pod = json.loads(answer.body)
        node = str(pod.get("spec", {}).get("nodeName") or "")
        if node == binding.node and pod["metadata"]["uid"] == binding.uid:
            return Bound()
        is_ending = bool(pod["metadata"].get("deletionTimestamp"))
        return seen_outcome(binding, str(pod["metadata"]["uid"]), node, deleting=is_ending)
