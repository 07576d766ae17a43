"""Every overload the front end may choose is one the engine has, with the same types."""

from __future__ import annotations

from typing import Any

from kpolicy.policy.cel.calls import BY_NAME
from kpolicy.policy.cel.functions_standard import Overload
from kpolicy.policy.cel.types import DYN, Type, substituted

from .evaluator import evaluate_all


def _ir(overload_id: str, params: tuple[Type, ...], result: Type) -> dict[str, Any]:
    """A call with unknown facts as operands, so that only the call itself can be refused."""
    facts = [{"op": "fact", "type": kind.json(), "fact": "unknown"} for kind in params]
    node = {"op": "call", "type": result.json(), "overload": overload_id}
    call = {**node, "args": list(range(len(params)))}
    return {"format": 1, "constants": [], "nodes": [*facts, call], "root": len(facts)}


def _shown(kind: Type) -> Type:
    return DYN if kind.name == "number" else substituted(kind, {})


def _calls(overload: Overload) -> list[dict[str, Any]]:
    params = tuple(map(_shown, overload.params))
    untyped = (DYN,) * len(params)
    return [
        _ir(overload.id, params, _shown(overload.result)),
        _ir(overload.family.id, untyped, DYN),
    ]


def test_the_engine_accepts_each_overload_and_each_family() -> None:
    overloads = [overload for group in BY_NAME.values() for overload in group]
    requests: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (ir, {}) for overload in overloads for ir in _calls(overload)
    ]
    answers = evaluate_all(requests)
    refused = [
        (ir["nodes"][-1]["overload"], answer["refused"])
        for (ir, _), answer in zip(requests, answers, strict=True)
        if "refused" in answer
    ]
    assert refused == []
    assert len({overload.id for overload in overloads}) > 200


def test_the_engine_refuses_what_it_does_not_have() -> None:
    (answer,) = evaluate_all([(_ir("add_duck", (DYN, DYN), DYN), {})])
    assert answer["refused"]["code"] == "IR009"
