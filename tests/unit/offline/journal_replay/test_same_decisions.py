"""The same policy and seed decide the same; a difference is found with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kpolicy.engine import Engine, EngineFault, JudgedNodes, KeptNode, RefusedNode
from kpolicy.journal import engine_calls
from kpolicy.journal.engine_calls import Call
from kpolicy.offline.journal_replay import same_decisions
from kpolicy.offline.journal_replay.journal_input import read_journal
from kpolicy.offline.journal_replay.same_decisions import ReplayedEpoch, replayed_epoch
from kpolicy.testing import node
from tests.unit.journal.journaled_engine import (
    NOW_NS,
    JournaledEngine,
    lines,
    pending,
    program,
    record_bytes,
)


def replay(folder: Path, **options: Any) -> ReplayedEpoch:
    (epoch,) = read_journal([folder]).epochs
    return replayed_epoch(epoch, threads=1, **options)[0]


def recorded(folder: Path) -> JournaledEngine:
    made = JournaledEngine(folder)
    made.begin(nodes=20)
    made.place(*(f"p{number}" for number in range(30)))
    return made


def test_every_decision_is_the_same(tmp_path: Path) -> None:
    made = recorded(tmp_path)
    made.call("load", program("", every_pod=True))
    made.place("q")
    with pytest.raises(ValueError, match="no"):
        made.engine.list_begin("nonsense")
    made.journal("list_begin", ("nonsense",), {}, ValueError("no such resource"))
    made.call("watch", "nodes", lines(("ADDED", node("late", cpu="64"))), made.now())
    made.place("r")
    made.call("watch", "pods", lines(("ADDED", pending("extended"))), made.now())
    first = made.call("filter", "extended", made.now())
    kept = [KeptNode(name, place) for place, name in enumerate(first.feasible[2:])]
    judged = JudgedNodes(first.token, kept, [RefusedNode(first.feasible[0], "too hot")])
    assert made.call("choose", "extended", judged, made.now()).node == first.feasible[-1]
    made.close()
    found = replay(tmp_path)
    assert (found.decisions, found.different, found.first, found.problems) == (33, 0, None, [])


def test_a_difference_is_found_with_its_place(tmp_path: Path) -> None:
    made = recorded(tmp_path)
    where = made.place("late")["late"]
    # As if a decision had been another one when it was recorded.
    decided = made.engine.schedule([], made.now())
    made.call("watch", "pods", lines(("ADDED", pending("wrong"))), made.now())
    made.clock.stand_still(5)
    answer = made.engine.schedule(["wrong"], made.now())
    other = answer.decisions[0]._replace(score=0)
    made.journal(
        "schedule", (["wrong"], made.now()), {}, answer._replace(decisions=[other], recorded=b"")
    )
    made.close()
    assert where
    assert decided.decisions == []
    found = replay(tmp_path)
    assert found.different == 1
    assert found.first is not None
    first = found.first.line()
    assert first.pop("segment") == next(tmp_path.glob("*.kpsnap")).name
    assert first.pop("replayed") == answer.decisions[0].score
    assert first == {
        "record": found.calls,
        "time": "2026-01-01T00:00:05.000000Z",
        "call": "schedule",
        "pod": "default/wrong",
        "field": "score",
        "recorded": 0,
    }


def test_another_seed_is_another_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(tmp_path).close()
    monkeypatch.setattr(same_decisions, "Engine", lambda seed, threads: Engine(seed + 1))
    found = replay(tmp_path)
    assert found.first is not None
    assert found.first.field == "node"


def test_a_replay_stops_at_a_time(tmp_path: Path) -> None:
    made = recorded(tmp_path)
    made.clock.stand_still(60)
    made.place("late")
    made.close()
    assert replay(tmp_path, until_ns=NOW_NS + 1).decisions == 30
    (epoch,) = read_journal([tmp_path]).epochs
    _, engine = replayed_epoch(epoch, until_ns=NOW_NS + 1)
    assert b'"default/p3"' in engine.holdings()
    assert b"late" not in engine.holdings()


def test_arguments_of_no_call_are_damage(tmp_path: Path) -> None:
    made = recorded(tmp_path)
    made.files.put((record_bytes(Call("choose", (1, 2, 3)), None, 5),), 5)
    made.close()
    found = replay(tmp_path)
    assert found.decisions == 30
    (problem,) = found.problems
    assert problem.code == "Damaged"


@pytest.mark.parametrize("arguments", [("pods",), ("pods", 5, 5), ("nonsense", b"", 5)])
def test_what_the_engine_refuses_is_a_difference(tmp_path: Path, arguments: Any) -> None:
    made = recorded(tmp_path)
    made.files.put((record_bytes(Call("watch", arguments), None, 5),), 5)
    made.close()
    found = replay(tmp_path)
    assert found.first is not None
    assert "raised" in found.first.replayed


def test_a_fault_of_the_engine_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recorded(tmp_path)
    made.journal("schedule", (["p1"], 5), {}, EngineFault("stopped"))
    made.close()

    def stopped(*_: object) -> None:
        raise EngineFault("stopped")

    (epoch,) = read_journal([tmp_path]).epochs

    def made_again(engine: Engine, call: Call) -> Any:
        return stopped() if call.arguments == (["p1"], 5) else engine_calls.made_again(engine, call)

    monkeypatch.setattr(same_decisions, "made_again", made_again)
    assert replayed_epoch(epoch)[0].different == 0
