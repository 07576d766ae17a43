"""Cells worked on side by side: their order, killed workers, errors, and progress."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kpolicy.offline.sweeps.cell_runner import run_cells
from kpolicy.offline.sweeps.outcomes import SweepError
from tests.unit.offline.sweeps.cells import KilledOnce, always_killed, broken_at_3, squared

SQUARES = [cell * cell for cell in range(12)]


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_are_in_the_order_of_cells(jobs: int) -> None:
    shown: list[tuple[int, int]] = []
    found = run_cells(squared, range(12), jobs=jobs, progress=lambda *at: shown.append(at))
    assert found == SQUARES
    assert shown == [(done, 12) for done in range(1, 13)]


def test_no_cells() -> None:
    assert run_cells(squared, []) == []


def test_the_cell_of_a_killed_worker_is_begun_again(tmp_path: Path) -> None:
    assert run_cells(KilledOnce(str(tmp_path)), range(12), jobs=2) == SQUARES
    assert (tmp_path / "killed").exists()


def test_a_cell_that_kills_each_worker_ends_the_sweep() -> None:
    with pytest.raises(SweepError) as found:
        run_cells(always_killed, range(3), jobs=2)
    assert found.value.code == "WorkerGone"
    assert "the worker of 1 was killed 3 times" in str(found.value)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_a_cell_is_named_with_the_cell(jobs: int) -> None:
    with pytest.raises(SweepError) as found:
        run_cells(broken_at_3, range(6), jobs=jobs)
    assert (found.value.code, found.value.message) == ("CellFailed", "3: ValueError: three")


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SweepError) as found:
        run_cells(squared, range(3), engine="ray")
    assert found.value.code == "NoRay"
    assert "pip install 'kpolicy[ray]'" in str(found.value)
