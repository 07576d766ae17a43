"""A running scheduler with a journal: its decisions are made again, and it runs on without room."""

from __future__ import annotations

import asyncio
import errno
from dataclasses import replace
from pathlib import Path

import pytest

from kpolicy.journal.segment_files import SegmentFiles
from kpolicy.journal.segment_format import SegmentHeader
from kpolicy.offline.journal_replay.journal_input import read_journal
from kpolicy.offline.journal_replay.same_decisions import Kept, ReplayedEpoch, replayed_epoch
from kpolicy.scheduler import journaling
from kpolicy.testing import node, pod
from kpolicy.testing.control_plane import ControlPlane
from tests.unit.scheduler.world import QUIET, World, running


def replays(folder: Path) -> list[ReplayedEpoch]:
    return [replayed_epoch(epoch)[0] for epoch in read_journal([folder]).epochs]


async def placed(world: World, *names: str) -> None:
    world.control_plane.add(*(pod(name, cpu="100m") for name in names))
    await world.until(lambda: world.placed().keys() >= set(names))


async def test_what_it_decided_is_made_again(tmp_path: Path) -> None:
    options = replace(QUIET, journal=str(tmp_path / "journal"))
    async with ControlPlane() as control_plane:
        control_plane.add(*(node(f"n{number}") for number in range(5)))
        async with running(control_plane, options=options) as world:
            await placed(world, *(f"p{number}" for number in range(20)))
            control_plane.add(pod("huge", cpu="64"))
            await world.until(lambda: bool(world.events("FailedScheduling")))
    (replayed,) = replays(tmp_path / "journal")
    assert replayed.decisions >= 21
    assert (replayed.different, replayed.first, replayed.problems) == (0, None, [])


async def test_without_room_it_runs_on_and_begins_again_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journaling, "ANEW_S", 0.05)
    options = replace(QUIET, journal=str(tmp_path))
    real, is_full = SegmentFiles._write, False

    def write(files: SegmentFiles, piece: bytes) -> None:
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(files, piece)

    monkeypatch.setattr(SegmentFiles, "_write", write)
    async with ControlPlane() as control_plane:
        control_plane.add(*(node(f"n{number}") for number in range(5)))
        async with running(control_plane, options=options) as world:
            await placed(world, "before")
            journal = world.scheduler._journaling
            assert journal is not None
            assert journal.journal is not None
            statistics = journal.journal.statistics
            is_full = True
            await placed(world, "meanwhile")
            await world.until(lambda: statistics().gaps > 0)
            await placed(world, "meanwhile-too")
            is_full = False
            await world.until(lambda: not statistics().is_behind)
            await world.until(lambda: _is_marked(tmp_path))
            await placed(world, "after-0", "after-1")
    last = replays(tmp_path)[-1]
    assert last.decisions >= 2
    assert last.different == 0
    assert last.kept is not Kept.NOTHING
    assert [problem.code for problem in last.problems] == ["JournalGap"]


def _is_marked(folder: Path) -> bool:
    last = replays(folder)[-1]
    return last.epoch > 1 and last.kept is not Kept.NOTHING


async def test_a_folder_that_cannot_be_used_is_a_problem_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    held = SegmentFiles(tmp_path / "held", SegmentHeader("a", "a test", 1, 1))
    async with ControlPlane() as control_plane:
        control_plane.add(node("n"))
        for folder in ("file", "held"):
            options = replace(QUIET, journal=str(tmp_path / folder))
            async with running(control_plane, options=options, ready=False) as world:
                problem = await asyncio.wait_for(world.task, 60)
            assert problem is not None
            assert problem.code == "KPS211"
    held.close()
