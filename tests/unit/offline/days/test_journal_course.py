"""The days of a journal: its pods come when they came, and gaps are named."""

from __future__ import annotations

import shutil
from pathlib import Path

from kpolicy.offline.days.course import PodComes
from kpolicy.offline.days.journal_course import JournalCourse, read_course
from kpolicy.offline.days.virtual_days import run_days
from kpolicy.offline.journal_replay.journal_input import read_journal
from kpolicy.offline.snapshots.cluster_snapshot import default_program
from kpolicy.offline.snapshots.snapshot_problem import Problem
from tests.tree.sources import ROOT

JOURNAL = ROOT / "docs" / "guides" / "shop-journal"


def test_the_pods_of_a_journal_are_placed_again() -> None:
    course = read_course(read_journal([JOURNAL]))
    assert isinstance(course, JournalCourse)
    pods = [each for each in course.occurrences(0, "") if isinstance(each, PodComes)]
    assert len(pods) == 10
    assert not any(each.node for each in pods)
    # Pods of one workload share their texts.
    assert len({id(each.texts) for each in pods}) == 2
    result = run_days(course, default_program())
    assert (result.counts.arrived, result.counts.placed, result.pending) == (10, 9, 1)
    assert result.samples[-1].nodes == 3


def test_a_journal_that_is_damaged_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    shutil.copytree(JOURNAL, folder)
    (segment, *_) = sorted(folder.glob("*.kpsnap"))
    whole = segment.read_bytes()
    segment.write_bytes(whole[: len(whole) * 3 // 4])
    course = read_course(read_journal([folder]))
    problems = [course] if isinstance(course, Problem) else list(course.problems)
    assert problems
    assert all(each.code and each.source for each in problems)


def test_a_folder_without_a_journal_is_a_problem(tmp_path: Path) -> None:
    found = read_course(read_journal([tmp_path]))
    assert isinstance(found, Problem)
    assert found.code == "NoFiles"
