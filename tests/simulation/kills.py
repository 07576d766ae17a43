"""Runs one story again and again, and kills the scheduler before or after each of its writes.

Numbers the writes, and compares the end of each run with the end of the run without a kill.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from random import Random

from kpolicy.testing.apiserver.api_calls import Call
from tests.invariants.check import violations
from tests.simulation.story import CONVERGE_S, REST_S, SETTING, StoodStillError, Story
from tests.simulation.trouble import NO_TROUBLE, Kind, Trouble
from tests.simulation.world import Plan, World, world_of


@dataclass(frozen=True, slots=True)
class Kill:
    """Kills the process that sends the write with this number (from 1 on)."""

    number: int
    is_after: bool

    def __str__(self) -> str:
        return f"{self.number}:{'after' if self.is_after else 'before'}"

    @classmethod
    def of(cls, text: str) -> Kill:
        number, _, moment = text.partition(":")
        return cls(int(number), moment == "after")


@dataclass(frozen=True, slots=True)
class KilledRun:
    """`kinds`: what was written, by verb and resource; `what`: at which write one was killed."""

    kill: Kill | None
    end: Counter[str]
    kinds: Counter[str]
    writes: int
    what: str
    wrong: tuple[str, ...]


@dataclass(slots=True)
class _Counting:
    """Faults that only count writes, and kill at one of them."""

    kill: Kill | None
    writes: int = 0
    what: str = ""
    kinds: Counter[str] = field(default_factory=Counter)

    def __call__(self, call: Call, chance: Random) -> Trouble:
        if not call.is_write:
            return NO_TROUBLE
        self.writes += 1
        what = f"{call.verb} {call.resource}" + (f"/{call.subresource}" if call.subresource else "")
        self.kinds[what] += 1
        if self.kill is None or self.writes != self.kill.number:
            return NO_TROUBLE
        self.what = what
        return Trouble(Kind.KILL_AFTER if self.kill.is_after else Kind.KILL_BEFORE)


def killed_run(seed: int, kill: Kill | None) -> KilledRun:
    counting = _Counting(kill)
    try:
        with world_of(Plan(seed, calm=kill is None, setting=SETTING)) as world:
            wrong, end, writes = _lived(world, counting)
    except Exception:
        wrong, end, writes = [traceback.format_exc()], Counter(), counting.writes
    return KilledRun(kill, end, counting.kinds, writes, counting.what, tuple(wrong))


def _lived(world: World, counting: _Counting) -> tuple[list[str], Counter[str], int]:
    world.people.begin_namespaces()
    world.people.calm = True
    world.offered.begin()
    world.troubles.lasting = counting
    story = Story(world)
    for instance in world.instances:
        instance.start()
    for work in (
        world.people.run_kubelets(),
        world.storage.run_controllers(),
        world.devices.run_controllers(publishes=False),
        world.nemesis.revive(),
    ):
        world.begin(work)
    try:
        world.until(world.begin(story.tell()))
    except StoodStillError as error:
        return [str(error)], story.end(), counting.writes
    writes, calm_ns = counting.writes, world.time.now_ns
    world.pass_time(CONVERGE_S + REST_S)
    run = world.finished_run(calm_ns, converge_s=CONVERGE_S, rest_s=REST_S)
    wrong = [str(violation) for violation in violations(run.history)]
    wrong += [f"nobody caught: {error}" for error in run.errors]
    return wrong, story.end(), writes


def all_kills(clean: KilledRun) -> list[Kill]:
    return [
        Kill(number, is_after)
        for number in range(1, clean.writes + 1)
        for is_after in (False, True)
    ]


def sweep_kills(
    seed: int, kills: Iterable[Kill], clean: KilledRun, jobs: int
) -> Iterator[KilledRun]:
    """Each as `killed_run`, with what is wrong about its end."""
    with ProcessPoolExecutor(jobs) as processes:
        for run in processes.map(partial(killed_run, seed), kills):
            yield compared(run, clean)


def compared(run: KilledRun, clean: KilledRun) -> KilledRun:
    """What differs from the end of the clean run."""
    wrong = list(run.wrong)
    if run.end != clean.end:
        wrong.append(f"the end is {dict(run.end)}, where it is {dict(clean.end)} without a kill")
    if run.kill is not None and not run.what:
        wrong.append(f"there was no write {run.kill.number}")
    return KilledRun(run.kill, run.end, run.kinds, run.writes, run.what, tuple(wrong))
