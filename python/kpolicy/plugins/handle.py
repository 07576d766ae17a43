"""What a plugin is made with: the waiting pods, the pods on nodes, and the API server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from kpolicy.plugins.pods import Pod, PodStore
from kpolicy.plugins.waiting import WaitingPod, WaitingPods


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """The answer of the API server. `status` 0: there was none, and `body` says why."""

    status: int
    body: bytes


# Sends a request in the scheduler's loop: method, path, body, content type.
Send: TypeAlias = Callable[[str, str, bytes, str], Awaitable[ApiAnswer]]
# Starts a task in the scheduler's loop, from any thread.
Begin: TypeAlias = Callable[[Callable[[], Awaitable[None]]], None]


class Handle:
    """For use in the thread of plugins, that is, in methods of plugins."""

    def __init__(self, pods: PodStore, waiting: WaitingPods, send: Send, begin: Begin) -> None:
        self._pods = pods
        self._waiting = waiting
        self._send = send
        self._begin = begin

    def waiting_pods(self) -> tuple[WaitingPod, ...]:
        """The pods that wait on Permit, those of all profiles."""
        return self._waiting.all()

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return self._waiting.get(uid)

    def pods_on_nodes(self) -> list[Pod]:
        """Needs a plugin whose class says `reads_bound_pods = True`: the pods are kept for it. A
        pod that kpolicy has bound is among them from PostBind on."""
        assert self._pods.keeps_bound, "no plugin says `reads_bound_pods = True`"
        return self._pods.bound()

    async def request(
        self, method: str, path: str, body: bytes = b"", content_type: str = "application/json"
    ) -> ApiAnswer:
        """Asks the API server with the rights of kpolicy. A request that writes is not sent when
        this replica does not lead."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[ApiAnswer] = loop.create_future()

        def answer(found: ApiAnswer) -> None:
            if not answered.done():
                answered.set_result(found)

        async def send() -> None:
            try:
                found = await self._send(method, path, body, content_type)
            except Exception as error:  # such as a path that is no text: the plugin's mistake
                found = ApiAnswer(0, f"{type(error).__name__}: {error}".encode())
            with suppress(RuntimeError):  # the thread has ended meanwhile
                loop.call_soon_threadsafe(answer, found)

        self._begin(send)
        return await answered
