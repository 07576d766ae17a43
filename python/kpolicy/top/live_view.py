"""Asks the scheduler, draws the screen and reads keys, until the user leaves."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import termios
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from kpolicy.api_times import NANOSECONDS
from kpolicy.clock import Clock
from kpolicy.cluster.api import ApiClient, Response
from kpolicy.cluster.request_failure import Failure, Status
from kpolicy.top.frames import Frame, Scrape, frame_of, page, scrape
from kpolicy.top.navigation import KEYS, Key, Place
from kpolicy.top.screens import Line, Screen, of_node, of_pod, of_rule, overview

_KEY_BYTES_MAX: Final = 64
_HELP: Final = "↑↓ choose   → or enter: into   ← or esc: back   q: quit"


@dataclass(frozen=True, slots=True)
class Source:
    """A running scheduler."""

    client: ApiClient
    clock: Clock
    pods: int

    async def scraped(self) -> Scrape | Failure:
        metrics = await page(self.client, self.clock, "/metrics")
        if not isinstance(metrics, Response):
            return metrics
        queue = await page(self.client, self.clock, "/debug/queue", {"limit": str(self.pods)})
        if not isinstance(queue, Response):
            return queue
        at_s = self.clock.monotonic_ns() / NANOSECONDS
        return scrape(metrics.body.decode(), json.loads(queue.body), at_s)

    async def frame(self, before: Scrape) -> tuple[Scrape, Frame] | Failure:
        now = await self.scraped()
        return (now, frame_of(before, now)) if isinstance(now, Scrape) else now

    async def explained(self, pod: str) -> Mapping[str, Any] | Failure:
        answer = await page(
            self.client, self.clock, "/debug/explain", {"pod": pod, "output": "json"}
        )
        if not isinstance(answer, Response):
            return answer
        found: dict[str, Any] = json.loads(answer.body)
        return found

    async def parts(self, pod: str, node: str, rule: str) -> str | Failure:
        query = {"pod": pod, "node": node, "rule": rule}
        answer = await page(self.client, self.clock, "/debug/rule", query)
        return answer.body.decode() if isinstance(answer, Response) else answer


async def once(source: Source, where: str, interval_s: float) -> str | Failure:
    """One frame as text; rates are of the time between two scrapes."""
    before = await source.scraped()
    if not isinstance(before, Scrape):
        return before
    await source.clock.sleep(interval_s)
    made = await source.frame(before)
    if not isinstance(made, tuple):
        return made
    screen = overview(made[1], where)
    return "\n".join([screen.title, *(line.text for line in screen.lines)])


@dataclass(slots=True)
class _View:
    """What is shown now."""

    place: Place = field(default_factory=Place)
    screen: Screen = field(default_factory=lambda: Screen("", ()))
    explained: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def choices(self) -> list[str]:
        return [line.leads_to for line in self.screen.lines if line.leads_to]

    def drawn(self, height: int) -> Text:
        """With the chosen line in sight."""
        chosen = self.screen.choices[min(self.place.chosen, len(self.screen.choices) - 1) :][:1]
        at = chosen[0] if chosen else -1
        room = max(1, height - 4)
        first = max(0, at - room + 1)
        text = Text(self.screen.title + "\n", style="bold", no_wrap=True, overflow="ellipsis")
        for position, line in enumerate(self.screen.lines[first : first + room], start=first):
            text.append(f"{line.text}\n", style="reverse" if position == at else "not bold")
        text.append(f"\n{self.note or _HELP}", style="dim not bold")
        return text


async def run(source: Source, where: str, interval_s: float) -> Failure | None:
    """Until the user leaves; a failure ends it only if the scheduler never answered."""
    before = await source.scraped()
    if not isinstance(before, Scrape):
        return before
    keys: asyncio.Queue[str] = asyncio.Queue()
    view = _View(screen=overview(frame_of(before, before), where))
    console = Console()
    with (
        _raw_keys(keys),
        Live(console=console, screen=True, auto_refresh=False) as live,
    ):
        while True:
            live.update(view.drawn(console.height), refresh=True)
            key = await _pressed(keys, interval_s)
            if key is Key.QUIT:
                return None
            if key is not None:
                path = view.place.path
                view.place = view.place.after(key, view.choices)
                if view.place.path == path:
                    continue
            before = await _renew(view, source, where, before)


async def _pressed(keys: asyncio.Queue[str], wait_s: float) -> Key | None:
    try:
        return KEYS.get(await asyncio.wait_for(keys.get(), wait_s))
    except TimeoutError:
        return None


async def _renew(view: _View, source: Source, where: str, before: Scrape) -> Scrape:
    """Makes the screen of the present place anew. What fails is told below the old one."""
    view.note = ""
    match view.place.path:
        case ():
            made = await source.frame(before)
            if isinstance(made, tuple):
                before, frame = made
                view.screen = overview(frame, where)
            else:
                view.note = str(made)
        case (pod,):
            explained = await source.explained(pod)
            if isinstance(explained, Mapping):
                view.explained, view.screen = explained, of_pod(explained)
            else:
                view.screen = Screen(pod, (Line(""), Line(str(explained))))
        case (_, node):
            view.screen = of_node(view.explained, node)
        case (pod, node, rule):
            parts = await source.parts(pod, node, rule)
            text = parts if isinstance(parts, str) else _why_no_parts(rule, parts)
            view.screen = of_rule(pod, node, rule, text)
        case _:
            pass
    return before


def _why_no_parts(rule: str, failure: Failure) -> str:
    if isinstance(failure, Status) and failure.code == 404:
        return f"{rule} is a built-in: it has no expression"
    return str(failure)


@contextmanager
def _raw_keys(keys: asyncio.Queue[str]) -> Iterator[None]:
    """Inside, the terminal sends each key at once, and shows none."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    loop = asyncio.get_running_loop()

    def arrived() -> None:
        text = os.read(descriptor, _KEY_BYTES_MAX).decode("utf-8", "replace")
        keys.put_nowait(text or "q")

    try:
        tty.setcbreak(descriptor)
        loop.add_reader(descriptor, arrived)
        yield
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
