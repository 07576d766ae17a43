"""The same work in two processes at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import mkstemp

import pytest

from benches.at_once import at_once


def _prepare(folder: Path) -> Callable[[], tuple[int, int]]:
    mkstemp(dir=folder)
    return lambda: (os.getpid(), len(list(folder.iterdir())))


def _fail() -> Callable[[], None]:
    raise ValueError("there is no such work")


def test_both_begin_once_both_are_prepared(tmp_path: Path) -> None:
    found = at_once(partial(_prepare, tmp_path), times=2)
    assert len({process for pair in found for process, _ in pair} - {os.getpid()}) == 2
    assert [[prepared for _, prepared in pair] for pair in found] == [[2, 2], [4, 4]]


def test_a_process_that_fails_ends_the_wait(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(EOFError):
        at_once(_fail)
    assert "there is no such work" in capfd.readouterr().err
