"""Calls that are made at once come to the same as if Python made each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kpolicy.journal.engine_calls import Call, Frame, frames
from kpolicy.offline.journal_replay import read_ahead
from kpolicy.offline.journal_replay.calls_at_once import AtOnce, Decisions, at_once
from kpolicy.offline.journal_replay.journal_input import read_journal
from kpolicy.offline.journal_replay.other_policy import OtherPolicy
from kpolicy.offline.journal_replay.same_decisions import replayed_epoch
from tests.unit.journal.journaled_engine import (
    JournaledEngine,
    lines,
    on_node,
    pending,
    record_bytes,
)
from tests.unit.offline.journal_replay.test_other_policy import FENCED, program


def recorded(folder: Path) -> None:
    """Decisions, a pod that fits nowhere, one that another scheduler places, and a later epoch."""
    made = JournaledEngine(folder)
    made.begin(nodes=4)
    placed = made.place_one_by_one("web", 12)
    huge = pending("huge", labels={"app": "batch"})
    huge["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "64"
    shown = [("ADDED", huge), ("ADDED", pending("other")), ("MODIFIED", on_node("other", "n0"))]
    made.call("watch", "pods", lines(*shown), made.now())
    made.call("schedule", ["huge"], made.now())
    made.call("pass_time", made.now())
    made.begin_anew(4, placed | {"other": "n0"})
    made.place_one_by_one("late", 6)
    made.close()


def replayed(folder: Path) -> tuple[list[Any], tuple[dict[str, Any], list[Any]]]:
    same: list[Any] = []
    other = OtherPolicy(program(FENCED), threads=1)
    for epoch in read_journal([folder]).epochs:
        found, engine = replayed_epoch(epoch, threads=1)
        other.replay(epoch)
        same += [found.line(), engine.holdings(), other.engine.holdings()]
    return same, (other.compared.line(), [each.line() for each in other.compared.differences])


def lines_alone(chunk: bytes, frame: Frame, decisions: Decisions) -> AtOnce | None:
    return at_once(chunk, frame, decisions) if frame.name == "watch" else None


def test_replays_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(tmp_path)
    same, (counts, differences) = replayed(tmp_path)
    monkeypatch.setattr(read_ahead, "at_once", lines_alone)
    assert replayed(tmp_path) == (same, (counts, differences))
    assert len(differences) > 3
    assert [line["different"] for line in same[::3]] == [0, 0]
    assert counts["summary"]["bindsOfOthers"] == 1


def frame_of(call: Call, answer: object = None) -> tuple[bytes, Frame]:
    chunk = record_bytes(call, answer, 7)
    (frame,) = frames(chunk)
    return chunk, frame


@pytest.mark.parametrize(
    "call",
    [
        Call("watch", ("resourceclaims", b"{}\n", 5)),
        Call("watch", ("nonsense", b"{}\n", 5)),
        Call("watch", ("pods", 5, 5)),
        Call("schedule", (["a"], 5)),  # without an answer
        Call("list_begin", ("pods",)),
    ],
)
def test_what_python_makes(call: Call) -> None:
    assert at_once(*frame_of(call), Decisions.MADE) is None


def test_an_exception_is_compared_by_python() -> None:
    for call in (Call("watch", ("pods", b"", 5)), Call("schedule", (["a"], 5))):
        assert at_once(*frame_of(call, ValueError("no")), Decisions.MADE) is None


def test_a_time_is_passed_whatever_the_call_was() -> None:
    assert at_once(*frame_of(Call("explain", (b"{}", 5)), b""), Decisions.MADE) == ("pass_time", 5)
