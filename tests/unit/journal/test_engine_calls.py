"""Every call of the engine is recorded or declared as reading only, and comes back as it was."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, strategies

from kpolicy.engine import (
    Decision,
    Engine,
    JudgedNodes,
    KeptNode,
    RefusedNode,
    RemainingCandidate,
    RemainingCandidates,
    Scheduled,
)
from kpolicy.journal.engine_calls import (
    CALLS,
    FIELDS,
    BrokenRecordError,
    Call,
    Effect,
    Held,
    call_of,
    decided_fields,
    records,
)
from tests.tree.sources import ROOT
from tests.unit.journal.journaled_engine import record_bytes

# Parts of calls, or another form of one: the wrapper of the engine makes these itself.
WITHIN = {"schedule_recorded", "wanted_selectors", "load_selectors"}
# What a replay calls in the place of single calls.
REPLAYED = {"read_calls", "make_calls"}
JUDGED = JudgedNodes(3, [KeptNode("n1", 4)], [RefusedNode("n2", "too hot", is_unresolvable=True)])
SHAPES = [
    Call("load", (b"{}\n{}",)),
    Call("list_begin", ("pods",)),
    Call("list_page", ("pods", b'{"items": []}\n', 5)),
    Call("list_end", ("pods", 5)),
    Call("watch", ("pods", b"{}\n{}\n", 5)),
    Call("wrote", ("resourceclaims", b"{}\n")),
    Call("load_objects", (b"{}", "file")),
    Call("pass_time", (5,)),
    Call("schedule", (["a", 'w\u00e4r "q"'], 5)),
    Call("schedule_unit", (["a", "b"], 5)),
    Call("filter", ("a", 5)),
    Call("choose", ("a", JUDGED, 5)),
    Call("candidates", ("a", JUDGED, 5)),
    Call(
        "preempt",
        ("a", JUDGED, RemainingCandidates(3, "", [RemainingCandidate("n1", ["v"], 1)]), 5),
    ),
    Call("preempt", ("a", JUDGED, RemainingCandidates(3, "timeout", None), 5)),
    Call("settle", ([("a", 0), ("b", 1)], 5)),
    Call("second_opinions", ([("a", "n1")], 5)),
    Call("settle_room", ("a", ["v"], 5), {"is_made": False}),
]


def called_methods() -> set[str]:
    """Methods of the compiled engine, and functions that take one."""
    interface = ast.parse((ROOT / "python" / "kpolicy" / "_engine.pyi").read_text())
    names = set()
    for statement in interface.body:
        if isinstance(statement, ast.ClassDef) and statement.name == "Engine":
            names |= {each.name for each in statement.body if isinstance(each, ast.FunctionDef)}
        if isinstance(statement, ast.FunctionDef) and statement.args.args:
            first = statement.args.args[0].annotation
            if isinstance(first, ast.Name) and first.id == "Engine":
                names.add(statement.name)
    return names - {"__new__"}


def test_every_call_is_recorded_or_only_reads() -> None:
    known = called_methods()
    assert len(known) > 30
    assert known - WITHIN - REPLAYED == CALLS.keys() - {"checkpoint"}
    of_wrapper = {name for name in vars(Engine) if not name.startswith("_")}
    of_wrapper -= {"records", "seed"}
    assert of_wrapper == CALLS.keys() - {"checkpoint"}
    numbers = [number for number, effect in CALLS.values() if effect is not Effect.READS]
    assert len(set(numbers)) == len(numbers), "a number has one meaning"
    assert 0 not in numbers


def test_the_shapes_of_this_test_are_of_all_calls() -> None:
    kinds = {call.name for call in SHAPES}
    times = {name for name, (_, effect) in CALLS.items() if effect is Effect.TIME}
    reads = {name for name, (_, effect) in CALLS.items() if effect is Effect.READS}
    assert kinds | times | reads | {"checkpoint", "keep"} == CALLS.keys()


@pytest.mark.parametrize("call", SHAPES, ids=[call.name for call in SHAPES])
def test_a_call_comes_back_as_it_was(call: Call) -> None:
    first, second = records(record_bytes(call, None, 17) + record_bytes(call, None, 18))
    assert (first.name, first.at_ns, second.at_ns) == (call.name, 17, 18)
    assert call_of(first) == call


def test_of_a_call_that_only_has_a_time_the_time_is_recorded() -> None:
    (record,) = records(record_bytes(Call("explain", (b'{"pods": null}', 9)), b"long", 17))
    assert (call_of(record).arguments, record.answer) == ((9,), b"")


def decision(**fields: Any) -> Decision:
    made = Decision(0, "u", "ns", "p", "n", "", 5, 3, 2, 10, 20, 30, "", [], ["Rule"], [], [])
    return made._replace(**fields)


def answer_of(answer: Any) -> bytes:
    (record,) = records(record_bytes(Call("schedule", ([], 5)), answer, 1))
    return record.answer


def test_how_long_a_decision_took_is_no_part_of_it() -> None:
    slow = decision(filter_ns=99, score_ns=99, post_filter_ns=99)
    first, second = (answer_of(Scheduled("h", "1", [each])) for each in (decision(), slow))
    assert first == second
    others: list[dict[str, Any]] = [
        {"node": "m"},
        {"score": 6},
        {"message": "why"},
        {"rejected_by": []},
    ]
    for other in others:
        assert answer_of(Scheduled("h", "1", [decision(**other)])) != first


def test_decisions_come_back_from_their_fields() -> None:
    made = [decision(), decision(uid="v", node="m", victims=[("w", "ns", "w", False, 0)])]
    found = decided_fields(answer_of(Scheduled("h", "1", made)))
    named = [dict(zip(FIELDS, each, strict=True)) for each in found]
    assert [(each["uid"], each["node"], each["score"]) for each in named] == [
        ("u", "n", 5),
        ("v", "m", 5),
    ]
    assert [each["victims"] for each in named] == [[], [["w", "ns", "w", False, 0]]]
    assert decided_fields(answer_of(Scheduled("h", "1", []))) == []
    assert "filter_ns" not in FIELDS


@pytest.mark.parametrize(
    "answer",
    [b"{", b"[1", b'["h","1",2,[[1],[2]]]', b'["h","1",2,' + b"[" * 5000, b"\xff"],
)
def test_decisions_of_another_form_are_refused(answer: bytes) -> None:
    with pytest.raises(BrokenRecordError):
        decided_fields(answer)


def test_an_exception_is_an_answer() -> None:
    assert answer_of(ValueError("no such resource")) == b'{"raised":"ValueError"}'


def test_a_mark_says_what_is_in_no_object() -> None:
    pods = [
        '["a", "d/a", "n1", true, "", "kpolicy"]',
        '["b", "d/b", "n1", false, "", "kpolicy"]',
        '["c", "d/c", "", false, "n2", "kpolicy"]',
    ]
    held = Held("\n".join(['["n1", "n2"]', *pods]).encode(), b'{"decisions": 12}')
    (record,) = records(record_bytes(Call("checkpoint", ()), held, 1))
    assert record.answer == b'{"decisions":12,"assumed":[["a","n1"]],"nominated":1}'


@given(strategies.binary(max_size=200))
def test_any_bytes_are_records_or_refused(chunk: bytes) -> None:
    try:
        for record in records(chunk):
            call_of(record)
    except BrokenRecordError:
        pass


@given(strategies.sampled_from(SHAPES), strategies.integers(0, 200), strategies.binary(max_size=3))
def test_a_damaged_record_is_a_call_or_refused(call: Call, at: int, other: bytes) -> None:
    whole = record_bytes(call, None, 1)
    damaged = whole[: at % len(whole)] + other + whole[at % len(whole) + len(other) :]
    try:
        for record in records(damaged):
            call_of(record)
    except BrokenRecordError:
        pass
