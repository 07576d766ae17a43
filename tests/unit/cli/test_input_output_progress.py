"""Progress bars appear only on a terminal, and only after a while."""

from __future__ import annotations

import io
import sys
import time

import pytest

from kpolicy.cli.input_output import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


def test_without_an_observer_there_is_no_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar("work") as progress:
        assert progress is None


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    with progress_bar("work") as progress:
        assert progress is not None
        progress(1, 2)
    assert terminal.getvalue() == ""


def test_long_work_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    with progress_bar("placing pods", delay_s=0.0) as progress:
        assert progress is not None
        deadline = time.monotonic() + 10
        while "50%" not in terminal.getvalue() and time.monotonic() < deadline:
            progress(1, 2)
            time.sleep(0.02)
    assert "placing pods" in terminal.getvalue()
    assert "50%" in terminal.getvalue()
