"""What became of policies, told where operators look: events on the ConfigMap, and a status.

Owns who tells (the replica that leads, and nobody else), how often, and keeping what was last good.
Nothing waits for it. The policy's own ConfigMap is only read: whoever delivers it owns every byte
of it, and we need no right to change our own rules.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence

from kpolicy.clock import Clock
from kpolicy.cluster.writes.event_recorder import EventRecorder, Occurrence, Reference
from kpolicy.heartbeat import NO_PULSE, Pulse
from kpolicy.scheduler import limits
from kpolicy.scheduler.config_map_name import ConfigMapName
from kpolicy.scheduler.last_good import LastGoodStore, of_policy
from kpolicy.scheduler.own_config_map import OwnConfigMap
from kpolicy.scheduler.policy_status import conditions, document, notice
from kpolicy.scheduler.reload import Reloaded, Reloader

_log = logging.getLogger(__name__)

CONTROLLER = "kpolicy"
_ACTION = "Reload"
_KEY = "status.json"


class PolicyReport:
    """Run it as a task. `about` and `uid` tell which ConfigMap the events are about."""

    def __init__(
        self,
        reloader: Reloader,
        clock: Clock,
        events: EventRecorder,
        *,
        by: str,
        leads: Callable[[], bool],
        about: ConfigMapName | None = None,
        uid: Callable[[], str] = lambda: "",
        status: OwnConfigMap | None = None,
        stores: Sequence[LastGoodStore] = (),
    ) -> None:
        self._reloader = reloader
        self._clock = clock
        self._events = events
        self._by = by
        self._leads = leads
        self._about = about
        self._uid = uid
        self._status = status
        self._stores = tuple(stores)
        self._since_ns: dict[str, int] = {}
        self._was: dict[str, bool] = {}
        self._news = asyncio.Event()
        self._kept = ""
        self._is_begun = False
        self._complained: set[str] = set()
        reloader.told.append(self.hear)

    def hear(self, last: Reloaded) -> None:
        """Of every reload. Those who do not lead only remember."""
        for one in conditions(last, self._reloader.in_force):
            if self._was.get(one.type) != one.is_true:
                self._was[one.type] = one.is_true
                self._since_ns[one.type] = last.at_ns
        if self._is_begun and self._leads():
            self._tell(last)
            self._news.set()

    def begin(self) -> None:
        """We lead from now on: say how things are."""
        self._is_begun = True
        self._tell(self._reloader.last)
        self._news.set()

    async def run(self, pulse: Pulse = NO_PULSE) -> None:
        while True:
            pulse.rest(self._news.is_set)
            await self._news.wait()
            pulse.beat()
            self._news.clear()
            written = await self._keep()
            written = await self._write_status() and written
            if written:
                await self._clock.sleep(limits.STATUS_PERIOD_S)
                continue
            timer = asyncio.ensure_future(self._clock.sleep(limits.POLICY_RETRY_S))
            news = asyncio.ensure_future(self._news.wait())
            pulse.beat()
            try:
                await asyncio.wait({timer, news}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                timer.cancel()
                news.cancel()
            self._news.set()

    def _tell(self, last: Reloaded) -> None:
        told = notice(last, self._reloader.in_force)
        if told is None or self._about is None:
            return
        about = self._about
        regarding = Reference(about.namespace, about.name, self._uid(), kind="ConfigMap")
        self._events.record(
            Occurrence(regarding, told.kind, told.reason, _ACTION, told.note, CONTROLLER)
        )

    async def _keep(self) -> bool:
        """False: it is to be tried again."""
        now = self._reloader.in_force
        if now is None or now.is_last_good or now.hash == self._kept or not self._leads():
            return True
        kept = of_policy(now)
        problems = [await store.save(kept) for store in self._stores]
        said = [str(problem) for problem in problems if problem is not None]
        for text in said:
            self._complain(text)
        if not said:
            self._kept = now.hash
        return not said

    async def _write_status(self) -> bool:
        if self._status is None or not self._leads():
            return True
        reloader = self._reloader
        said = document(reloader.last, reloader.in_force, self._since_ns, self._by)
        text = json.dumps(said, indent=2) + "\n"
        failure = await self._status.apply({"data": {_KEY: text}})
        if failure is not None:
            self._complain(f"cannot write the {self._status.name.shown}: {failure}")
        return failure is None

    def _complain(self, text: str) -> None:
        """Once for each: it may come with every reload."""
        if text not in self._complained and len(self._complained) < limits.UNREADABLE_NAMES_MAX:
            self._complained.add(text)
            _log.warning("%s", text)
