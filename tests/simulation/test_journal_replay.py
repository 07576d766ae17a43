"""A journal replays to the same decisions, byte for byte: with preemption, extenders, volumes,
devices, reloads, restarts and faults.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from kpolicy.clock import SystemClock
from tests.simulation.course import run
from tests.simulation.flow import Flow
from tests.simulation.journals import Replays, journal_of
from tests.simulation.setting import Setting
from tests.simulation.sweep import plan_of
from tests.simulation.world import Plan

EVERYTHING = Setting(
    by_config_map=True,
    has_volumes=True,
    has_extenders=True,
    has_budgets=True,
    has_devices=True,
    has_plugins=True,
)
# Of pods about which no extender is asked, many are decided in one call.
WITHOUT_EXTENDERS = replace(EVERYTHING, has_extenders=False)
# What a journal of such worlds must have, so that the test means something.
CALLS = {"load", "list_page", "watch", "pass_time", "schedule", "filter", "preempt", "settle"}
RARE_CALLS = {"wrote", "candidates", "settle_room"}
# Decisions in worlds with faults take long to come about.
DECISIONS_WITH_FAULTS = 20_000
MANY_DECISIONS = 100_000


def test_decisions_of_a_world_are_made_again(tmp_path: Path) -> None:
    total = Replays()
    for seed, setting in ((1, EVERYTHING), (3, EVERYTHING), (5, WITHOUT_EXTENDERS)):
        folder = tmp_path / str(seed)
        run(Plan(seed, setting=setting, journals=folder))
        total.add(folder)
    assert total.differing == []
    assert total.decisions > 100
    assert total.calls.keys() >= CALLS
    assert total.calls["load"] > 3, "policies changed"


async def test_decisions_of_many_pods_are_made_again(tmp_path: Path) -> None:
    assert (await flowed(tmp_path, 3_000)).decisions == 3_000


@pytest.mark.full
@pytest.mark.timeout(3000)
def test_a_hundred_thousand_decisions_are_made_again(tmp_path: Path) -> None:
    """Some in worlds with faults, the others of equal pods."""
    total = Replays()
    seed = 0
    while total.decisions < DECISIONS_WITH_FAULTS or not total.calls.keys() >= RARE_CALLS:
        seed += 1
        folder = tmp_path / str(seed)
        plan = plan_of(seed) if seed % 2 else Plan(seed, setting=EVERYTHING)
        run(replace(plan, journals=folder))
        total.add(folder)
        assert total.differing == [], f"seed {seed}"
    assert total.calls.keys() >= CALLS
    left = MANY_DECISIONS - total.decisions
    assert asyncio.run(flowed(tmp_path / "flow", left)).decisions == left


async def flowed(folder: Path, pods: int) -> Replays:
    journal = journal_of(folder / "flow", "flow", 1, SystemClock())
    course = await Flow(pods, max(20, pods // 100), journal).run()
    journal.stop()
    assert course.binds == pods
    replays = Replays()
    replays.add(folder)
    assert replays.differing == []
    return replays
