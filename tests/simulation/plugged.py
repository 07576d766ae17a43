"""Plugins of the simulated world: for some of the pods they wait, refuse, raise, dawdle, and block
their thread. What they were asked, and what they did, is written down.

The pods of one app are never in their way.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from enum import Enum
from random import Random
from typing import Any, Final

from kpolicy.plugins import Handle, Pod, Refuse, Wait
from kpolicy.plugins.loading import PluginClass, plugin_class
from tests.invariants.history import ALLOWED, CANCELLED, DONE, RAISED, REFUSED, WAITS, PluginCall
from tests.simulation.event_loop import VirtualLoop
from tests.simulation.machine_time import WorldTime

# How long one call may take.
CALL_S_MAX: Final = 2.0
SLOW_S: Final = (0.1, 1.0, 1.9, 2.5, 8.0)
BLOCK_S: Final = (0.1, 1.0, 3.0, 7.0)
WAIT_S: Final = (0.0, 0.5, 3.0, 20.0, 900.0)
HAMPERED: Final = ("app", "batch")


class Whim(Enum):
    """Reports show the values."""

    NONE = "plugin lets pass"
    REFUSE = "plugin refuses"
    RAISE = "plugin raises"
    SLOW = "plugin dawdles"
    BLOCK = "plugin blocks"
    WAIT = "plugin waits"
    ALLOW = "plugin allows a waiting pod"
    REJECT = "plugin rejects a waiting pod"


_WEIGHTS: Final = {
    Whim.NONE: 60,
    Whim.REFUSE: 8,
    Whim.RAISE: 6,
    Whim.SLOW: 6,
    Whim.BLOCK: 3,
    Whim.WAIT: 30,
}


class Plugs:
    """The plugins of all processes. `calm`: from now on they let everything pass."""

    def __init__(self, random: Random, time: WorldTime) -> None:
        self._random = random
        self._time = time
        self._plugins: list[_Plugin] = []
        self.calm = False
        self.calls: list[PluginCall] = []
        self.counts: Counter[str] = Counter()

    def of(self, run_id: str) -> tuple[PluginClass, ...]:
        """The plugins of a process that starts."""
        return _class(self, run_id, "Hampers"), _class(self, run_id, "Opens")

    def made(self, plugin: _Plugin) -> None:
        self._plugins.append(plugin)

    def let_go(self, run_ids: Collection[str]) -> None:
        """From now on all is let pass, also the pods that wait in these processes already."""
        self.calm = True
        for plugin in self._plugins:
            if plugin.run_id in run_ids:
                plugin.look_at_waiting()

    def whim(self, pod: Pod, *, can_wait: bool) -> Whim:
        key, value = HAMPERED
        if self.calm or pod.labels.get(key) != value:
            return Whim.NONE
        kinds = {whim: weight for whim, weight in _WEIGHTS.items() if can_wait or whim != Whim.WAIT}
        (whim,) = self._random.choices(list(kinds), list(kinds.values()))
        return whim

    def chosen(self, of: tuple[float, ...]) -> float:
        return self._random.choice(of)

    def begin(self, run_id: str, plugin: str, point: str, pod: Pod, node: str) -> PluginCall:
        call = PluginCall(self._time.now_ns, run_id, plugin, point, pod.uid, node)
        self.calls.append(call)
        return call

    def decides(self) -> Whim:
        """What becomes of a waiting pod that a plugin looks at."""
        if self.calm:
            return Whim.ALLOW
        whims = (Whim.NONE, Whim.ALLOW, Whim.ALLOW, Whim.REJECT)
        return self._random.choice(whims)


class _Plugin:
    def __init__(self, plugs: Plugs, run_id: str, name: str, handle: Handle) -> None:
        self._plugs = plugs
        self.run_id = run_id
        self._name = name
        self._handle = handle
        plugs.made(self)

    async def ask(self, point: str, pod: Pod, node: str = "", *, answers: bool = True) -> Any:
        plugs = self._plugs
        self.look_at_waiting()
        call = plugs.begin(self.run_id, self._name, point, pod, node)
        whim = plugs.whim(pod, can_wait=point == "Permit")
        plugs.counts[whim.value] += whim is not Whim.NONE
        try:
            match whim:
                case Whim.SLOW:
                    await asyncio.sleep(plugs.chosen(SLOW_S))
                case Whim.BLOCK:
                    loop = asyncio.get_running_loop()
                    assert isinstance(loop, VirtualLoop)
                    await loop.block(plugs.chosen(BLOCK_S))
                case Whim.RAISE:
                    raise RuntimeError("a whim")
                case Whim.REFUSE if answers:
                    call.result = REFUSED
                    return Refuse("a whim")
                case Whim.WAIT:
                    call.result = WAITS
                    return Wait(plugs.chosen(WAIT_S))
        except asyncio.CancelledError:
            call.result = CANCELLED
            raise
        except RuntimeError:
            call.result = RAISED
            raise
        call.result = DONE
        return None

    def look_at_waiting(self) -> None:
        for waiting in self._handle.waiting_pods():
            for plugin in waiting.pending_plugins():
                whim = self._plugs.decides()
                if whim is Whim.ALLOW:
                    pod, node = waiting.pod, waiting.node
                    self._plugs.begin(self.run_id, plugin, ALLOWED, pod, node)
                    waiting.allow(plugin)
                elif whim is Whim.REJECT:
                    waiting.reject(plugin, "a whim")
                self._plugs.counts[whim.value] += whim is not Whim.NONE


def _class(plugs: Plugs, run_id: str, called: str) -> PluginClass:
    class Plugin(_Plugin):
        name = called

        def __init__(self, handle: Handle) -> None:
            super().__init__(plugs, run_id, called, handle)

        async def pre_enqueue(self, pod: Pod) -> Refuse | None:
            return await self.ask("PreEnqueue", pod)  # type: ignore[no-any-return]

        async def reserve(self, pod: Pod, node: str) -> Refuse | None:
            return await self.ask("Reserve", pod, node)  # type: ignore[no-any-return]

        async def unreserve(self, pod: Pod, node: str) -> None:
            await self.ask("Unreserve", pod, node, answers=False)

        async def permit(self, pod: Pod, node: str) -> Refuse | Wait | None:
            return await self.ask("Permit", pod, node)  # type: ignore[no-any-return]

        async def pre_bind(self, pod: Pod, node: str) -> Refuse | None:
            return await self.ask("PreBind", pod, node)  # type: ignore[no-any-return]

        async def post_bind(self, pod: Pod, node: str) -> None:
            await self.ask("PostBind", pod, node, answers=False)

    found = plugin_class(Plugin)
    assert isinstance(found, PluginClass), found
    return found
