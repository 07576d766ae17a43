"""The journal never keeps the engine waiting: what it cannot write is a gap, which it names."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from kpolicy.journal import journal_thread
from kpolicy.journal.engine_calls import Held
from kpolicy.journal.segment_files import SegmentFiles
from kpolicy.offline.journal_replay.journal_input import read_journal
from kpolicy.offline.journal_replay.same_decisions import Kept, ReplayedEpoch, replayed_epoch
from kpolicy.testing import node
from tests.unit.journal.journaled_engine import JournaledEngine, lines, pending

Logged = pytest.LogCaptureFixture


def replays(folder: Path) -> list[ReplayedEpoch]:
    return [replayed_epoch(epoch, threads=1)[0] for epoch in read_journal([folder]).epochs]


def test_the_thread_writes_what_the_engine_was_called(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.journal.start()
    made.begin()
    made.place("a", "b")
    made.close()
    (replayed,) = replays(tmp_path)
    assert (replayed.decisions, replayed.different, replayed.problems) == (2, 0, [])
    assert made.journal.statistics().calls == replayed.calls == 11


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_on_a_full_disk_scheduling_goes_on_and_the_gap_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Logged
) -> None:
    made = JournaledEngine(tmp_path)
    made.begin()
    placed = made.place("a", "b")
    made.files.flush()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(SegmentFiles, "put", full)
        placed |= made.place("c", "d")
        assert made.journal.statistics().is_behind
        assert (made.anew, made.journal.statistics().gaps) == (1, 1)
        made.clock.stand_still(60)
        # There is still no room: the next attempt ends in the same gap.
        begun = made.journal.begin_anew()
        made.journal.write_waiting()
        made.call("pass_time", made.now())
    assert begun.result(0) is False
    assert "KPS107" in [getattr(line, "code", "") for line in caplog.records]
    assert "scheduling goes on" in caplog.text
    made.begin_anew(4, placed)
    made.place("e")
    made.close()
    first, *_, last = replays(tmp_path)
    assert (first.decisions, first.different) == (2, 0)
    assert (last.decisions, last.different, last.kept) == (1, 0, Kept.EVERYTHING)
    (gap,) = last.problems
    assert gap.code == "JournalGap"
    assert "No space left on device" in gap.message
    assert made.journal.statistics().missed >= 4


@pytest.mark.parametrize(
    ("limit", "bound"), [("BACKLOG_CALLS_MAX", 3), ("BACKLOG_BYTES_MAX", 2000)]
)
def test_when_calls_come_too_fast_the_journal_gives_way(
    limit: str, bound: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_thread, limit, bound)
    made = JournaledEngine(tmp_path)
    monkeypatch.setattr(made.journal, "write_waiting", lambda: None)
    made.begin()
    statistics = made.journal.statistics()
    assert statistics.is_behind
    assert statistics.backlog == 0
    assert statistics.missed > 0
    assert made.anew == 1, "lists are asked for once"
    made.close()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("schedule", (object(),)), ("watch", ()), ("watch", ("pods", "no bytes", object()))],
)
def test_a_failure_of_the_journal_is_a_gap_too(
    name: str, arguments: tuple[object, ...], tmp_path: Path, caplog: Logged
) -> None:
    made = JournaledEngine(tmp_path)
    made.begin()
    made.journal(name, arguments, {}, None)
    made.journal("a function of its own", (), {}, None)
    made.journal.write_waiting()
    assert made.journal.statistics().is_behind
    assert "the journal failed" in caplog.text
    placed = made.place("a")
    made.begin_anew(4, placed)
    made.place("b")
    made.close()
    assert replays(tmp_path)[-1].decisions == 1


def test_a_later_epoch_makes_the_same_choices_among_equal_nodes(tmp_path: Path) -> None:
    """They rest on the number of decisions before it, which no object has."""
    made = JournaledEngine(tmp_path)
    made.begin(nodes=50)
    placed = made.place(*(f"before-{number}" for number in range(40)))
    made.begin_anew(50, placed)
    after = made.place(*(f"after-{number}" for number in range(40)))
    assert len(set(after.values())) > 5
    made.close()
    first, second = replays(tmp_path)
    assert (second.kept, second.decisions, second.different) == (Kept.EVERYTHING, 40, 0)
    assert (first.decisions, first.different) == (40, 0)


def test_an_epoch_that_begins_while_pods_are_placed_is_judged(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path)
    made.begin(nodes=50)
    made.place("a")
    made.call("watch", "pods", lines(("ADDED", pending("under-way"))), made.now())
    made.call("schedule", ["under-way"], made.now())
    begun = made.journal.begin_anew()
    made.journal.write_waiting()
    assert begun.result(0)
    made.list("nodes", [node(f"n{number}", cpu="4") for number in range(50)])
    made.list("pods", [pending("under-way")])
    made.journal("checkpoint", (), {}, Held(made.engine.holdings(), made.engine.statistics()))
    made.journal.write_waiting()
    made.place("b", "c")
    made.close()
    _, second = replays(tmp_path)
    assert (second.kept, second.decisions, second.different) == (Kept.JUDGEMENT, 2, 0)


def test_a_worn_epoch_asks_for_the_next_one_once(tmp_path: Path) -> None:
    made = JournaledEngine(tmp_path, bytes_max=1 << 20)
    made.begin()
    noise = _noise()
    while not made.anew:
        made.call("watch", "pods", noise(), made.now())
    made.call("watch", "pods", noise(), made.now())
    assert made.anew == 1
    made.begin_anew(4, {})
    while made.anew == 1:
        made.call("watch", "pods", noise(), made.now())
    made.close()
    assert made.journal.statistics().epochs == 2


def _noise() -> Callable[[], bytes]:
    source = random.Random(1)

    def noise() -> bytes:
        text = source.randbytes(2000).hex()
        return lines(("ADDED", pending(text[:10], annotations={"noise": text})))

    return noise
