"""What is asked about one pod in one hop: several plugins, one after the other.

These coroutines run in the thread of plugins. Messages are those of kube-scheduler.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias

from kpolicy.plugins import limits
from kpolicy.plugins.handle import Handle
from kpolicy.plugins.loading import PluginClass
from kpolicy.plugins.messages import one_line
from kpolicy.plugins.order import LoadedPlugin, ProfilePlugins
from kpolicy.plugins.pods import Pod
from kpolicy.plugins.points import Point, Refuse, Wait
from kpolicy.plugins.thread import Job, PluginFailedError, PluginThread, Work
from kpolicy.plugins.waiting import Rejected

# Makes the pod one that waits, at the moment at which the last plugin has answered: by plugin, for
# how many seconds.
BeginWait: TypeAlias = Callable[[dict[str, float]], None]


@dataclass(frozen=True, slots=True)
class Admitted:
    """The pod may be tried. Without a key, the queue orders it by priority and time."""

    key: tuple[float, ...] | None
    # Why there is no key, if a plugin should have given one.
    trouble: str = ""


def make(kind: PluginClass, handle: Handle) -> Work:
    """Gives the plugin itself."""

    async def made() -> Any:
        return kind.make(handle)

    async def work(thread: PluginThread, job: Job) -> Any:
        return await thread.call(job, kind.name, "New", made())

    return work


def admit(pod: Pod, plugins: ProfilePlugins) -> Work:
    """Gives `Admitted`, or `Rejected` by the first plugin that refuses."""

    async def work(thread: PluginThread, job: Job) -> Admitted | Rejected:
        refused = await _first_refusal(thread, job, Point.PRE_ENQUEUE, plugins, pod)
        if refused is not None:
            return refused
        for plugin in plugins.at(Point.QUEUE_SORT):
            try:
                answer = await _call(thread, job, plugin, Point.QUEUE_SORT, pod)
                return Admitted(_key(job, answer))
            except PluginFailedError as error:
                return Admitted(None, str(error))
        return Admitted(None)

    return work


def reserve_and_permit(
    pod: Pod,
    node: str,
    plugins: ProfilePlugins,
    begin_wait: BeginWait,
    *,
    binds_at_once: bool = False,
) -> Work:
    """Gives None, `Rejected`, or True if the pod waits now. `binds_at_once`: a pod that need not
    wait goes on to PreBind."""

    async def work(thread: PluginThread, job: Job) -> Rejected | bool | None:
        refused = await _first_refusal(thread, job, Point.RESERVE, plugins, pod, node)
        if refused is not None:
            return refused
        waits: dict[str, float] = {}
        for plugin in plugins.at(Point.PERMIT):
            answer = await _call(thread, job, plugin, Point.PERMIT, pod, node)
            match answer:
                case None:
                    pass
                case Refuse():
                    return _rejected(job, plugin, answer)
                case Wait(seconds=seconds) if _is_number(seconds) and seconds >= 0:
                    waits[plugin.name] = min(float(seconds), limits.PERMIT_S_MAX)
                case _:
                    raise _nonsense(job, answer, "None, a Refuse or a Wait")
        if waits:
            begin_wait(waits)
            return True
        if binds_at_once:
            return await _first_refusal(thread, job, Point.PRE_BIND, plugins, pod, node)
        return None

    return work


def pre_bind(pod: Pod, node: str, plugins: ProfilePlugins) -> Work:
    async def work(thread: PluginThread, job: Job) -> Rejected | None:
        return await _first_refusal(thread, job, Point.PRE_BIND, plugins, pod, node)

    return work


def bind(pod: Pod, node: str, plugins: ProfilePlugins) -> Work:
    """Gives the name of the plugin that has bound the pod, or an empty text."""

    async def work(thread: PluginThread, job: Job) -> str:
        for plugin in plugins.at(Point.BIND):
            answer = await _call(thread, job, plugin, Point.BIND, pod, node)
            if not isinstance(answer, bool):
                raise _nonsense(job, answer, "True or False")
            if answer:
                return plugin.name
        return ""

    return work


def unreserve(pod: Pod, node: str, plugin: LoadedPlugin) -> Work:
    """A job of one plugin: those before it may take too long, and it is told whatever they do."""

    async def work(thread: PluginThread, job: Job) -> None:
        await _call(thread, job, plugin, Point.UNRESERVE, pod, node)

    return work


def post_bind(pod: Pod, node: str, plugins: ProfilePlugins) -> Work:
    """Gives the first failure, or an empty text."""

    async def work(thread: PluginThread, job: Job) -> str:
        failure = ""
        for plugin in plugins.at(Point.POST_BIND):
            try:
                await _call(thread, job, plugin, Point.POST_BIND, pod, node)
            except PluginFailedError as error:
                failure = failure or str(error)
        return failure

    return work


async def _first_refusal(
    thread: PluginThread, job: Job, point: Point, plugins: ProfilePlugins, *arguments: object
) -> Rejected | None:
    for plugin in plugins.at(point):
        answer = await _call(thread, job, plugin, point, *arguments)
        if isinstance(answer, Refuse):
            return _rejected(job, plugin, answer)
        if answer is not None:
            raise _nonsense(job, answer, "None or a Refuse")
    return None


def _call(
    thread: PluginThread, job: Job, plugin: LoadedPlugin, point: Point, *arguments: object
) -> Coroutine[Any, Any, Any]:
    return thread.call(job, plugin.name, point, plugin.method(point)(*arguments))


def _rejected(job: Job, plugin: LoadedPlugin, refusal: Refuse) -> Rejected:
    if not isinstance(refusal.message, str):
        raise _nonsense(job, refusal, "a Refuse with a text")
    return Rejected(plugin.name, one_line(refusal.message) or "refused without a message")


def _key(job: Job, answer: object) -> tuple[float, ...]:
    parts = answer if isinstance(answer, tuple) else (answer,)
    if not 0 < len(parts) <= limits.KEY_PARTS_MAX or not all(map(_is_number, parts)):
        raise _nonsense(job, answer, "a number or a tuple of numbers")
    return parts


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:  # an integer that no float can be
        return False


def _nonsense(job: Job, answer: object, expected: str) -> PluginFailedError:
    text = repr(answer)[: limits.MESSAGE_CHARACTERS_MAX // 4]
    return PluginFailedError(f"{job.call}: it answered {text}, which is not {expected}")
