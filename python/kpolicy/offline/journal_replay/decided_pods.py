"""The decisions that a record has, as far as another engine is asked about them."""

from __future__ import annotations

import json
from typing import Any, Final

from kpolicy.engine import Verdict
from kpolicy.journal.engine_calls import FIELDS, BrokenRecordError, Record
from kpolicy.quick_dataclass import dataclass

_EXTENDED: Final = frozenset({"choose", "preempt"})


@dataclass(frozen=True, slots=True)
class DecidedPod:
    """`node` is empty unless it was placed. `is_extended`: extenders had a say."""

    uid: str
    key: str
    node: str
    verdict: int
    is_extended: bool

    @property
    def is_placed(self) -> bool:
        return self.verdict == Verdict.PLACED

    @property
    def is_parked(self) -> bool:
        return self.verdict == Verdict.PARKED


def decided_pods(record: Record) -> list[DecidedPod]:
    """Those of a record that decides. Raises `BrokenRecordError`."""
    try:
        answer = json.loads(record.answer) if record.answer else None
        match record.name, answer:
            case _, {"raised": _}:
                return []
            case ("schedule", [_, _, decisions]) | ("schedule_unit", [_, _, decisions, None]):
                return [_pod(decision, record.name) for decision in decisions]
            case (("choose" | "preempt"), list()):
                return [_pod(answer, record.name)]
            case _:
                return []
    except (ValueError, TypeError, RecursionError) as error:
        raise BrokenRecordError("decisions are not those of this format") from error


def _pod(decision: list[Any], call: str) -> DecidedPod:
    if len(decision) != len(FIELDS):
        raise ValueError(decision)
    verdict, uid, namespace, name, node, *_ = decision
    placed = str(node) if verdict == Verdict.PLACED else ""
    return DecidedPod(str(uid), f"{namespace}/{name}", placed, int(verdict), call in _EXTENDED)
