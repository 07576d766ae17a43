"""Rules that read the time: what they decide, whom it wakes, and when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kpolicy import Source, compile_policy
from kpolicy.api_times import NANOSECONDS, time_of
from kpolicy.engine import Engine, Verdict
from kpolicy.testing import node, pod

NIGHT = "now.within('0 22 * * *', duration('1h'))"


def at(text: str) -> int:
    return time_of(f"2026-11-27T{text}Z")


def engine_with(*predicates: str, victims: str = "") -> Engine:
    rules = [
        {"name": f"rule-{position}", "expression": text, "message": "no"}
        for position, text in enumerate(predicates)
    ]
    spec: dict[str, object] = {
        "profiles": [{"schedulerName": "kpolicy"}],
        "base": "none",
        "predicates": rules,
    }
    if victims:
        spec["preemption"] = {"victims": {"expression": victims}}
    head = {"apiVersion": "kpolicy.dev/v1alpha1", "kind": "SchedulingPolicy"}
    document = {**head, "metadata": {"name": "p"}, "spec": spec}
    compiled = compile_policy([Source("policy.yaml", json.dumps(document))])
    assert compiled.program is not None, compiled.diagnostics
    engine = Engine()
    assert engine.load(compiled.program.bytes) == []
    add(engine, node("n"))
    return engine


def add(engine: Engine, *objects: object) -> None:
    document = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    assert engine.load_objects(json.dumps(document).encode(), "") == []


def with_uid(made: dict[str, Any]) -> dict[str, Any]:
    made["metadata"]["uid"] = made["metadata"]["name"]
    return made


def waiting(engine: Engine, *names: str) -> list[str]:
    add(engine, *(with_uid(pod(name)) for name in names))
    return [change.uid for change in engine.pending()]


def verdicts(engine: Engine, uids: Sequence[str], now_ns: int) -> list[int]:
    return [decision.verdict for decision in engine.schedule(uids, now_ns).decisions]


def test_a_pod_wakes_when_its_window_opens_and_not_before() -> None:
    engine = engine_with(NIGHT)
    uids = waiting(engine, "a")
    assert verdicts(engine, uids, at("12:00:00")) == [Verdict.PARKED]
    passed = engine.pass_time(at("12:00:30"))
    assert (passed.wakes, passed.next_ns) == ([], at("22:00:00"))
    assert engine.pass_time(at("21:59:59")).wakes == []
    passed = engine.pass_time(at("22:00:00"))
    assert [(wake.uid, wake.event) for wake in passed.wakes] == [(uids[0], "TimePasses")]
    assert passed.next_ns == at("23:00:00")
    assert verdicts(engine, uids, at("22:00:01")) == [Verdict.PLACED]


def test_what_another_call_was_told_of_wakes_too() -> None:
    engine = engine_with(NIGHT)
    first, second = waiting(engine, "a", "b")
    assert verdicts(engine, [first], at("21:59:00")) == [Verdict.PARKED]
    # This decision is as of an open window; when time is asked for, it is closed again.
    assert verdicts(engine, [second], at("22:30:00")) == [Verdict.PLACED]
    assert [wake.uid for wake in engine.pass_time(at("23:30:00")).wakes] == [first]


def test_whoever_reads_more_than_windows_is_judged_each_minute() -> None:
    engine = engine_with("now.getMinutes() >= 3")
    uids = waiting(engine, "a")
    assert verdicts(engine, uids, at("12:00:10")) == [Verdict.PARKED]
    passed = engine.pass_time(at("12:01:00"))
    assert (passed.wakes, passed.next_ns) == ([], at("12:02:00"))
    assert [wake.uid for wake in engine.pass_time(at("12:03:59")).wakes] == uids


def test_time_wakes_nobody_else() -> None:
    engine = engine_with("node.unschedulable")
    uids = waiting(engine, "a")
    assert verdicts(engine, uids, at("12:00:00")) == [Verdict.PARKED]
    assert engine.pass_time(at("23:00:00")) == ([], None)
    assert b'"time"' not in engine.explain(b'{"pods": null}', at("23:00:00"))


def test_a_clock_that_is_put_back_is_followed() -> None:
    engine = engine_with(NIGHT)
    uids = waiting(engine, "a")
    assert verdicts(engine, uids, at("23:30:00")) == [Verdict.PARKED]
    assert [wake.uid for wake in engine.pass_time(at("22:30:00")).wakes] == uids


def test_an_explanation_has_its_time() -> None:
    engine = engine_with(NIGHT)
    waiting(engine, "a")
    explained = json.loads(engine.explain(b'{"pods": null}', at("22:10:59")))
    assert explained["time"] == "2026-11-27T22:10:00Z"
    assert "selected" in explained
    later = json.loads(engine.explain(b'{"pods": null}', at("23:10:59")))
    assert "selected" not in later
    assert [wait["at"] for wait in later["waitsFor"]] == ["2026-11-28T22:00:00Z"]


def test_a_window_that_is_none_is_an_error_of_the_rule() -> None:
    engine = engine_with("now.within(label(node, 'window'), duration('1h'))")
    waiting(engine, "a")
    add(engine, node("bad", labels={"window": "0 22"}), node("good", labels={"window": "@daily"}))
    explained = json.loads(engine.explain(b'{"pods": null}', 30 * 60 * NANOSECONDS))
    by_name = {line["name"]: json.dumps(line) for line in explained["nodes"]}
    assert "KR108" in by_name["bad"]
    assert "invalid cron expression: 0 22" in by_name["bad"]
    assert "KR108" not in by_name["good"]


def test_victims_by_their_budgets() -> None:
    for allowed, expected in ((0, 0), (1, 1)):
        engine = engine_with(
            "node.podCount < 1",
            victims="victim.disruptionBudgets.all(b, b.disruptionsAllowed > 0)",
        )
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
            "status": {"disruptionsAllowed": allowed},
        }
        old = with_uid(pod("old", labels={"app": "web"}))
        old["spec"]["nodeName"] = "n"
        add(engine, budget, old, with_uid(pod("new", priority=10)))
        [change] = engine.pending()
        [decision] = engine.schedule([change.uid], at("12:00:00")).decisions
        assert len(decision.victims) == expected
