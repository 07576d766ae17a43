"""The plugins of a running scheduler: made at the start, and sorted by profile for each program."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.fenced_request import always
from kpolicy.cluster.request_failure import Status
from kpolicy.plugins.handle import ApiAnswer, Handle
from kpolicy.plugins.limits import REQUEST_S
from kpolicy.plugins.loading import PluginClass, not_made
from kpolicy.plugins.order import NO_PLUGINS, LoadedPlugin, PluginsByProfile, ProfilePlugins
from kpolicy.plugins.pods import Pod, PodStore
from kpolicy.plugins.points import Point
from kpolicy.plugins.runner import PluginRunner
from kpolicy.plugins.stages import make
from kpolicy.plugins.thread import Failed, MakeThread, PluginThread, Timing
from kpolicy.plugins.waiting import WaitingPod, WaitingPods
from kpolicy.policy.assembly.assemble import Program
from kpolicy.scheduler import limits
from kpolicy.scheduler.loop.queued_pod import Attempt
from kpolicy.scheduler.problem_codes import Problem, of_plugin
from kpolicy.scheduler.runtime import Runtime
from kpolicy.telemetry.scheduler_metrics import SAMPLED_OF

_READS = frozenset({"GET", "HEAD"})


class PluginHost:
    """`start` makes the plugins; until then no profile has any."""

    def __init__(
        self,
        classes: Sequence[PluginClass],
        runtime: Runtime,
        call_s_max: float,
        make_thread: MakeThread = PluginThread,
    ) -> None:
        self.store = PodStore(keeps_bound=any(kind.reads_bound_pods for kind in classes))
        self.waiting = WaitingPods()
        self.clock: Clock = runtime.clock
        self.metrics = runtime.metrics
        self.runner = PluginRunner(runtime.clock, call_s_max, self._timed, make_thread)
        self.orders_queue = any(Point.QUEUE_SORT in kind.points for kind in classes)
        self._classes = classes
        self._loaded: list[LoadedPlugin] = []
        self._by_profile: PluginsByProfile | None = None
        self._keys = itertools.count()
        self._calls = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(
        self, client: ApiClient, group: asyncio.TaskGroup, fence: Callable[[], bool]
    ) -> Problem | None:
        """Makes the plugins in their thread. Returns why one cannot be made."""
        self._loop = loop = asyncio.get_running_loop()

        def begin(work: Callable[[], Awaitable[None]]) -> None:
            async def run() -> None:
                await work()

            with suppress(RuntimeError):  # the scheduler has ended
                loop.call_soon_threadsafe(lambda: group.create_task(run()))

        window = asyncio.Semaphore(limits.PLUGIN_REQUESTS_MAX)

        async def send(method: str, path: str, body: bytes, content_type: str) -> ApiAnswer:
            async with window:
                answer = await client.request(
                    method,
                    path,
                    body=body or None,
                    content_type=content_type,
                    timeout_s=REQUEST_S,
                    may_send=always if method in _READS else fence,
                )
            match answer:
                case Response(status=code, body=found):
                    return ApiAnswer(code, found)
                case Status(code=code):
                    return ApiAnswer(code, str(answer).encode())
                case _:
                    return ApiAnswer(0, str(answer).encode())

        handle = Handle(self.store, self.waiting, send, begin)
        for kind in self._classes:
            made = await self.runner.answer(self.runner.begin("", make(kind, handle)))
            if isinstance(made, Failed):
                return of_plugin(not_made(kind, made.message))
            self._loaded.append(LoadedPlugin(kind, made))
        return None

    def put_in_force(self, program: Program) -> None:
        self._by_profile = PluginsByProfile(self._loaded, program)

    def of(self, profile: str) -> ProfilePlugins:
        return self._by_profile.of(profile) if self._by_profile is not None else NO_PLUGINS

    def pod(self, attempt: Attempt) -> Pod:
        return self.store.of(attempt.namespace, attempt.name, attempt.uid)

    def wait(self, pod: Pod, node: str, seconds: dict[str, float]) -> WaitingPod:
        """Called in the thread of plugins: from now on, plugins see the pod wait."""
        now_ns = self.clock.monotonic_ns()
        waiting = WaitingPod(pod, node, seconds, now_ns, next(self._keys))
        self.waiting.add(waiting)
        return waiting

    def wake_loop(self, function: Callable[[], None]) -> None:
        """Calls it in the scheduler's loop, from any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the scheduler has ended
                self._loop.call_soon_threadsafe(function)

    def waited(self, waiting: WaitingPod, result: str) -> None:
        seconds = (self.clock.monotonic_ns() - waiting.since_ns) / NANOSECONDS
        self.metrics.permit_wait_seconds.observe(seconds, (result,))

    def _timed(self, timing: Timing) -> None:
        labels = (timing.plugin, timing.point, timing.status)
        self.metrics.plugin_calls.add(labels)
        # as many as for the engine's rules, so that sums over plugins can be compared
        if self._calls % SAMPLED_OF == 0:
            self.metrics.plugin_seconds.observe(timing.seconds, labels)
        self._calls += 1
