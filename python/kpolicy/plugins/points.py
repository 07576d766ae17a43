"""What a plugin may do: a protocol for each extension point, and what their methods answer.

A plugin is a class with the methods of one or more of these protocols. Every method is a coroutine
and runs in the thread of plugins. An exception is an error of the plugin: its pod is tried again
after a back-off.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from kpolicy.plugins.pods import Pod


class Point(StrEnum):
    """Extension points, by kube-scheduler's names in metrics and messages."""

    PRE_ENQUEUE = "PreEnqueue"
    QUEUE_SORT = "QueueSort"
    RESERVE = "Reserve"
    UNRESERVE = "Unreserve"
    PERMIT = "Permit"
    PRE_BIND = "PreBind"
    BIND = "Bind"
    POST_BIND = "PostBind"


@dataclass(frozen=True, slots=True)
class Refuse:
    """The pod may not go on. `message` is shown in its condition and its event."""

    message: str


@dataclass(frozen=True, slots=True)
class Wait:
    """The pod keeps its place on the node until every plugin that waits has allowed it, or the
    first of their times is over. No time is longer than 15 minutes."""

    seconds: float


# The smallest key is tried first.
SortKey: TypeAlias = float | tuple[float, ...]


class PreEnqueue(Protocol):
    """Asked each time before the pod may be tried. A refused pod is asked about again after an
    event of the cluster, when its back-off is over."""

    async def pre_enqueue(self, pod: Pod) -> Refuse | None: ...


class QueueSort(Protocol):
    """The order of the queue, of which there is one. Without a key, a pod comes after those with
    a key, by priority and time."""

    async def queue_key(self, pod: Pod) -> SortKey: ...


class Reserve(Protocol):
    """`unreserve` is called in the reverse order, also for plugins whose `reserve` was not reached,
    if the pod is not bound in the end. It must not matter how often it is called."""

    async def reserve(self, pod: Pod, node: str) -> Refuse | None: ...

    async def unreserve(self, pod: Pod, node: str) -> None: ...


class Permit(Protocol):
    async def permit(self, pod: Pod, node: str) -> Refuse | Wait | None: ...


class PreBind(Protocol):
    async def pre_bind(self, pod: Pod, node: str) -> Refuse | None: ...


class Bind(Protocol):
    """Returns whether it has bound the pod. If no plugin has, kpolicy binds it."""

    async def bind(self, pod: Pod, node: str) -> bool: ...


class PostBind(Protocol):
    async def post_bind(self, pod: Pod, node: str) -> None: ...
